"""Real CT series, whole and with defects put in: each defect is found by its code, none is lost.

Pixel digests were computed with other software (``hu_sha256`` in the scans' table); two scans are
compared here, all by ``python -m benchmarks.real_scans``.
"""

import csv
import os
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pydicom
import pytest
from pydicom.uid import ExplicitVRLittleEndian, generate_uid

from builders.places import TEST_DATA
from builders.real_scans import plain_scan
from nodulebench.core.executors.local import LocalExecutor
from nodulebench.curation.admission_checks import Limits
from nodulebench.curation.curate import curate
from nodulebench.curation.examine import ExaminedSeries, examine
from nodulebench.io.dicom.series import group_series
from nodulebench.io.dicom.slices import NoSlices, read_slices

DATA = TEST_DATA / "ct"
SCAN, COMPRESSED = "LIDC-IDRI-0001", "NLST-101287"

pytestmark = pytest.mark.skipif(
    not DATA.is_dir(), reason=f"no CT scans at {DATA}; set NODULEBENCH_TEST_DATA"
)


@pytest.fixture(scope="session")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """LIDC-IDRI-0001 without compression."""
    return plain_scan(tmp_path_factory, SCAN)


@pytest.fixture
def scan(original: Path, tmp_path: Path) -> Path:
    """A copy to damage; files are links until they are changed."""
    return Path(shutil.copytree(original, tmp_path / "scan", copy_function=os.link))


@pytest.fixture(scope="session")
def half_original(tmp_path_factory: pytest.TempPathFactory, original: Path) -> Path:
    """Every second slice as if slices were 5 mm thick."""
    folder = tmp_path_factory.mktemp("half") / "scan"
    shutil.copytree(original, folder, copy_function=os.link)
    remove_every_second(folder)
    thick(folder)
    return folder


@pytest.fixture
def half_scan(half_original: Path, tmp_path: Path) -> Path:
    """A copy to damage whose slices are half as many."""
    return Path(shutil.copytree(half_original, tmp_path / "half", copy_function=os.link))


def change(path: Path, **values: object) -> None:
    data = pydicom.dcmread(path)
    for name, value in values.items():
        if value is None:
            delattr(data, name)
        else:
            setattr(data, name, value)
    path.unlink()
    data.save_as(path)


def all_files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def slice_files(folder: Path) -> list[Path]:
    return sorted(folder.glob("0*.dcm"))


def examined(
    folder: Path, limits: Limits | None = None
) -> tuple[list[ExaminedSeries], list[NoSlices]]:
    slices, others = [], []
    for path in all_files(folder):
        headers = read_slices(path)
        if isinstance(headers, NoSlices):
            others.append(headers)
        else:
            slices.extend(headers)
    return [examine(series, limits or Limits()) for series in group_series(slices)], others


def digests() -> dict[str, str]:
    """The digests of the voxels of all real scans, by series."""
    with (DATA / "scans.csv").open() as file:
        return {row["SeriesInstanceUID"]: row["hu_sha256"] for row in csv.DictReader(file)}


def codes(series: ExaminedSeries) -> list[str]:
    return [reason.code for reason in series.reasons]


def remove_slice(folder: Path) -> None:
    slice_files(folder)[60].unlink()


def remove_three_places(folder: Path) -> None:
    for number in (20, 21, 90):
        slice_files(folder)[number].unlink()


def remove_every_second(folder: Path) -> None:
    for path in slice_files(folder)[1::2]:
        path.unlink()


def remove_lower_lungs(folder: Path) -> None:
    for path in slice_files(folder)[:50]:
        path.unlink()


def remove_upper_lungs(folder: Path) -> None:
    for path in slice_files(folder)[95:]:
        path.unlink()


def copy_a_slice(folder: Path) -> None:
    files = slice_files(folder)
    shutil.copy(files[60], folder / "copy.dcm")


def copy_a_slice_under_another_uid(folder: Path) -> None:
    copied = Path(shutil.copy(slice_files(folder)[60], folder / "copy.dcm"))
    change(copied, SOPInstanceUID=generate_uid())


def same_pixels_at_two_places(folder: Path) -> None:
    files = slice_files(folder)
    change(files[60], PixelData=pydicom.dcmread(files[20]).PixelData)


