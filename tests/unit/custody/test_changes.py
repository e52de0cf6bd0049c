"""What events of a log changed of a signed set, and what they might not."""

from datetime import UTC, datetime

import pytest

from nodulebench.custody.changes import (
    Change,
    change_named,
    changes_of,
    parse_change,
    with_changes,
)
from nodulebench.custody.events import Event, Step

VAULT = Change(files={"vault.json": "sha256:1"})


def event(number: int, step: Step, change: object) -> Event:
    return Event(
        number=number,
        at=datetime(2026, 1, 1, tzinfo=UTC),
        person="Kim",
        role="key_custodian",
        step=step,
        facts={"change": change},  # type: ignore[dict-item]
        previous="",
    )


def test_an_event_names_its_change_by_a_digest_or_none() -> None:
    assert change_named(event(1, "rotated", "sha256:7")) == "sha256:7"
    for nothing in (None, 7, True):
        assert change_named(event(1, "rotated", nothing)) == ""


def outcome(step: Step, name: str) -> tuple[dict[str, str | None], list[str]]:
    change = Change(files={name: "sha256:2"})
    files, problems = changes_of([event(4, step, change.digest)], {change.digest: change}.get)
    return files, [str(problem) for problem in problems]


@pytest.mark.parametrize(
    ("step", "name"),
    [
        ("rotated", "vault.json"),
        ("admitted", "manifest-sha256.txt"),
        ("rekeyed", "data/reference/nodules.parquet.sealed"),
        ("withdrawn", "datasheet.md"),
    ],
)
def test_a_step_changes_what_it_is_about(step: Step, name: str) -> None:
    from nodulebench.custody import layout

    name = name.replace("vault.json", layout.VAULT).replace("data/reference", layout.SECRETS)
    assert outcome(step, name) == ({name: "sha256:2"}, [])


@pytest.mark.parametrize(
    ("step", "name"),
    [
        ("rotated", "datasheet.md"),
        ("evaluation_charged", "manifest-sha256.txt"),
        ("withdrawn", "data/../../elsewhere"),
        ("withdrawn", "data//nodules.parquet"),
        ("rekeyed", "dataset"),
    ],
)
def test_a_step_changes_nothing_else(step: Step, name: str) -> None:
    assert outcome(step, name) == (
        {},
        [f"event 4: changed '{name}', which this kind of event may not change."],
    )


def test_later_changes_count_and_a_lost_one_is_reported() -> None:
    from nodulebench.custody import layout

    first = Change(files={layout.VAULT: "sha256:1", "bag-info.txt": "sha256:2"})
    second = Change(files={layout.VAULT: "sha256:3", "bag-info.txt": None})
    log = [
        event(1, "rotated", first.digest),
        event(2, "evaluation_charged", None),
        event(3, "rotated", "sha256:lost"),
        event(4, "revoked", second.digest),
    ]
    files, problems = changes_of(log, {change.digest: change for change in (first, second)}.get)
    assert files == {layout.VAULT: "sha256:3", "bag-info.txt": None}
    assert [problem.where for problem in problems] == ["event 3"]
    assert "made a change sha256:lost that does not exist" in str(problems[0])
    listed = {"bag-info.txt": "sha256:0", "policy.toml": "sha256:9"}
    assert with_changes(listed, files) == {layout.VAULT: "sha256:3", "policy.toml": "sha256:9"}


def test_a_change_is_read_as_it_was_written_and_not_otherwise() -> None:
    assert parse_change(VAULT.to_bytes()) == VAULT
    assert parse_change(VAULT.to_bytes() + b" ") is None
    for wrong in (b"", b"{}", b"\xff", b"[]"):
        assert parse_change(wrong) is None
