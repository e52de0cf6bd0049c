"""Rims of pixels around what was outlined: an example by hand, and LIDC's rule gives it back."""

from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from builders.drawn import GRIDS, drawn, grid
from nodulebench.core.errors import InputError
from nodulebench.imaging.rasters import DrawnOutline, voxels_of
from nodulebench.io.lidc_xml import rims, write_readings

SPACE = "{http://www.nih.gov}"


def test_a_square_of_two_pixels_has_the_eight_pixels_next_to_it_as_its_rim() -> None:
    ((rim, is_hole),) = rims(np.array([[5, 5], [6, 5], [5, 6], [6, 6]]))
    assert not is_hole
    neighbours = {(5, 4), (6, 4), (7, 5), (7, 6), (6, 7), (5, 7), (4, 6), (4, 5)}
    assert set(map(tuple, rim.tolist())) == neighbours
    steps = np.abs(np.roll(rim, -1, axis=0) - rim).max(axis=1)
    assert (steps == 1).all()  # a walk: each is next to the one before


@settings(max_examples=80, deadline=None)
@given(st.sets(st.tuples(st.integers(2, 9), st.integers(2, 8)), min_size=1, max_size=40))
@example({(3, 3), (4, 3), (5, 3), (3, 4), (5, 4), (3, 6), (5, 6)})  # a pocket between rims
def test_any_pixels_come_back_by_the_rule_of_lidc(pixels: set[tuple[int, int]]) -> None:
    where = grid(GRIDS["plain"])
    outlines = [
        DrawnOutline(
            3,
            where.to_world(np.column_stack([rim, np.full(len(rim), 3)]).astype(float))[:, :2],
            convention="outside_pixels",
            is_hole=is_hole,
        )
        for rim, is_hole in rims(np.array(sorted(pixels)))
    ]
    assert {(i, j) for i, j, _ in voxels_of(outlines, where).tolist()} == pixels


def test_the_file_has_the_elements_of_lidc(tmp_path: Path) -> None:
    where = grid(GRIDS["plain"])
    voxels = {("1.2.3", "anna", "x"): {(5, 5, 2)}}
    readings = drawn({"1.2.3": where}, voxels, subtlety=4, malignancy_rating=2)
    write_readings(readings, tmp_path / "out")
    root = ElementTree.parse(tmp_path / "out" / "1.2.3.xml").getroot()  # noqa: S314 - our own
    assert root.tag == f"{SPACE}LidcReadMessage"
    assert root.findtext(f"{SPACE}ResponseHeader/{SPACE}SeriesInstanceUid") == "1.2.3"
    nodule = root.find(f"{SPACE}readingSession/{SPACE}unblindedReadNodule")
    assert nodule is not None
    assert nodule.findtext(f"{SPACE}characteristics/{SPACE}malignancy") == "2"
    height = float(nodule.findtext(f"{SPACE}roi/{SPACE}imageZposition") or "nan")
    assert height == pytest.approx(-207.4 + 2 * 2.3)
    assert len(nodule.findall(f"{SPACE}roi/{SPACE}edgeMap")) == 4


def test_what_lidc_cannot_tell_is_refused(tmp_path: Path) -> None:
    where = grid(GRIDS["plain"])
    at_edge = drawn({"a": where}, {("a", "anna", "x"): {(0, 5, 2)}})
    with pytest.raises(InputError, match="edge of the image"):
        write_readings(at_edge, tmp_path / "out")
    bare = drawn({"a": where}, {}, {("a", "anna", "x"): ("nodule", (-25.0, 20.0, -200.0))})
    with pytest.raises(InputError, match="no outline"):
        write_readings(bare, tmp_path / "out")
    assert not (tmp_path / "out").exists()
