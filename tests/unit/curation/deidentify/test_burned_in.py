"""Text drawn outside of the body is found; what a scanner sees there is not taken for text."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from pydicom.dataset import Dataset

from nodulebench.curation.deidentify.burned_in import check_header, find_text, scales_of
from nodulebench.curation.deidentify.codec import NotCleanableError
from nodulebench.i18n.translator import in_english


def letter(kind: str) -> npt.NDArray[np.bool_]:
    rows = {
        "H": ("#...#", "#...#", "#...#", "#####", "#...#", "#...#", "#...#"),
        "L": ("#....", "#....", "#....", "#....", "#....", "#....", "#####"),
        "O": (".###.", "#...#", "#...#", "#...#", "#...#", "#...#", ".###."),
    }[kind]
    return np.array([[sign == "#" for sign in row] for row in rows])


def slice_of(size: int = 160) -> npt.NDArray[np.int16]:
    """A round body, a curved table below it, and air, with the blur and noise of a scanner."""
    from scipy import ndimage

    random = np.random.default_rng(3)
    y, x = np.mgrid[:size, :size] - size / 2
    hu = np.full((size, size), -1000.0)
    hu[x**2 + (1.4 * y) ** 2 < (0.36 * size) ** 2] = 40
    hu[(np.abs(y - 0.36 * size - 0.0008 * x**2) < 1.5) & (np.abs(x) < 0.4 * size)] = 100
    hu[(x + 60) ** 2 + (y + 60) ** 2 < 4] = 900  # a wire of an electrode
    return (ndimage.gaussian_filter(hu, 0.8) + random.normal(0, 12, hu.shape)).astype(np.int16)


def written(
    picture: npt.NDArray[np.int16], text: str, row: int, column: int, value: int, *, scale: int = 1
) -> npt.NDArray[np.int16]:
    copy = picture.copy()
    for number, kind in enumerate(text):
        shape = np.kron(letter(kind), np.ones((scale, scale), dtype=bool))
        at = column + number * (shape.shape[1] + 2 * scale)
        copy[row : row + shape.shape[0], at : at + shape.shape[1]][shape] = value
    return copy


@pytest.mark.parametrize("value", [3071, 1000, 200])
@pytest.mark.parametrize(("row", "scale"), [(4, 1), (4, 3), (150, 1)])
def test_sharp_text_outside_the_body_is_found(value: int, scale: int, row: int) -> None:
    text = find_text(written(slice_of(), "HLO", row, 5, value, scale=scale), 1, 0)
    assert text is not None
    assert text.letters >= 3
    assert (text.row, text.column) == (row, 5)


def test_smoothed_text_is_found_by_its_brightness() -> None:
    from scipy import ndimage

    sharp = written(np.full((160, 160), -1000, dtype=np.int16), "HOHL", 5, 5, 3071, scale=2)
    blurred = ndimage.gaussian_filter(sharp.astype(float), 0.6)
    picture = np.maximum(slice_of(), blurred).astype(np.int16)
    assert find_text(picture, 1, 0) is not None


def test_body_table_and_wires_are_not_text() -> None:
    assert find_text(slice_of(), 1, 0) is None


def test_two_letters_are_text_too_wherever_they_lie() -> None:
    assert find_text(written(slice_of(), "HL", 4, 5, 3071), 1, 0) is not None
    apart = written(slice_of(), "H", 4, 5, 3071)
    apart = written(apart, "H", 40, 5, 3071)
    assert find_text(written(apart, "H", 4, 120, 3071), 1, 0) is not None
    assert find_text(written(slice_of(), "HL", 80, 70, 400), 1, 0) is not None  # over the body


def test_an_empty_picture_holds_no_text() -> None:
    assert find_text(np.zeros((64, 64), dtype=np.int16), 1, -1024) is None


def test_stored_values_are_taken_as_hu() -> None:
    picture = written(slice_of(), "HLO", 4, 5, 3071)
    stored = ((picture + 1024) // 2).astype(np.uint16)
    assert find_text(stored, 2, -1024) is not None


def test_values_without_a_meaning_are_searched_too() -> None:
    """Unsigned values whose header has no intercept: air is 0, not -1024."""
    from scipy import ndimage

    sharp = written(np.full((160, 160), -1000, dtype=np.int16), "HOHL", 5, 5, 3071, scale=2)
    blurred = ndimage.gaussian_filter(sharp.astype(float), 0.6)
    picture = np.maximum(slice_of(), blurred).astype(np.int16)
    assert find_text((picture + 1024).astype(np.uint16), 1, 0) is not None
    assert find_text((slice_of() + 1024).astype(np.uint16), 1, 0) is None


def message_of(data: Any) -> str:
    """Why a header is refused; empty: it is not."""
    try:
        check_header(data)
    except NotCleanableError as error:
        return in_english(error.notice)
    return ""


def test_the_header_can_say_so() -> None:
    data = Dataset()
    assert message_of(data) == ""
    data.ImageType = ["ORIGINAL", "PRIMARY", "AXIAL"]
    data.BurnedInAnnotation = "NO"
    assert message_of(data) == ""
    data.ImageType = ["DERIVED", "PRIMARY", "SCREEN SAVE"]
    assert message_of(data) == "it is not an original image (DERIVED PRIMARY)"
    data.ImageType, data.SeriesDescription = ["ORIGINAL", "PRIMARY"], "Dose Report"
    assert message_of(data) == "it is a screenshot of the scanner (dose page)"


def test_frames_of_enhanced_ct_can_say_so_and_have_their_own_scale() -> None:
    data, shared, frame = Dataset(), Dataset(), Dataset()
    kind, scale, other = Dataset(), Dataset(), Dataset()
    kind.FrameType = ["DERIVED", "SECONDARY"]
    scale.RescaleSlope, scale.RescaleIntercept = 2, -1000
    other.RescaleSlope, other.RescaleIntercept = 1, -24
    shared.PixelValueTransformationSequence = [scale]
    frame.PixelValueTransformationSequence = [other]
    data.SharedFunctionalGroupsSequence = [shared]
    data.PerFrameFunctionalGroupsSequence = [frame, Dataset()]
    assert scales_of(data, 2) == [(1, -24), (2, -1000)]
    assert message_of(data) == ""
    frame.CTImageFrameTypeSequence = [kind]
    assert message_of(data) == "it is not an original image (DERIVED SECONDARY)"
