from array import array
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from builders.words import sentences
from nodulebench.core.errors import InputError
from nodulebench.core.readings import FINDING_SLICES, FINDINGS, SESSIONS
from nodulebench.core.tables import CASES
from nodulebench.io.lidc_readings import (
    PixelMark,
    PixelOutline,
    PixelReading,
    pixel_readings,
    read_scans,
)

SQUARE = ((2, 2), (4, 2), (4, 4), (2, 4))


def outline(z: float, *pixels: tuple[int, int], is_hole: bool = False) -> PixelOutline:
    x, y = (array("i", values) for values in zip(*pixels, strict=True))
    return PixelOutline(z, is_hole, x, y)


def nodule(*outlines: PixelOutline, name: str = "N") -> PixelMark:
    return PixelMark(name, "nodule", outlines, (1, 1, 6, 4, 5, 1, 1, 5, 3))


def spot(z: float, x: int, y: int, kind: str = "non_nodule", name: str = "O") -> PixelMark:
    return PixelMark(name, kind, (outline(z, (x, y)),))


def reading(*sessions: tuple[PixelMark, ...], series: str = "s") -> PixelReading:
    return PixelReading(f"{series}.xml", series, "", sessions)


def cases(**columns: object) -> pl.DataFrame:
    given = {
        "case_id": "s",
        "size_x": 10,
        "size_y": 10,
        "size_z": 8,
        "spacing_x_mm": 0.5,
        "spacing_y_mm": 0.5,
        "spacing_z_mm": 2.0,
        "origin_x_mm": -100.0,
        "origin_y_mm": 50.0,
        "origin_z_mm": -20.0,
    }
    return CASES.conform(pl.DataFrame([given | columns]), "cases")


def test_points_become_millimetres_and_outlines_contours() -> None:
    marks = (nodule(outline(-16.0, *SQUARE)), spot(-14.0, 3, 7))
    readings = pixel_readings("set", [reading(marks, ())], cases())
    for schema, table in (
        (SESSIONS, readings.sessions),
        (FINDINGS, readings.findings),
        (FINDING_SLICES, readings.slices),
    ):
        schema.conform(table, schema.name)
    assert readings.sessions["reader_id"].to_list() == ["1", "2"]
    assert readings.findings["finding_id"].to_list() == ["1-1", "1-2"]
    assert readings.findings["texture"].to_list() == [5, None]
    assert readings.findings.select("x_mm", "y_mm", "z_mm").rows() == [
        (None, None, None),
        (-98.5, 53.5, -14.0),
    ]
    (row,) = readings.slices.rows(named=True)
    assert (row["slice_index"], row["outline_index"], row["z_mm"]) == (2, 0, -16.0)
    assert row["convention"] == "outside_pixels"
    assert row["contour"] == "-99.0 51.0;-98.0 51.0;-98.0 52.0;-99.0 52.0"


def test_an_image_that_is_turned_by_half_is_placed_as_it_lies() -> None:
    turned = cases(direction="-1 0 0 0 -1 0 0 0 1")
    readings = pixel_readings("set", [reading((spot(-20.0, 3, 7),))], turned)
    assert readings.findings.select("x_mm", "y_mm", "z_mm").row(0) == (-101.5, 46.5, -20.0)


def test_slices_that_run_from_the_head_are_counted_from_the_feet() -> None:
    from_head = cases(direction="1 0 0 0 1 0 0 0 -1", origin_z_mm=-6.0)
    readings = pixel_readings("set", [reading((nodule(outline(-16.0, *SQUARE)),))], from_head)
    assert readings.slices["slice_index"].to_list() == [2]


def test_uneven_slices_keep_numbers_of_their_own() -> None:
    heights = (-20.0, -18.0, -17.5, -16.0)
    mark = nodule(*(outline(z, *SQUARE) for z in heights))
    readings = pixel_readings("set", [reading((mark,))], cases())
    assert readings.slices["slice_index"].to_list() == [0, 1, 2, 3]
    assert readings.slices["z_mm"].to_list() == list(heights)


