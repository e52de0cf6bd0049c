"""A journal gives back what was written, drops a torn line, and belongs to one run."""

from pathlib import Path

import polars as pl
import pytest

from nodulebench.core.errors import InputError
from nodulebench.core.notices import Notice
from nodulebench.core.tables import MARK_SLICES, MARKS
from nodulebench.runner.journal import JOURNAL, open_journal
from nodulebench.runner.slot import CaseRun

IDENTITY = {"algorithm": "sha256:1", "contract": {"command": ("x",)}}


def run(score: float = 0.1) -> CaseRun:
    mark = {"case_id": "a", "mark_id": "1", "x_mm": 1.5, "y_mm": 2.0, "z_mm": 3.0, "score": score}
    part = {"case_id": "a", "mark_id": "1", "slice_index": 3, "center_x_mm": 1.0}
    return CaseRun(
        "ok",
        Notice("run_exited", {"exit_code": 1}),
        {"seconds": 0.1 + 0.2, "exit_code": 0, "signal": None},
        MARKS.arrange(pl.DataFrame([mark])),
        MARK_SLICES.arrange(pl.DataFrame([part])),
        (Notice("run_marks_outside", {"outside": 1, "marks": 1}),),
    )


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    with open_journal(tmp_path, IDENTITY) as journal:
        first = journal.secret
        journal.add("a", run(1 / 3))
    with open_journal(tmp_path, IDENTITY) as journal:
        stored = journal.known["a"]
        assert journal.secret == first
    expected = run(1 / 3)
    assert stored.marks.equals(expected.marks)
    assert stored.slices.equals(expected.slices)
    assert (stored.state, stored.why, stored.measured) == ("ok", expected.why, expected.measured)
    assert stored.notices == expected.notices


def test_a_torn_line_is_dropped_and_the_next_one_is_whole(tmp_path: Path) -> None:
    with open_journal(tmp_path, IDENTITY) as journal:
        journal.add("a", run())
        journal.add("b", run())
    path = tmp_path / JOURNAL
    path.write_bytes(path.read_bytes()[:-7])
    with open_journal(tmp_path, IDENTITY) as journal:
        assert list(journal.known) == ["a"]
        journal.add("b", run())
    with open_journal(tmp_path, IDENTITY) as journal:
        assert list(journal.known) == ["a", "b"]


def test_a_first_line_that_was_torn_is_written_again(tmp_path: Path) -> None:
    with open_journal(tmp_path, IDENTITY):
        pass
    path = tmp_path / JOURNAL
    path.write_bytes(path.read_bytes()[:-1])
    with open_journal(tmp_path, IDENTITY) as journal:
        assert journal.known == {}
    assert len(path.read_bytes().splitlines()) == 1


def test_of_several_lines_of_a_case_the_last_counts(tmp_path: Path) -> None:
    with open_journal(tmp_path, IDENTITY) as journal:
        journal.add("a", run())
        journal.add("a", CaseRun("failed"))
    with open_journal(tmp_path, IDENTITY) as journal:
        assert journal.known["a"].state == "failed"


def test_another_algorithm_does_not_go_on_with_it(tmp_path: Path) -> None:
    with open_journal(tmp_path, IDENTITY):
        pass
    with pytest.raises(
        InputError, match=r"contains a run that differs in: algorithm\. Choose another"
    ):
        open_journal(tmp_path, IDENTITY | {"algorithm": "sha256:2"}).__enter__()


def test_a_damaged_line_is_reported_and_nothing_is_thrown_away(tmp_path: Path) -> None:
    with open_journal(tmp_path, IDENTITY) as journal:
        journal.add("a", run())
    path = tmp_path / JOURNAL
    before = path.read_bytes().replace(b'"state"', b'"stale"')
    path.write_bytes(before)
    with pytest.raises(InputError, match="line 2 cannot be read"):
        open_journal(tmp_path, IDENTITY).__enter__()
    assert path.read_bytes() == before


def test_two_processes_do_not_write_to_it(tmp_path: Path) -> None:
    with (
        open_journal(tmp_path, IDENTITY),
        pytest.raises(InputError, match="written by another process"),
    ):
        open_journal(tmp_path, IDENTITY).__enter__()