def swap_pixels_far_apart(folder: Path) -> None:
    _swap(slice_files(folder)[30], slice_files(folder)[90])


def swap_pixels_of_neighbours(folder: Path) -> None:
    _swap(slice_files(folder)[60], slice_files(folder)[61])


def _swap(first: Path, other: Path) -> None:
    pixels = [pydicom.dcmread(path).PixelData for path in (first, other)]
    change(first, PixelData=pixels[1])
    change(other, PixelData=pixels[0])


def move_a_slice(folder: Path) -> None:
    path = slice_files(folder)[60]
    x, y, z = pydicom.dcmread(path).ImagePositionPatient
    change(path, ImagePositionPatient=[x, y, z + 0.8])


def wrong_spacing_in_the_header(folder: Path) -> None:
    for path in slice_files(folder):
        change(path, SpacingBetweenSlices=2)


def one_other_pixel_size(folder: Path) -> None:
    change(slice_files(folder)[60], PixelSpacing=[0.8, 0.8])


def every_other_pixel_size(folder: Path) -> None:
    for path in slice_files(folder):
        change(path, PixelSpacing=[0.9, 0.9])


def one_other_orientation(folder: Path) -> None:
    change(slice_files(folder)[60], ImageOrientationPatient=[1, 0, 0, 0, 0, -1])


def wrong_modality(folder: Path) -> None:
    for path in slice_files(folder):
        change(path, Modality="MR")


def one_wrong_modality(folder: Path) -> None:
    change(slice_files(folder)[60], Modality="PT")


def localizers(folder: Path) -> None:
    for path in slice_files(folder):
        change(path, ImageType=["ORIGINAL", "PRIMARY", "LOCALIZER"])


def secondary(folder: Path) -> None:
    for path in slice_files(folder):
        change(path, SOPClassUID="1.2.840.10008.5.1.4.1.1.7", ConversionType="WSD")


def coronal(folder: Path) -> None:
    for number, path in enumerate(slice_files(folder)):
        position = [-166, -170 + 2.5 * number, 0]
        cosines = [1, 0, 0, 0, 0, -1]
        change(path, ImagePositionPatient=position, ImageOrientationPatient=cosines)


def tilted(folder: Path) -> None:
    for number, path in enumerate(slice_files(folder)):
        x, y, z = pydicom.dcmread(path).ImagePositionPatient
        change(path, ImagePositionPatient=[x, y + 0.4 * number, z])


def tilt_in_the_header(folder: Path) -> None:
    for path in slice_files(folder):
        change(path, GantryDetectorTilt="-12.5")


def cut_pixels_in_the_header(folder: Path) -> None:
    path = slice_files(folder)[60]
    change(path, PixelData=pydicom.dcmread(path).PixelData[:100_000])