def test_several_outlines_on_a_slice_are_numbered() -> None:
    mark = nodule(outline(-20.0, *SQUARE), outline(-20.0, (3, 3), is_hole=True))
    readings = pixel_readings("set", [reading((mark,))], cases())
    assert readings.slices.select("outline_index", "is_hole").rows() == [(0, False), (1, True)]


def test_without_an_origin_positions_start_at_the_first_voxel() -> None:
    readings = pixel_readings(
        "set", [reading((spot(-20.0, 3, 7),))], cases(origin_x_mm=None, origin_y_mm=None)
    )
    assert readings.findings.select("x_mm", "y_mm", "z_mm").row(0) == (1.5, 3.5, -20.0)
    assert sentences(readings.notices) == (
        "1 case has no origin: positions in it are measured from the first voxel.",
    )


def test_a_series_without_voxel_size_is_refused() -> None:
    with pytest.raises(InputError) as caught:
        pixel_readings("set", [reading((), series="other")], cases())
    assert str(caught.value) == (
        "series 'other': has no voxel size, so its pixels cannot become millimetres. "
        "Give a table of cases that lists it with spacing and origin."
    )


def test_a_tilted_image_is_refused() -> None:
    c, s = np.cos(0.3), np.sin(0.3)
    tilted = cases(direction=f"1 0 0 0 {c} {-s} 0 {s} {c}")
    with pytest.raises(InputError, match="has slices that are tilted against the z axis"):
        pixel_readings("set", [reading(())], tilted)


@pytest.mark.parametrize(
    "outside", [outline(-20.0, (2, 2), (10, 2), (4, 4)), outline(-22.0, *SQUARE)]
)
def test_an_outline_outside_the_image_is_refused(outside: PixelOutline) -> None:
    with pytest.raises(InputError) as caught:
        pixel_readings("set", [reading((nodule(outside),))], cases())
    assert str(caught.value) == (
        "s.xml session 1 nodule 'N': has an outline outside the image of series 's'. "
        "Is it the reading of another series?"
    )


def test_points_and_slices_beyond_the_image_are_kept_and_reported_of() -> None:
    marks = (spot(-20.0, 12, 3), nodule(outline(-4.0, *SQUARE)), spot(-20.0, 3, 3))
    readings = pixel_readings("set", [reading(marks)], cases())
    assert readings.findings.height == 3
    assert sentences(readings.notices) == (
        "2 findings are outside their images and were included: s.xml.",
    )


def test_a_scan_table_gives_geometry_and_rotation(tmp_path: Path) -> None:
    path = tmp_path / "scans.csv"
    path.write_text(
        "seriesuid,patient_id,pixel_spacing_mm,slice_spacing_mm,z_first_mm,n_slices,"
        "luna_step_xy_mm,luna_origin_x_mm,luna_origin_y_mm\n"
        "a,p1,0.7,2.5,-340,133,0.7,-166,-171\n"
        "b,p2,0.6,1.25,-300,200,-0.6,150,160\n"
        "c,p3,0.5,1,0,50,,,\n"
    )
    table = read_scans(path)
    assert table["direction"].to_list() == [None, "-1 0 0 0 -1 0 0 0 1", None]
    assert table["spacing_x_mm"].to_list() == [0.7, 0.6, 0.5]
    assert table["origin_x_mm"].to_list() == [-166, 150, None]
    assert table["size_z"].to_list() == [133, 200, 50]
    assert table["size_x"].unique().to_list() == [512]


def test_a_scan_table_needs_its_spacing(tmp_path: Path) -> None:
    path = tmp_path / "scans.csv"
    path.write_text("seriesuid,pixel_spacing_mm\na,0.7\n")
    with pytest.raises(InputError, match="column 'slice_spacing_mm' is missing"):
        read_scans(path)
