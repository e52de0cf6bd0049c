import inspect
from dataclasses import replace

import numpy as np
import pytest

from builders.slice_headers import even_series, series_of, slice_header
from nodulebench.core.errors import UnknownNameError
from nodulebench.core.notices import Notice
from nodulebench.curation.admission_checks import CHECKS, CODES_OF_GROUP, Limits, Subject
from nodulebench.curation.series_image import Fault, SeriesImage
from nodulebench.i18n.translator import in_english


def reasons_of(code, slices, image=None, **limits):
    reason = CHECKS[code](Subject(series_of(*slices), image, Limits(**limits)))
    return None if reason is None else in_english(reason.notice)


def with_slice(number, **changes):
    slices = even_series()
    slices[number] = replace(slices[number], **changes)
    return slices


def chest(count=24, side=64, shift=0.0, scale=1.0):
    """A body of 30 HU in air, with two lungs that end two slices before the scan does."""
    hu = np.full((count, side, side), -1000.0, np.float32)
    hu[:, 8:56, 4:60] = 30.0
    hu[2:-2, 16:48, 10:28] = -850.0
    hu[2:-2, 16:48, 36:54] = -850.0
    hu[2:-2, 17:48:3, 11:54:4] += 150.0  # vessels
    hu += np.arange(count, dtype=np.float32)[:, None, None] * 0.1
    return SeriesImage(
        hu * scale + shift, np.array([10.0, 5.6, 5.6]), np.ones(count, bool), "a", ()
    )


@pytest.mark.parametrize("code", CHECKS)
def test_a_series_without_defect_passes_every_check(code):
    assert reasons_of(code, even_series(), chest()) is None


@pytest.mark.parametrize("code", CHECKS)
def test_every_check_says_in_a_line_what_it_means(code):
    line = (inspect.getdoc(CHECKS[code]) or "").partition("\n")[0]
    assert line.endswith(".")
    assert CHECKS[code].__name__ == code


def test_an_unknown_code_suggests_a_near_one():
    with pytest.raises(UnknownNameError, match="Did you mean 'not_ct'"):
        CHECKS["not_cd"]


def test_codes_decide_in_the_order_of_their_list():
    assert list(CHECKS) == [code for codes in CODES_OF_GROUP.values() for code in codes]


