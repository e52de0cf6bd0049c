"""Seal a bundle: a signed BagIt bag whose reference is encrypted.

The set is built in a folder next to its target and moved there when complete. A killed run leaves
that folder; the next run with the same key reuses its complete files.
"""

import hashlib
import json
import os
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from secrets import token_hex
from typing import BinaryIO

from nodulebench import __version__
from nodulebench.core.errors import InputError, Problem, UnknownNameError, raise_problems
from nodulebench.core.executor import Progress, no_progress
from nodulebench.core.tables import Reference
from nodulebench.core.text import shown
from nodulebench.custody import layout
from nodulebench.custody.bundle import bundle_contents
from nodulebench.custody.datasheet import evidence_answers, make_datasheet
from nodulebench.custody.events import PolicySeal, log_of, next_event
from nodulebench.custody.keys import holders
from nodulebench.custody.permitted_tests import differing_protocols
from nodulebench.custody.policy import COMPARTMENTS, CustodyPolicy, Role, parse_policy
from nodulebench.custody.sealed_set import SCHEMA, opened_vault, read_note
from nodulebench.io import bundle as bundle_format
from nodulebench.io.atomic import locked, replace_whole, settle, write_through
from nodulebench.io.bundle import SEALED_NOTE, is_sealed
from nodulebench.io.csv_files import write_csv
from nodulebench.io.json_files import read_json
from nodulebench.io.manifests import (
    MANIFEST,
    PAYLOAD,
    SIGNATURE,
    Manifest,
    bytes_digest,
    file_digest,
    is_bag,
    manifest_problems,
    tag_files,
)
from nodulebench.matching.rules import RULES
from nodulebench.metrics import METRICS
from nodulebench.security.keys import PrivateKey
from nodulebench.security.signatures import sign_manifest
from nodulebench.security.vault import SEGMENT_BYTES, Vault, holders_of, new_vault, vault_header


@dataclass(slots=True)
class StagedFiles:
    """The files that are in the stage so far."""

    digests: dict[str, str] = field(default_factory=dict)
    source_digests: dict[str, str] = field(default_factory=dict)
    payload_bytes: int = 0
    taken_over: int = 0

    def add(self, stage: Path, name: str, digest: str) -> None:
        self.digests[name] = digest
        if name.startswith(f"{PAYLOAD}/"):
            self.payload_bytes += (stage / name).stat().st_size


def stage_files(
    source: Path, paths: list[layout.SealedPath], stage: Path, vault: Vault, progress: Progress
) -> StagedFiles:
    """Copy images and seal everything else into a stage; complete files there are reused."""
    placed = StagedFiles()
    for number, path in enumerate(paths, start=1):
        name = path.source
        target = stage / path.target
        digest = _finished(source / name, target, path, vault) if target.is_file() else ""
        if digest:
            placed.taken_over += 1
        else:
            target.parent.mkdir(parents=True, exist_ok=True)
            digest = _place(source / name, target, path, vault)
        placed.source_digests[name] = digest
        placed.add(stage, path.target, file_digest(target) if path.is_secret else digest)
        progress("sealing", number, len(paths))
    return placed


def _place(source: Path, target: Path, path: layout.SealedPath, vault: Vault) -> str:
    part = target.with_name(f".{token_hex(8)}.part")
    try:
        with part.open("wb") as file:
            if path.is_secret:
                digest = vault.seal_file(source, file, path.source)
            else:
                digest = _copy(source, file)
            file.flush()
            os.fsync(file.fileno())
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)
    return digest


def _copy(source: Path, target: BinaryIO) -> str:
    whole = hashlib.sha256()
    with source.open("rb") as file:
        while part := file.read(SEGMENT_BYTES):
            whole.update(part)
            target.write(part)
    return "sha256:" + whole.hexdigest()


def _finished(source: Path, target: Path, path: layout.SealedPath, vault: Vault) -> str:
    """Return the digest of a source that an earlier run finished; empty: it must be done again."""
    digest = file_digest(source)
    if not path.is_secret:
        return digest if file_digest(target) == digest else ""
    try:
        plain = vault.open(target.read_bytes(), path.source, str(target))
    except InputError:
        return ""
    return digest if bytes_digest(plain) == digest else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SealOptions:
    """What to seal, by whom and how."""

    bundle: Path
    out: Path
    own_key: PrivateKey
    """The key of the person who seals, as in the policy."""
    policy: Path
    answers: Path | None = None
    """People's statements for the datasheet, TOML."""
    encrypts_images: bool = False


