"""However a scan lies in space, places and voxels come back from DICOM as they were."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from builders.dicom import image_headers
from nodulebench.core.tables import CASES, MARK_SLICES, MARKS, Submission
from nodulebench.imaging.rasters import voxels_of
from nodulebench.io.dicom.findings import drawn_by_owner
from nodulebench.io.dicom.volumes import images_of_cases
from nodulebench.io.formats import FORMATS

pytest.importorskip("pydicom")
pytest.importorskip("highdicom")

EXAMPLES = 8
SIZE = (40, 36, 5)


@st.composite
def scans(draw: st.DrawFn) -> pl.DataFrame:
    """A scan whose slices are at most 60 degrees off the axial plane."""
    tilt, towards, turn = draw(st.tuples(st.floats(0, 60), st.floats(0, 360), st.floats(0, 360)))
    leant = Rotation.from_euler("zx", [towards, tilt], degrees=True)
    direction = (leant * Rotation.from_euler("z", turn, degrees=True)).as_matrix()
    spacing = draw(st.tuples(*[st.floats(0.4, 3)] * 3))
    origin = draw(st.tuples(*[st.floats(-900, 900)] * 3))
    row: dict[str, object] = {"case_id": "a"}
    for name, values in (("size_{}", SIZE), ("spacing_{}_mm", spacing), ("origin_{}_mm", origin)):
        row |= {name.format(axis): value for axis, value in zip("xyz", values, strict=True)}
    row["direction"] = " ".join(f"{value:.12f}" for value in direction.flat)
    return CASES.conform(pl.DataFrame([row]), "cases")


def outlined(cases: pl.DataFrame, pixels: set[tuple[int, int]]) -> Submission:
    """A mark at an odd place, and on two slices an outline along the edges of pixels."""
    from nodulebench.imaging.rasters import trace_outlines

    (series,) = images_of_cases(cases).values()
    grid = series.geometry
    column, row = np.array(sorted(pixels)).T
    _, corners = trace_outlines(np.zeros(len(row), dtype=np.int64), column, row)
    slices = []
    for k in (1, 2):
        points = grid.to_world(np.column_stack([corners, np.full(len(corners), float(k))]))
        low, high = points.min(axis=0), points.max(axis=0)
        number = round(float(grid.slice_number(np.array([float(k)]))[0]))
        slices.append(
            {
                "case_id": "a",
                "mark_id": "m",
                "slice_index": number,
                "z_mm": float((low[2] + high[2]) / 2),
                "center_x_mm": float((low[0] + high[0]) / 2),
                "center_y_mm": float((low[1] + high[1]) / 2),
                "length_mm": float(high[0] - low[0]),
                "width_mm": float(high[1] - low[1]),
                "contour": ";".join(f"{x:.6f} {y:.6f}" for x, y, _ in points),
            }
        )
    x, y, z = grid.to_world(np.array([[13.37, 21.1, 1.9]]))[0].tolist()
    marks = pl.DataFrame([{"case_id": "a", "mark_id": "m", "x_mm": x, "y_mm": y, "z_mm": z}])
    return Submission(
        "a", MARKS.conform(marks, "marks"), MARK_SLICES.conform(pl.DataFrame(slices), "slices")
    )


@given(scans(), st.sets(st.tuples(st.integers(5, 14), st.integers(5, 14)), min_size=1, max_size=40))
@settings(max_examples=EXAMPLES)
def test_places_and_voxels_come_back_from_any_orientation(
    tmp_path_factory: pytest.TempPathFactory, cases: pl.DataFrame, pixels: set[tuple[int, int]]
) -> None:
    folder = tmp_path_factory.mktemp("scan")
    known = image_headers(cases, folder)
    before = outlined(known, pixels)
    (series,) = images_of_cases(known).values()
    grid = series.geometry
    for name in ("dicom_sr", "dicom_seg"):
        FORMATS[name].write_marks(before, folder / name, known)
        after = FORMATS[name].read_marks(folder / name, known)
        voxels = voxels_of(drawn_by_owner(after.slices, "mark_id")["a", "m"], grid)
        wanted = {(i, j, k) for i, j in pixels for k in (1, 2)}
        assert set(map(tuple, voxels.tolist())) == wanted
        if name == "dicom_sr":
            places = [one.marks.select("x_mm", "y_mm", "z_mm").row(0) for one in (before, after)]
            assert places[1] == pytest.approx(places[0], abs=1e-3)