def cut_off_file(folder: Path) -> None:
    path = slice_files(folder)[60]
    content = path.read_bytes()
    path.unlink()
    path.write_bytes(content[: len(content) // 2])


def no_intercept(folder: Path) -> None:
    for path in slice_files(folder):
        change(path, RescaleIntercept="0")


def no_rescale(folder: Path) -> None:
    for path in slice_files(folder):
        change(path, RescaleIntercept=None, RescaleSlope=None)


def double_slope(folder: Path) -> None:
    for path in slice_files(folder):
        change(path, RescaleSlope="2")


def one_slice_without_intercept(folder: Path) -> None:
    change(slice_files(folder)[60], RescaleIntercept="0")


def no_position(folder: Path) -> None:
    change(slice_files(folder)[60], ImagePositionPatient=None)


def small(folder: Path) -> None:
    for path in slice_files(folder):
        pixels = pydicom.dcmread(path).pixel_array[::2, ::2].astype("<i2")
        change(
            path,
            PixelData=pixels.tobytes(),
            Rows=256,
            Columns=256,
            PixelSpacing=[1.40625, 1.40625],
        )


def thick(folder: Path) -> None:
    for path in slice_files(folder):
        change(path, SliceThickness="5")


def narrow_field(folder: Path) -> None:
    """The middle half of the field of view, enlarged to the whole matrix."""
    for path in slice_files(folder):
        middle = pydicom.dcmread(path).pixel_array[128:384, 128:384]
        pixels = np.repeat(np.repeat(middle, 2, axis=0), 2, axis=1).astype("<i2")
        change(
            path,
            PixelData=pixels.tobytes(),
            PixelSpacing=[0.3515625, 0.3515625],
            ReconstructionDiameter="180",
        )


def fill_lungs(folder: Path) -> None:
    """Tissue instead of lung: what is left is a body without lungs."""
    from scipy import ndimage

    for path in slice_files(folder):
        data = pydicom.dcmread(path)
        pixels = data.pixel_array.copy()
        labels, _ = ndimage.label(pixels < 700)
        outside = np.unique(np.concatenate([labels[0], labels[-1], labels[:, 0], labels[:, -1]]))
        pixels[(pixels < 700) & ~np.isin(labels, outside)] = 1060
        change(path, PixelData=pixels.astype("<i2").tobytes())


IN_SOME_SLICES: dict[Callable[[Path], None], str] = {
    remove_slice: "missing_slice",
    remove_three_places: "missing_slice",
    remove_every_second: "missing_slice",
    remove_lower_lungs: "cut_lungs",
    remove_upper_lungs: "cut_lungs",
    copy_a_slice: "duplicate_slice",
    copy_a_slice_under_another_uid: "duplicate_slice",
    same_pixels_at_two_places: "duplicate_slice",
    swap_pixels_far_apart: "slice_out_of_place",
    swap_pixels_of_neighbours: "slice_out_of_place",
    move_a_slice: "uneven_spacing",
    one_other_pixel_size: "inconsistent_pixels",
    one_other_orientation: "inconsistent_orientation",
    cut_pixels_in_the_header: "truncated_pixels",
    cut_off_file: "truncated_pixels",
    one_slice_without_intercept: "slice_out_of_place",
    no_position: "no_geometry",
    thick: "thick_slices",
}
IN_EVERY_SLICE: dict[Callable[[Path], None], str] = {
    wrong_spacing_in_the_header: "contradicting_spacing",
    every_other_pixel_size: "inconsistent_pixels",
    wrong_modality: "not_ct",
    localizers: "localizer",
    secondary: "secondary_capture",
    coronal: "not_axial",
    tilted: "gantry_tilt",
    tilt_in_the_header: "gantry_tilt",
    no_intercept: "wrong_rescale",
    no_rescale: "wrong_rescale",
    double_slope: "wrong_rescale",
    small: "small_matrix",
    narrow_field: "cut_lungs",
    fill_lungs: "not_chest",
}
HALF = Limits(largest_thickness_mm=5.0)


@pytest.mark.parametrize(
    ("defect", "code"),
    IN_SOME_SLICES.items(),
    ids=[in_some_slice.__name__ for in_some_slice in IN_SOME_SLICES],
)
def test_every_defect_put_into_a_real_scan_decides_by_its_code(
    scan: Path, defect: Callable[[Path], None], code: str
) -> None:
    defect(scan)
    (series,), others = examined(scan)
    assert codes(series)[0] == code
    assert others == []


@pytest.mark.parametrize(
    ("defect", "code"), IN_EVERY_SLICE.items(), ids=[defect.__name__ for defect in IN_EVERY_SLICE]
)
def test_every_defect_of_all_slices_decides_by_its_code(
    half_scan: Path, defect: Callable[[Path], None], code: str
) -> None:
    defect(half_scan)
    (series,), others = examined(half_scan, HALF)
    assert codes(series)[0] == code
    assert others == []


def test_the_half_scan_without_defect_is_admitted(half_scan: Path) -> None:
    (series,), _ = examined(half_scan, HALF)
    assert codes(series) == []


def test_the_scan_without_defect_is_admitted(scan: Path) -> None:
    (series,), others = examined(scan)
    assert codes(series) == []
    assert others == []
    assert series.pixel_sha256 == digests()[series.uid]


def test_names_of_files_do_not_matter(scan: Path) -> None:
    """Two files swap their names, and all lose their endings in nested folders."""
    files = slice_files(scan)
    for number, path in enumerate(reversed(files)):
        place = scan / f"part{number % 3}" / f"IM{(number * 61) % 133:05d}"
        place.parent.mkdir(exist_ok=True)
        path.rename(place)
    (series,), _ = examined(scan)
    assert codes(series) == []
    places = [pydicom.dcmread(path, stop_before_pixels=True) for path in series.files]
    heights = [float(data.ImagePositionPatient[2]) for data in places]
    assert heights == sorted(heights)


def test_a_slice_of_another_modality_is_taken_out_and_missed(scan: Path) -> None:
    one_wrong_modality(scan)
    first_codes = {series.modality: codes(series)[0] for series in examined(scan)[0]}
    assert first_codes == {"CT": "missing_slice", "PT": "not_ct"}


def test_an_unreadable_file_is_reported_and_missed(scan: Path) -> None:
    path = slice_files(scan)[60]
    path.unlink()
    path.write_bytes(b"\0" * 128 + b"DICM" + b"\xff" * 5000)
    (series,), (other,) = examined(scan)
    assert codes(series)[0] == "missing_slice"
    assert other.is_damaged


def test_a_slice_of_another_patient_is_out_of_place(scan: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(DATA / "LIDC-IDRI-0003.zip") as packed:
        packed.extract("LIDC-IDRI-0003/0070.dcm", tmp_path)
    other = pydicom.dcmread(tmp_path / "LIDC-IDRI-0003" / "0070.dcm")
    other.decompress(generate_instance_uid=False)
    path = slice_files(scan)[60]
    change(path, PixelData=other.PixelData)
    (series,), _ = examined(scan)
    assert codes(series) == ["slice_out_of_place"]
    assert series.reasons[0].files == (str(path),)


def test_several_defects_are_all_reported(scan: Path) -> None:
    remove_slice(scan)
    thick(scan)
    cut_off_file(scan)
    (series,), _ = examined(scan)
    assert codes(series) == ["truncated_pixels", "missing_slice", "thick_slices"]


def test_a_second_copy_is_excluded_and_the_first_stays(scan: Path, tmp_path: Path) -> None:
    whole = tmp_path / "archive"
    whole.mkdir()
    shutil.move(scan, whole / "a")
    shutil.copytree(whole / "a", whole / "b", copy_function=os.link)
    renamed, series = whole / "c", generate_uid()
    shutil.copytree(whole / "a", renamed)
    for path in slice_files(renamed):
        change(path, SeriesInstanceUID=series, SOPInstanceUID=generate_uid())
    result = curate(whole, tmp_path / "out", executor=LocalExecutor(1))
    assert [codes(series)[:1] for series in result.series] == [
        [],
        ["duplicate_uid"],
        ["duplicate_pixels"],
    ]


def test_a_compressed_scan_is_admitted_and_its_digest_agrees(tmp_path: Path) -> None:
    """Compressed files as they are, and a report next to them."""
    with zipfile.ZipFile(DATA / f"{COMPRESSED}.zip") as packed:
        packed.extractall(tmp_path / "scans")
    result = curate(tmp_path / "scans", tmp_path / "out")
    (admitted,) = result.admitted
    assert admitted.pixel_sha256 == digests()[admitted.uid]
    assert [codes(series) for series in result.series if not series.is_admitted] == [["not_ct"]]
    assert result.other_files == ()


def test_the_original_uncompressed_slices_have_the_pixels_of_the_compressed(
    tmp_path: Path,
) -> None:
    for name in ("LIDC-IDRI-0001_original_6slices", "LIDC-IDRI-0001"):
        with zipfile.ZipFile(DATA / f"{name}.zip") as packed:
            wanted = [name for name in packed.namelist() if "0088" <= Path(name).stem <= "0093"]
            packed.extractall(tmp_path / name, wanted)
    digests = [examined(path)[0][0].pixel_sha256 for path in sorted(tmp_path.iterdir())]
    assert digests[0] == digests[1] != ""
    assert (
        pydicom.dcmread(
            next((tmp_path / "LIDC-IDRI-0001_original_6slices").rglob("*.dcm"))
        ).file_meta.TransferSyntaxUID
        == ExplicitVRLittleEndian
    )
