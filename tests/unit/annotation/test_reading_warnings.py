import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders.annotation import drawn, reading, small_cases
from nodulebench.annotation.reading_warnings import WarningLimits, warn
from nodulebench.annotation.readings import DrawnFinding, DrawnSlice
from nodulebench.i18n.translator import in_english
from nodulebench.imaging.geometry import geometries
from nodulebench.imaging.outlines import crosses_itself, read_outline
from nodulebench.imaging.rasters import voxels_of

PLACE = geometries(small_cases("a"))["a"]
SHAPE = (20, 100, 100)


def outlined(contour: str, *levels: int, **more) -> DrawnFinding:
    slices = (
        DrawnSlice(
            slice_index=level,
            center_x_mm=0,
            center_y_mm=0,
            length_mm=1,
            width_mm=1,
            outline=read_outline(contour, "here").tolist(),
        )
        for level in levels
    )
    return DrawnFinding(finding_id="f", slices=tuple(slices), **more)


def kinds(finding, place=PLACE, **more) -> list[str]:
    return [warning.notice.code for warning in warn(reading("r", "a", finding), place, **more)]


def test_an_ordinary_nodule_gives_no_warning() -> None:
    finding = drawn("f", (3, 50, 50, 8), (4, 50, 50, 8))
    assert kinds(finding, hu=np.zeros(SHAPE), lung=np.ones(SHAPE, dtype=bool)) == []


def test_a_long_diameter_is_more_than_30_mm() -> None:
    assert kinds(outlined("10 10;40 10;40 12;10 12", 3, 4)) == ["long_diameter"] * 2  # hypot(30, 2)
    assert kinds(outlined("10 10;40 10;25 12", 3, 4)) == []  # exactly 30 mm
    (warning,) = warn(reading("r", "a", drawn("f", (3, 50, 50, 31))))
    assert in_english(warning.notice) == "long diameter 31.0 mm on slice 3, more than 30 mm"
    assert kinds(drawn("f", (3, 50, 50, 30), (4, 50, 50, 30))) == []  # a box has no diagonal


def test_a_nodule_on_one_slice_is_unusual_only_on_thin_slices() -> None:
    assert kinds(drawn("f", (3, 50, 50, 8))) == ["single_slice"]
    assert kinds(drawn("f", (3, 50, 50, 8)), limits=WarningLimits(thin_slice_mm=0.9)) == []
    assert kinds(drawn("f", (3, 50, 50, 8)), place=None) == []


@pytest.mark.parametrize(("level", "expected"), [(100, ["calcified_density"]), (101, [])])
def test_a_calcified_nodule_has_a_mean_above_100_hu(level: int, expected: list[str]) -> None:
    hu = np.full(SHAPE, -800)
    hu[3:5, 45:56, 45:56] = level
    finding = drawn("f", (3, 50, 50, 8), (4, 50, 50, 8), type="calcified")
    assert kinds(finding, hu=hu) == expected
    assert kinds(drawn("f", (3, 50, 50, 8), (4, 50, 50, 8), type="solid"), hu=hu) == []


def test_an_outline_mostly_outside_the_lungs_is_reported() -> None:
    lung = np.zeros(SHAPE, dtype=bool)
    lung[:, :, :48] = True
    finding = drawn("f", (3, 50, 50, 8.2), (4, 50, 50, 8.2))  # columns 46 to 54: two of nine
    (warning,) = warn(reading("r", "a", finding), PLACE, lung=lung)
    assert (warning.notice.code, in_english(warning.notice)) == (
        "outside_lung",
        "78% of it is outside the lungs",
    )


def test_an_outline_that_crosses_itself_is_reported() -> None:
    assert kinds(outlined("10 10;20 20;20 10;10 20", 3, 4)) == ["crossing_outline"] * 2
    assert not crosses_itself(np.array([[0, 0], [4, 0], [4, 4], [2, 1], [0, 4.0]]))
    assert not crosses_itself(np.array([[0, 0], [1, 1.0]]))


@given(st.lists(st.floats(1, 10), min_size=3, max_size=12))
def test_a_star_shaped_outline_never_crosses_itself(radii: list[float]) -> None:
    angle = 2 * np.pi * np.arange(len(radii)) / len(radii)
    around = np.column_stack([np.cos(angle), np.sin(angle)]) * np.array(radii)[:, None]
    assert not crosses_itself(around)


def test_pixels_are_those_with_the_centre_inside() -> None:
    (only,) = drawn("f", (3, 50, 50, 2.5)).slices
    pixels = {tuple(row) for row in voxels_of([only.as_drawn], PLACE).tolist()}
    assert pixels == {(x, y, 3) for x in (49, 50, 51) for y in (49, 50, 51)}
    (edge,) = drawn("f", (3, 0, 0, 2.5)).slices
    assert len(voxels_of([edge.as_drawn], PLACE)) == 4  # the rest is outside the image