@dataclass(frozen=True, slots=True)
class SealReport:
    """What was sealed."""

    name: str
    files: int
    secrets: int
    taken_over: int
    """Files that an interrupted run had already finished."""
    gaps: tuple[str, ...]
    """Questions of the datasheet without an answer."""
    already_sealed: bool = False
    """Whether the same set was sealed there before, and nothing was done."""
    permits_any_test: bool = False
    """Whether the policy names neither plans nor protocols, so that any may be used."""
    differing: tuple[tuple[str, str, tuple[str, ...]], ...] = ()
    """Protocols of the policy that count or divide nodules differently, and in which fields."""


def seal_bundle(options: SealOptions, progress: Progress = no_progress) -> SealReport:
    """Seal a test set into a new folder. The bundle itself is not changed."""
    policy = parse_policy(options.policy.read_text(encoding="utf-8"), str(options.policy))
    _require_known_metrics(policy, options.policy)
    person = sealer(policy, options.own_key, str(options.policy))
    role = policy.role_of(person, "seal")
    reference = bundle_format.read_reference(options.bundle)
    source = options.bundle / PAYLOAD if is_bag(options.bundle) else options.bundle
    raise_problems(manifest_problems(options.bundle) if is_bag(options.bundle) else ())
    if options.out.resolve().is_relative_to(options.bundle.resolve()):
        raise InputError.at(
            str(options.out), "is inside the bundle.", "Choose a folder outside of it."
        )
    names = _names_in(source)
    target = options.out.resolve()
    stage = target.with_name(f".{target.name}.sealing")
    target.parent.mkdir(parents=True, exist_ok=True)
    with locked(stage.with_suffix(".lock"), stage):
        if is_sealed(options.out):
            return _already(options, reference, source, names)
        if options.out.exists() and (not options.out.is_dir() or any(options.out.iterdir())):
            raise InputError.at(
                str(options.out), "already exists.", "Choose a new folder for the sealed set."
            )
        stage.mkdir(exist_ok=True)
        vault = vault_of(stage, options.own_key, policy)
        paths = [
            layout.sealed_path_of(name, encrypts_images=options.encrypts_images) for name in names
        ]
        placed = stage_files(source, paths, stage, vault, progress)
        gaps = _write_descriptions(options, policy, reference, stage, vault, placed)
        _finish(stage, placed, PolicySeal(policy, options.own_key), person, role)
        stage.replace(target)
        settle(target.parent)
    return SealReport(
        reference.name,
        files=len(placed.digests),
        secrets=sum(path.is_secret for path in paths),
        taken_over=placed.taken_over,
        gaps=gaps,
        permits_any_test=not (policy.reuse.plans or policy.reuse.protocols),
        differing=tuple(differing_protocols(policy.reuse)),
    )


def _require_known_metrics(policy: CustodyPolicy, source: Path) -> None:
    """Require existing metrics in a policy, since a sealed policy cannot be corrected."""
    for named in policy.reuse.metrics:
        rule, _, metric = named.partition("@")[0].partition(".")
        try:
            RULES[rule], METRICS[metric]
        except UnknownNameError as error:
            where = f"{source} field 'reuse.metrics'"
            raise InputError.at(where, f"'{named}': {error}", "Write rule.metric.") from error


def _write_descriptions(
    options: SealOptions,
    policy: CustodyPolicy,
    reference: Reference,
    stage: Path,
    vault: Vault,
    placed: StagedFiles,
) -> tuple[str, ...]:
    cases = stage / layout.RUN_CASES
    cases.parent.mkdir(parents=True, exist_ok=True)
    # by name: the order of a reference may disclose where nodules are
    write_csv(reference.cases.select(layout.RUN_COLUMNS).sort("case_id"), cases)
    placed.add(stage, layout.RUN_CASES, file_digest(cases))
    stated, documents = bundle_contents(options.bundle, options.answers)
    evidence = evidence_answers(documents)
    start = f"{layout.IMAGES}/"
    images = [name for name in placed.source_digests if name.startswith(start)]
    where = "encrypted" if options.encrypts_images else f"in {layout.PAYLOAD}/{layout.IMAGES}/"
    statement = f"{len(images)} image files, {where}." if images else ""
    storage = storage_statement(encrypts_images=options.encrypts_images)
    sheet = make_datasheet(
        reference, stated, policy, images=statement, storage=storage, evidence=evidence
    )
    note = {
        "schema": SCHEMA,
        "name": reference.name,
        "cases": reference.cases.height,
        "source": _source_code(vault, placed.source_digests),
    }
    others = {
        layout.POLICY: options.policy.read_bytes(),
        layout.VAULT: (stage / layout.VAULT).read_bytes(),
        SEALED_NOTE: _json_bytes(note),
        "datasheet.json": _json_bytes(sheet.to_json()),
        "datasheet.md": sheet.to_markdown().encode(),
    }
    payload = {name: digest for name, digest in placed.digests.items() if name.startswith(PAYLOAD)}
    written = tag_files(
        payload,
        payload_bytes=placed.payload_bytes,
        description=f"Sealed test set {reference.name}",
        organization=policy.key_custodian,
        day=datetime.now(UTC).date(),
        agent=f"NoduleBench {__version__}",
        others=others,
    )
    for name, content in written.items():
        replace_whole(stage / name, content)
        placed.add(stage, name, bytes_digest(content))
    return tuple(sheet.gaps)


