"""Any byte flipped in a sealed set is found by verify, which names the file."""

import shutil
from pathlib import Path

import pytest

from builders.people import person_key
from builders.sealed import POLICY, SealedLab, make_lab
from nodulebench.custody.evaluate import SealedEvaluateOptions, evaluate_sealed
from nodulebench.custody.verify import verify_sealed, write_checkpoint

pytest.importorskip("cryptography")


@pytest.fixture(scope="module")
def used(tmp_path_factory: pytest.TempPathFactory) -> SealedLab:
    """A sealed set that was looked at twice, and a checkpoint of its log."""
    lab = make_lab(tmp_path_factory.mktemp("used"))
    lab.seal()
    for name, hits in (("one.csv", ("scan0",)), ("two.csv", ("scan0", "scan1"))):
        evaluate_sealed(
            SealedEvaluateOptions(
                lab.marks(name, *hits), lab.sealed, person_key("Bo"), "Example", bootstraps=10
            )
        )
    write_checkpoint(lab.sealed, lab.folder / "checkpoint.json", key=lab.key_file("Ada"))
    return lab


def flips(size: int) -> list[int]:
    """Places in a file: all of a small one, the ends and a spread of a large one."""
    if size <= 256:
        return list(range(size))
    return sorted({0, 1, size // 2, size - 2, size - 1, *range(7, size, max(1, size // 30))})


def test_an_untouched_set_verifies(used: SealedLab) -> None:
    verification = verify_sealed(
        used.sealed,
        public_key=used.public_key,
        own_key=person_key("Safe"),
        checkpoints=[used.folder / "checkpoint.json"],
    )
    assert verification.is_good, verification.problems
    assert [event.step for event in verification.events] == [
        "sealed",
        "evaluation_charged",
        "evaluated",
        "evaluation_charged",
        "evaluated",
    ]


def test_any_flipped_byte_is_found_and_its_file_named(used: SealedLab) -> None:
    tried = 0
    for path in sorted(path for path in used.sealed.rglob("*") if path.is_file()):
        original = path.read_bytes()
        for place in flips(len(original)):
            changed = bytearray(original)
            changed[place] ^= 1 << place % 7
            path.write_bytes(bytes(changed))
            problems = verify_sealed(used.sealed).problems
            named = [str(problem) for problem in problems]
            # the signature lies beside the manifest, and speaks for both
            expected = path.name.replace("manifest.sig", "manifest")
            assert any(expected in text for text in named), (path.name, place, named)
            tried += 1
        path.write_bytes(original)
    assert tried > 1000
    assert verify_sealed(used.sealed).is_good


def test_a_removed_or_added_file_is_named(used: SealedLab, tmp_path: Path) -> None:
    for path in sorted(path for path in used.sealed.rglob("*") if path.is_file()):
        moved = tmp_path / path.name
        shutil.move(path, moved)
        problems = [str(problem) for problem in verify_sealed(used.sealed).problems]
        is_event = path.parent.name == "audit" and path.stem.isdigit()
        named = f"{int(path.stem)} " if is_event else path.name
        assert any(named in text for text in problems), (path, problems)
        shutil.move(moved, path)
    for place in ("x.txt", "data/images/x.dcm", "audit/x.json", "results/x"):
        (used.sealed / place).write_text("x")
        problems = [str(problem) for problem in verify_sealed(used.sealed).problems]
        assert any(str(used.sealed / place) in text for text in problems), place
        (used.sealed / place).unlink()
    assert verify_sealed(used.sealed).is_good


def cut(lab: SealedLab, tmp_path: Path, events: int) -> Path:
    """A copy of the set whose log lost its last events."""
    folder = tmp_path / "cut"
    shutil.copytree(lab.sealed, folder)
    for path in sorted((folder / "audit").glob("0*.json"))[-events:]:
        path.unlink()
    return folder


@pytest.mark.parametrize("events", [1, 2, 4])
def test_a_log_that_was_cut_off_is_found_by_its_head(
    used: SealedLab, tmp_path: Path, events: int
) -> None:
    verification = verify_sealed(cut(used, tmp_path, events))
    message = f"says that the log has 5 events, but it ends with {5 - events}: it was cut off."
    assert any(message in str(problem) for problem in verification.problems)


def test_a_log_put_back_with_its_head_is_found_by_a_checkpoint_kept_elsewhere(
    used: SealedLab, tmp_path: Path
) -> None:
    folder = cut(used, tmp_path, 2)
    events = sorted((folder / "audit").glob("0*.json"))
    for path in (folder / "results").glob("00000004*"):
        path.unlink()
    from nodulebench.custody.events import PolicySeal, log_of
    from nodulebench.custody.policy import parse_policy
    from nodulebench.io.manifests import file_digest

    seal = PolicySeal(parse_policy(POLICY, "policy.toml"), person_key("Bo"))
    log = log_of(folder, file_digest(folder / "manifest.json"), seal)
    log.write_head(log.check().events, "Bo")  # as Bo could
    assert len(events) == 3
    assert verify_sealed(folder, own_key=person_key("Safe")).is_good
    verification = verify_sealed(
        folder, own_key=person_key("Safe"), checkpoints=[used.folder / "checkpoint.json"]
    )
    assert [str(problem) for problem in verification.problems] == [
        f"{used.folder / 'checkpoint.json'}: says that the log has 5 events, but it ends with 3: "
        "it was cut off. Restore the log from a copy."
    ]


def test_an_event_forged_without_the_key_of_its_person_is_found(
    used: SealedLab, tmp_path: Path
) -> None:
    from nodulebench.custody.events import PolicySeal, log_of, next_event
    from nodulebench.custody.policy import parse_policy
    from nodulebench.io.manifests import file_digest
    from nodulebench.security.signatures import signature_code

    class Forger(PolicySeal):
        def make(self, content: bytes, person: str) -> str:  # noqa: ARG002
            return signature_code(content, person_key("Cem"))

    folder = tmp_path / "forged"
    shutil.copytree(used.sealed, folder)
    bundle = file_digest(folder / "manifest.json")
    seal = Forger(parse_policy(POLICY, "policy.toml"))
    log = log_of(folder, bundle, seal)
    events = log.check().events
    forged = next_event(
        events,
        bundle=bundle,
        at=events[-1].at,
        person="Bo",
        role="operator",
        step="refused",
        facts={},
        seal=seal,
    )
    (folder / "audit" / "00000006.json").write_bytes(forged.to_bytes())
    log.write_head([*events, forged], "Bo")
    named = [str(problem) for problem in verify_sealed(folder).problems]
    assert any("00000006.json: was changed, or was not signed with" in text for text in named)
    assert any("head.json: was changed" in text for text in named)


def test_a_checkpoint_that_was_changed_or_is_anothers_is_named(
    used: SealedLab, tmp_path: Path
) -> None:
    original = used.folder / "checkpoint.json"
    changed = tmp_path / "checkpoint.json"
    changed.write_bytes(original.read_bytes().replace(b'"events": 5', b'"events": 4'))
    verification = verify_sealed(used.sealed, public_key=used.public_key, checkpoints=[changed])
    named = [str(problem) for problem in verification.problems]
    assert any("states another digest of event 4" in text for text in named)
    assert any("checkpoint.json: was changed: its signature is invalid." in text for text in named)
    other = make_lab(tmp_path / "other")
    other.seal()
    verification = verify_sealed(other.sealed, checkpoints=[original])
    assert "belongs to another log than that of the manifest" in str(verification.problems[0])


def test_a_strangers_key_is_reported(used: SealedLab) -> None:
    verification = verify_sealed(used.sealed, own_key=person_key("Eve"))
    named = [str(problem) for problem in verification.problems]
    assert any("wraps nothing for the key" in text for text in named)