HEADER_DEFECTS = [
    ("not_ct", even_series(modality="MR"), "its modality is MR"),
    ("not_ct", even_series(modality=""), "its modality is not stated"),
    ("not_ct", even_series(sop_class="1.2.3"), "its objects are not CT images (SOP class 1.2.3)"),
    (
        "localizer",
        even_series(image_type=("ORIGINAL", "PRIMARY", "LOCALIZER")),
        "its image type is ORIGINAL/PRIMARY/LOCALIZER",
    ),
    ("secondary_capture", even_series(has_conversion_type=True), "it is a secondary capture"),
    (
        "secondary_capture",
        even_series(sop_class="1.2.840.10008.5.1.4.1.1.7.2"),
        "it is a secondary capture",
    ),
    (
        "secondary_capture",
        even_series(pixels={"samples": 3, "photometric": "RGB"}),
        "it has colours (RGB, 3 samples per pixel)",
    ),
    (
        "secondary_capture",
        even_series(pixels={"bits_allocated": 8}),
        "8 bits per pixel cannot hold Hounsfield units",
    ),
    (
        "secondary_capture",
        even_series(image_type=("DERIVED", "SECONDARY", "AXIAL", "CT_SOM5 MIP")),
        "it is a projection (DERIVED/SECONDARY/AXIAL/CT_SOM5 MIP)",
    ),
    (
        "inconsistent_patient",
        with_slice(3, patient_id="P2"),
        "its slices name 2 different patients",
    ),
    ("inconsistent_patient", with_slice(3, study_uid="1.9"), "its slices name 2 different studies"),
    (
        "inconsistent_pixels",
        even_series(pixel_spacing_mm=(1.4, 0.7)),
        "its pixels are not square: 1.4 x 0.7 mm",
    ),
    ("no_geometry", with_slice(3, position_mm=None), "1 slice has no position"),
    ("no_geometry", with_slice(3, pixel_spacing_mm=None), "1 slice has no pixel size"),
    ("no_geometry", even_series(pixel_spacing_mm=(0.0, 0.7)), "its pixels have no size"),
    *(
        (
            "no_geometry",
            even_series(orientation=orientation),
            "rows and columns of 24 slices are not at right angles",
        )
        for orientation in (
            (0.0,) * 6,
            (2.0, 0.0, 0.0, 0.0, 2.0, 0.0),
            (1.0, 0.0, 0.0, 1.0, 0.0, 0.0),
            (1.0, 0.0, 0.0, 0.5, 0.866, 0.0),
        )
    ),
    (
        "inconsistent_orientation",
        with_slice(3, orientation=(1.0, 0.0, 0.0, 0.0, 0.0, -1.0)),
        "1 of 24 slices is oriented differently",
    ),
    (
        "inconsistent_pixels",
        with_slice(3, pixel_spacing_mm=(0.8, 0.8)),
        "its slices differ in pixel size: 0.7 x 0.7 (23) and 0.8 x 0.8 (1)",
    ),
    (
        "inconsistent_pixels",
        [*even_series(), slice_header(30, pixels={"rows": 400})],
        "its slices differ in rows and columns: 512 x 512 (24) and 400 x 512 (1)",
    ),
    (
        "inconsistent_pixels",
        even_series(field_of_view_mm=500.0),
        "512 columns of 0.7 mm are 358 mm, but the image was reconstructed to 500 mm",
    ),
    (
        "not_axial",
        even_series(orientation=(1.0, 0.0, 0.0, 0.0, 0.0, -1.0)),
        "its slices are coronal, 90 degrees from axial",
    ),
    (
        "not_axial",
        even_series(orientation=(0.0, 1.0, 0.0, 0.0, 0.0, -1.0)),
        "its slices are sagittal, 90 degrees from axial",
    ),
    ("gantry_tilt", even_series(tilt_degrees=-12.5), "the gantry was tilted by -12.5 degrees"),
    (
        "gantry_tilt",
        [slice_header(n, position_mm=(0.0, 2.5 * n, 2.5 * n)) for n in range(24)],
        "its slices shift sideways by 45.0 degrees",
    ),
    (
        "missing_slice",
        [header for number, header in enumerate(even_series()) if number not in (4, 5)],
        "2 slices are missing: 0003.dcm and 0006.dcm are 7.50 mm apart, others 2.50 mm",
    ),
    (
        "missing_slice",
        [header for number, header in enumerate(even_series()) if number not in (4, 9)],
        "2 slices are missing, in 2 places: 0003.dcm and 0005.dcm are 5.00 mm apart, "
        "others 2.50 mm",
    ),
    (
        "missing_slice",
        even_series(thickness_mm=1.0),
        "slices 2.50 mm apart are only 1 mm thick",
    ),
    (
        "uneven_spacing",
        with_slice(4, position_mm=(-180.0, -180.0, 10.8)),
        "0003.dcm and 0004.dcm are 3.30 mm apart, others 2.50 mm",
    ),
    (
        "uneven_spacing",
        with_slice(4, position_mm=(-175.0, -180.0, 10.0)),
        "0004.dcm is displaced sideways by 5.0 mm",
    ),
    (
        "contradicting_spacing",
        even_series(slice_spacing_mm=5.0),
        "its header states 5 mm between slices, their positions 2.50 mm",
    ),
    ("too_few_slices", even_series(19), "19 slices; the minimum is 20"),
    (
        "small_matrix",
        even_series(pixels={"rows": 256}),
        "256 x 512 pixels; the minimum is 512 x 512",
    ),
    ("thick_slices", even_series(thickness_mm=5.0), "5 mm; the maximum is 3 mm"),
    ("thick_slices", even_series(thickness_mm=None), "its slices do not state their thickness"),
    ("thick_slices", even_series(thickness_mm=-3.0), "its slices do not state their thickness"),
    (
        "wrong_rescale",
        even_series(slope=None),
        "it has no rescale slope and intercept, so its HU are unknown",
    ),
    ("wrong_rescale", even_series(slope=-1.0), "its rescale slope is -1"),
]


@pytest.mark.parametrize(("code", "slices", "text"), HEADER_DEFECTS)
def test_a_defect_of_headers_is_reported_as_text(code, slices, text):
    assert reasons_of(code, slices) == text


def test_a_slice_of_another_patient_is_named():
    reason = CHECKS["inconsistent_patient"](
        Subject(series_of(*with_slice(3, patient_id="P2")), None, Limits())
    )
    assert reason is not None
    assert reason.files == ("/archive/scan/0003.dcm",)


def test_a_reformatted_axial_series_is_not_a_projection():
    assert (
        reasons_of("secondary_capture", even_series(image_type=("DERIVED", "SECONDARY", "MPR")))
        is None
    )


def test_positions_and_cosines_may_be_rounded():
    assert reasons_of("uneven_spacing", with_slice(4, position_mm=(-179.9, -180.0, 10.0))) is None
    assert (
        reasons_of("no_geometry", even_series(orientation=(0.999, 0.04, 0.0, -0.04, 0.999, 0.0)))
        is None
    )
    assert reasons_of("thick_slices", even_series(thickness_mm=3.0000001)) is None