def _finish(stage: Path, placed: StagedFiles, seal: PolicySeal, person: str, role: Role) -> None:
    for path in sorted(stage.rglob("*"), reverse=True):
        name = path.relative_to(stage).as_posix()
        if path.is_dir() and not path.is_symlink():
            if not any(path.iterdir()):
                path.rmdir()
        elif name not in placed.digests:
            path.unlink()
    at = datetime.now(UTC)
    if seal.key is None:
        raise AssertionError("a set is sealed with a key")
    sign_manifest(stage, Manifest(placed.digests), seal.key, by=person, at=at)
    for name in (MANIFEST, SIGNATURE):  # synced to disk like all other files
        write_through(stage / name, (stage / name).read_bytes())
    bundle = file_digest(stage / MANIFEST)
    event = next_event(
        [],
        bundle=bundle,
        at=at,
        person=person,
        role=role,
        step="sealed",
        facts={"files": len(placed.digests)},
        seal=seal,
    )
    log = log_of(stage, bundle, seal)
    log.append_event(event)
    log.write_head([event], person)
    for folder in (stage, *(path for path in stage.rglob("*") if path.is_dir())):
        settle(folder)


def _already(
    options: SealOptions, reference: Reference, source: Path, names: list[str]
) -> SealReport:
    """Return the report on a set that is already sealed there, if it is the same set."""
    path = options.out / layout.VAULT
    vault = opened_vault(read_json(path), options.own_key, str(path))
    code = _source_code(vault, {name: file_digest(source / name) for name in names})
    if read_note(options.out)["source"] != code:
        raise InputError.at(
            str(options.out), "is another sealed set.", "Choose a new folder for this one."
        )
    paths = [layout.sealed_path_of(name, encrypts_images=options.encrypts_images) for name in names]
    secrets = sum(path.is_secret for path in paths)
    return SealReport(reference.name, len(names), secrets, len(names), (), already_sealed=True)


def _source_code(vault: Vault, digests: dict[str, str]) -> str:
    """Return a code that is equal for equal source files, but only with the key of the vault."""
    return vault.authenticator(_json_bytes(dict(sorted(digests.items()))), "source of a sealed set")


def _names_in(folder: Path) -> list[str]:
    files = [path for path in folder.rglob("*") if path.is_file()]
    names = sorted(path.relative_to(folder).as_posix() for path in files)
    raise_problems(
        Problem(str(folder / shown(name)), "has a name that is not UTF-8.", "Rename it.")
        for name in names
        if shown(name) != name
    )
    return names


def _json_bytes(value: object) -> bytes:
    return (json.dumps(value, indent=1, ensure_ascii=False) + "\n").encode()


STORAGE = (
    "Reference and all other tables encrypted with AES-256-GCM; images {images}; every file "
    "listed with its SHA-256; the list signed with Ed25519; a hash-chained log of every use. Each "
    "person has their own key, which signs their actions and opens what their role needs."
)


def storage_statement(*, encrypts_images: bool) -> str:
    return STORAGE.format(images="encrypted as well" if encrypts_images else "in plain form")


def sealer(policy: CustodyPolicy, own_key: PrivateKey, where: str) -> str:
    line = own_key.public.line
    person = next((known.name for known in policy.people if known.key == line), None)
    if person is None:
        what = f"lists no person with the key {own_key.public.fingerprint}."
        raise InputError.at(where, what, f'Add to your entry: key = "{line}"')
    return person


def vault_of(stage: Path, own_key: PrivateKey, policy: CustodyPolicy) -> Vault:
    """Return the vault that an interrupted run began, or a new one."""
    path = stage / layout.VAULT
    if not path.is_file():
        vault = new_vault(COMPARTMENTS, layout.compartment_of)
        header = vault_header(vault, holders(policy))
        replace_whole(path, (json.dumps(header, indent=1, ensure_ascii=False) + "\n").encode())
        return vault
    header = read_json(path)
    if holders_of(header, str(path)) != holders(policy):
        raise InputError.at(
            str(stage),
            "was left by an interrupted run with other people in the policy.",
            "Give the same policy, or remove that folder to start again.",
        )
    return opened_vault(header, own_key, str(path))
