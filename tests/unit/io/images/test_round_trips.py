"""What readers outlined comes back voxel for voxel, on straight, turned and oblique grids."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from builders.drawn import GRIDS, Voxels, blob, drawn, grid, held
from nodulebench.core.errors import InputError
from nodulebench.core.readings import Readings
from nodulebench.evaluation.convert import ConvertOptions, convert
from nodulebench.io.formats import FORMATS
from nodulebench.io.readings import read_readings

NAMES = ("slicer_markups", "seg_nrrd", "nifti_labels", "lidc_xml")
AXIAL = ("plain", "flipped", "head first", "turned")
SAID = {"type": "part_solid", "density": "part_solid", "subtlety": 4, "malignancy_rating": 5}


def some(direction: np.ndarray, seed: int = 1, count: int = 3) -> Readings:
    """Blobs of two readers in two cases; each reader's own do not overlap."""
    random = np.random.default_rng(seed)
    result: dict[tuple[str, str, str], Voxels] = {}
    for case_id in ("1.2.3", "case-b"):
        for reader in ("anna", "bo"):
            taken: Voxels = set()
            for number in range(count):
                voxels = blob(random) - taken
                if voxels:
                    result[case_id, reader, f"{reader}:{number}"] = voxels
                taken |= voxels
    places = {"1.2.3": grid(direction), "case-b": grid(direction)}
    return drawn(places, result, **SAID)


@pytest.mark.parametrize("direction", list(GRIDS))
@pytest.mark.parametrize("name", NAMES)
def test_outlines_come_back_voxel_for_voxel(name: str, direction: str, tmp_path: Path) -> None:
    form, before = FORMATS[name], some(GRIDS[direction], seed=len(direction))
    assert form.write_readings is not None
    assert form.read_readings is not None
    if name == "lidc_xml" and direction not in AXIAL:
        with pytest.raises(InputError, match="tilted"):
            form.write_readings(before, tmp_path / "out", None)
        return
    form.write_readings(before, tmp_path / "out", None)
    after = form.read_readings(tmp_path / "out", before.cases)
    wanted, result = held(before), held(after)
    assert len(wanted) == 12
    if name == "lidc_xml":  # readers are numbers there, and findings are named by them
        assert sorted(map(sorted, result.values())) == sorted(map(sorted, wanted.values()))
    else:
        assert result == wanted
        message, wanted_of = (
            one.findings.select("case_id", "finding_id", "reader_id", "kind", *SAID).sort(
                "case_id", "finding_id"
            )
            for one in (after, before)
        )
        assert message.equals(wanted_of)


@pytest.mark.parametrize("name", NAMES)
def test_a_reading_is_recognised_and_keeps_its_session_where_nothing_was_found(
    name: str, tmp_path: Path
) -> None:
    where = grid(GRIDS["plain"])
    point = ("non_nodule", tuple(where.to_world(np.array([[4.0, 5.0, 3.0]]))[0].tolist()))
    before = drawn({"a": where, "b": where}, {("a", "anna", "x"): {(5, 5, 2), (6, 5, 2)}})
    both = drawn({"a": where, "b": where}, {}, {("b", "anna", "y"): point})
    before = Readings(
        "drawn",
        before.cases,
        pl.concat([before.sessions, both.sessions], how="diagonal"),
        pl.concat([before.findings, both.findings], how="diagonal"),
        before.slices,
    )
    form = FORMATS[name]
    assert form.write_readings is not None
    form.write_readings(before, tmp_path / "out", None)
    before.cases.write_csv(tmp_path / "cases.csv")
    after = read_readings(tmp_path / "out", cases=tmp_path / "cases.csv")
    assert after.sessions["case_id"].to_list() == ["a", "b"]
    assert held(after)["a", after.findings["finding_id"][0]] == {(5, 5, 2), (6, 5, 2)}
    if name in ("slicer_markups", "lidc_xml"):
        (row,) = after.findings.filter(case_id="b").to_dicts()
        assert row["kind"] == "non_nodule"
        assert [row[axis] for axis in ("x_mm", "y_mm", "z_mm")] == pytest.approx(list(point[1]))


def test_convert_goes_from_each_to_each_and_says_what_is_lost(tmp_path: Path) -> None:
    before = some(GRIDS["flipped"], count=1)
    before.cases.write_csv(tmp_path / "cases.csv")
    form = FORMATS["slicer_markups"]
    assert form.write_readings is not None
    form.write_readings(before, tmp_path / "slicer_markups", None)
    last = "slicer_markups"
    for name in ("seg_nrrd", "nifti_labels", "lidc_xml"):
        done = convert(
            ConvertOptions(
                source=tmp_path / last,
                target=tmp_path / name,
                to_format=name,
                what="readings",
                cases=tmp_path / "cases.csv",
            )
        )
        assert done.items == 4
        assert {loss.code for loss in done.losses} <= {"values_lost", "names_lost"}
        assert bool(done.losses) == (name == "lidc_xml")
        last = name
    after = read_readings(tmp_path / last, cases=tmp_path / "cases.csv")
    assert sorted(map(sorted, held(after).values())) == sorted(map(sorted, held(before).values()))
