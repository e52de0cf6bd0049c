"""The output of a released batch: a corrected outline counts, and readings are exported."""

from pathlib import Path

import polars as pl
import pytest

from builders.annotation_project import LONE, SHARED, Panel
from builders.tables import Slice
from nodulebench.annotation.release import export_released
from nodulebench.annotation.steps import correct_outline
from nodulebench.cli import main
from nodulebench.core.errors import InputError
from nodulebench.io.formats import read_reference

KEY = ("a", "candidate-1")


@pytest.fixture
def panel(tmp_path: Path) -> Panel:
    """A batch in review, in which all three drew a box of 8 x 8 mm on slice 3."""
    made = Panel(tmp_path).start("a")
    made.opens("a", reviewer="lead2")
    for person in ("r1", "r2", "r3"):
        made.reads(person, {"a": [SHARED]})
    made.act("r1", "type", case_id="a", candidate_id="candidate-1", type="solid")
    return made


def test_a_corrected_outline_is_exported_and_scored_by_its_own_size(
    panel: Panel, tmp_path: Path
) -> None:
    correction = panel.file("corrected", {"a": [Slice(3, 51, 50, 6, 4)]})
    arguments = ["correct", panel.project, "b1", *KEY, correction, "--reason", "too wide"]
    with pytest.raises(SystemExit) as stopped:
        main(["annotate", "review", *map(str, arguments), "--by", "lead2"])
    assert not stopped.value.code
    panel.act("lead2", "review", case_id="a", candidate_id="candidate-1", agrees=True)
    panel.finishes("lead2", "a")
    panel.act("judge1", "release")
    export_released(panel.handle(), tmp_path / "bundle", findings=tmp_path / "findings")
    made = read_reference(tmp_path / "bundle")
    (nodule,) = made.nodules.iter_rows(named=True)
    assert nodule["diameter_mm"] == 5.0  # (6 + 4) / 2, and not 8
    assert (nodule["x_mm"], nodule["corrected_by"], nodule["added_by"]) == (51.0, "lead2", None)
    assert nodule["agreement"] == 3
    assert made.slices is not None
    assert made.slices.select("slice_index", "length_mm", "width_mm").rows() == [(3, 6.0, 4.0)]
    before = pl.read_parquet(tmp_path / "findings" / "findings.parquet")
    assert before["diameter_mm"].to_list() == [8.0] * 3
    provenance = (tmp_path / "bundle" / "provenance.json").read_text()
    assert "candidate-1 corrected on 1 slices: too wide" in provenance


def test_a_file_of_no_or_several_nodules_corrects_nothing(panel: Panel) -> None:
    for drawn in ([], [SHARED, LONE]):
        path = panel.file("corrected", {"a": drawn})
        with pytest.raises(InputError, match=f"holds {len(drawn)} nodules in case 'a', not the"):
            correct_outline(panel.handle(), "b1", "lead2", KEY, path)