def test_a_thickness_below_nothing_makes_no_gap():
    assert reasons_of("missing_slice", even_series(thickness_mm=-3.0)) is None


def test_a_duplicate_slice_is_known_by_object_position_or_pixels():
    slices = even_series()
    again = replace(slices[3], path="/archive/scan/copy.dcm")
    assert reasons_of("duplicate_slice", [*slices, again]) == "0003.dcm occurs twice"
    placed = slice_header(40, position_mm=slices[3].position_mm)
    assert (
        reasons_of("duplicate_slice", [*slices, placed]) == "0003.dcm and 0040.dcm are at the same "
        "position (7.50 mm)"
    )
    image = chest()
    image.hu[9] = image.hu[4]
    assert (
        reasons_of("duplicate_slice", slices, image) == "0004.dcm and 0009.dcm show the same pixels"
    )


def test_spacing_within_the_tolerance_is_even():
    moved = with_slice(4, position_mm=(-180.0, -180.0, 10.04))
    assert reasons_of("uneven_spacing", moved) is None
    assert reasons_of("uneven_spacing", moved, spacing_tolerance_mm=0.02) is not None


def test_limits_can_be_widened():
    assert reasons_of("thick_slices", even_series(thickness_mm=5.0), largest_thickness_mm=5) is None
    assert (
        reasons_of("small_matrix", even_series(pixels={"rows": 256}), smallest_matrix=256) is None
    )


def test_faults_of_pixels_are_reported_by_kind():
    broken = Notice("pixels_undecoded", {"error": "no marker"})
    faults = (Fault("/a", Notice("pixels_cut_off"), True), Fault("/b", broken, False))
    image = replace(chest(), faults=faults)
    assert (
        reasons_of("truncated_pixels", even_series(), image)
        == "a slice was cut off while it was read"
    )
    assert (
        reasons_of("unreadable", even_series(), image)
        == "a slice has pixels that cannot be decoded (no marker)"
    )


@pytest.mark.parametrize(
    ("image", "text"),
    [
        (chest(shift=1024.0), "air and lung are at 174 HU, soft tissue at 1055 HU"),
        (chest(scale=0.1), "its values span no more than 88 HU"),
        (chest(scale=2.0), "air and lung are at -1995 HU, soft tissue at 62 HU"),
    ],
)
def test_values_that_are_not_hounsfield_units_are_reported(image, text):
    """An even lowest value counts as padding, so lung (-849 HU) may count as air."""
    assert reasons_of("wrong_rescale", even_series(), image) == text


def test_a_slice_unlike_its_neighbours_is_out_of_place():
    image = chest()
    image.hu[9] += 300
    assert reasons_of("slice_out_of_place", even_series(), image) == (
        "1 slice does not fit between its neighbours"
    )


def test_the_first_and_last_slice_have_one_neighbour():
    image = chest()
    image.hu[:] = image.hu[10] + np.arange(24, dtype=np.float32)[:, None, None]
    image.hu[0] += 300
    reason = CHECKS["slice_out_of_place"](Subject(series_of(*even_series()), image, Limits()))
    assert reason is not None
    assert reason.files == ("/archive/scan/0000.dcm",)


def test_exchanged_neighbours_are_in_the_wrong_order():
    image = chest()
    growing = np.arange(24, dtype=np.float32)[:, None, None]
    image.hu[:] = np.where(np.arange(64) < 10 + growing, -850, 30)
    image.hu[[9, 10]] = image.hu[[10, 9]]
    assert reasons_of("slice_out_of_place", even_series(), image) == (
        "neighbouring slices are in the wrong order"
    )


def test_too_little_lung_is_not_a_chest():
    image = chest()
    image.hu[image.hu < -500] = 30
    image.hu[:, :6] = -1000
    assert reasons_of("not_chest", even_series(), image) == (
        "it shows 0 ml of lung; the minimum is 500"
    )


def test_lung_on_the_last_slice_is_cut():
    image = chest()
    image.hu[-2:, 16:48, 10:28] = -850
    # 32 x 18 voxels of 5.6 mm
    assert reasons_of("cut_lungs", even_series(), image) == (
        "it ends towards the head where lung still covers 181 cm²"
    )


def test_lung_at_the_edge_of_the_field_of_view_is_cut():
    whole = chest()
    cut = replace(whole, hu=whole.hu[:, :, 16:])
    assert reasons_of("cut_lungs", even_series(), cut).startswith(
        "its edge runs through lung along "
    )
    assert reasons_of("not_chest", even_series(), cut) is None
