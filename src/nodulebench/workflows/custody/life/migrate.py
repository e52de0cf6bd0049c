"""Sealed set -> the same set sealed anew under new data keys, for the same people or the first.

Old data keys, or the one secret of before, open nothing of the set any more, but copies of before.
The event that brings keys of people in is signed with the key that signed the manifest: whoever
could check the set before can check who did it.
"""

from datetime import UTC, datetime
from pathlib import Path

from nodulebench.custody import audit, layout
from nodulebench.custody.audit import Event, Fact
from nodulebench.custody.people import PolicySeal
from nodulebench.custody.policy import CustodyPolicy, parse_policy
from nodulebench.custody.roles import ROOMS
from nodulebench.errors import InputError
from nodulebench.model.progress import Progress, untold
from nodulebench.storage.keys.person_key import PrivateKey
from nodulebench.storage.keys.rooms import RoomVault, new_rooms, wrapped_rooms
from nodulebench.storage.vault import Secret
from nodulebench.workflows.custody.kept.results import kept_files, refuse_looked, sealed_results
from nodulebench.workflows.custody.life.changes import commit, put, put_json, staged, staging
from nodulebench.workflows.custody.life.examined import signer_of, vault_seal
from nodulebench.workflows.custody.life.vaults import WITH_KEYS, WITHOUT_KEYS, holders, sealer
from nodulebench.workflows.custody.sealed_set import SealedSet, open_sealed


def migrate(
    sealed: Path,
    secret: Secret,
    person: str,
    *,
    policy: Path,
    key: Secret,
    signing_key: PrivateKey,
    progress: Progress = untold,
) -> Event:
    """Give the people of a set keys of their own.

    Args:
        sealed: a set that opens with one secret for all.
        secret: that secret.
        person: a curator, by the name in the set's policy.
        policy: the policy with keys; what it says of reuse has to be what was sealed.
        key: the curator's own key.
        signing_key: the key that signed the set when it was sealed.
        progress: told how many files were sealed anew.

    Raises:
        InputError: if a key is another, the policy says something else of reuse, or the person may
            not seal.
    """
    opened = open_sealed(sealed, secret, person, "seal")
    if isinstance(opened.vault, RoomVault):
        raise InputError.at(str(sealed), "has keys of people already.")
    new = parse_policy(policy.read_text(encoding="utf-8"), str(policy))
    _refuse_others(opened, new, policy)
    who = sealer(new, key, person, str(policy))
    role = new.role_of(who, "seal")
    if signing_key.public != signer_of(opened.manifest):
        raise InputError.at(
            "signing key", "is not the one that signed the set.", "Give that one as --signing-key."
        )
    vault = new_rooms(ROOMS, layout.room_of)
    seal = PolicySeal(
        new,
        key.key,
        was_migrated=True,
        signer=signing_key.public,
        signing_key=signing_key,
        before=vault_seal(opened.vault),
    )
    log = audit.log_of(opened.folder, opened.bundle, seal)

    def following(events: list[Event]) -> Event:
        opened.refuse_changed(events)
        refuse_looked(opened, events, anew)
        return audit.next_event(
            events,
            bundle=opened.bundle,
            at=datetime.now(UTC),
            person=who,
            role=role,
            step="migrated",
            facts={"people": len(holders(new)), "change": change.digest},
            seal=seal,
        )

    with staging(opened.folder) as files:
        anew, unnamed = _seal_anew(opened, vault, files, progress)
        put_json(files, layout.VAULT, wrapped_rooms(vault, holders(new)))
        put(files, layout.POLICY, policy.read_bytes())
        put(files, layout.POLICY_BEFORE, (opened.folder / layout.POLICY).read_bytes())
        _tell_datasheet(opened, files)
        change = staged(opened.folder, files, unnamed, opened.manifest.files)
        event = log.append(following)
        change.apply()
    return event


def rekey(sealed: Path, secret: Secret, person: str, progress: Progress = untold) -> Event:
    """Seal everything of a set anew under new data keys, after a key was revoked or stolen.

    Args:
        sealed: a set whose people have keys.
        secret: the keeper's key.
        person: who acts; may be empty.
        progress: told how many files were sealed anew.

    Raises:
        InputError: if who acts is no keeper, or the set has one secret for all.
    """
    opened = open_sealed(sealed, secret, person, "manage")
    if not isinstance(opened.vault, RoomVault):
        raise InputError.at(str(sealed), "has one secret for all.", "Migrate it instead.")
    vault, people = new_rooms(ROOMS, layout.room_of), holders(opened.policy)
    with staging(opened.folder) as files:
        anew, unnamed = _seal_anew(opened, vault, files, progress)
        put_json(files, layout.VAULT, wrapped_rooms(vault, people))
        change = staged(opened.folder, files, unnamed, opened.manifest.files)

        def facts(events: list[Event]) -> dict[str, Fact]:
            refuse_looked(opened, events, anew)
            return {"people": len(people)}

        return commit(opened, "rekeyed", facts, change)


def _refuse_others(opened: SealedSet, new: CustodyPolicy, where: Path) -> None:
    if not new.has_keys:
        raise InputError.at(str(where), "names no keys of people.")
    if (new.reuse, new.keeper) != (opened.policy.reuse, opened.policy.keeper):
        raise InputError.at(
            str(where),
            "has another keeper or other rules of reuse than the set was sealed with.",
            "Take the set's own policy.toml, and add keys and a keeper to its people.",
        )


def _seal_anew(
    opened: SealedSet, vault: RoomVault, files: Path, progress: Progress
) -> tuple[set[Path], list[str]]:
    """Seal everything anew: the kept results that were, and files that no look came to name."""
    results = kept_files(opened.folder, opened.events)
    places = [(opened.folder / layout.sealed_file(name), name) for name in opened.secret_names]
    places += [
        (path, f"{layout.RESULTS}/{path.name.removesuffix(layout.SUFFIX)}")
        for path in sorted(results)
    ]
    for number, (path, name) in enumerate(places, start=1):
        plain = opened.vault.open(path.read_bytes(), name, str(path))
        put(files, path.relative_to(opened.folder).as_posix(), vault.seal(plain, name))
        progress("sealing anew", number, len(places))
    named = {f"{layout.RESULTS}/{path.name}" for path in results}
    return results, [one for one in sealed_results(opened.folder) if one not in named]


def _tell_datasheet(opened: SealedSet, files: Path) -> None:
    """The datasheet says how the set is kept now."""
    for name in ("datasheet.json", "datasheet.md"):
        path = opened.folder / name
        if path.is_file():
            text = path.read_text(encoding="utf-8")
            put(files, name, text.replace(WITHOUT_KEYS, WITH_KEYS).encode())
