import numpy as np
import pytest

from nodulebench.core.errors import InputError
from nodulebench.curation.header_facts import vendor_of
from nodulebench.io import bundle
from nodulebench.io.dicom import volumes as dicom_volume
from nodulebench.io.images import metaimage, nifti
from nodulebench.io.marks import luna16 as luna16_csv
from nodulebench.io.marks import nifdc as nifdc_csv
from nodulebench.phantom.scanner import VENDORS, random_scanner
from nodulebench.phantom.test_set import ScanPlan, make_cases, write_test_set

pytestmark = pytest.mark.slow

pytest.importorskip("pydicom")
pytest.importorskip("SimpleITK")


SEED = 17
"""Leaves slices of 2.5 mm to chance, and gives nodules of all sizes."""
THICK = ScanPlan(slice_thickness_mm=7.0, exposure_mas=20.0)


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    folder = tmp_path_factory.mktemp("phantoms") / "set"
    cases = list(make_cases(1, SEED, matrix=128, has_follow_up=True))
    lines = []
    reference = write_test_set(
        folder,
        iter(cases),
        image_formats=("metaimage", "dicom", "nifti"),
        progress=lambda what, *_: lines.append(what),
    )
    return folder, cases, reference, lines


@pytest.fixture(scope="module")
def thick():
    """The first patient again, scanned in few slices."""
    (case,) = make_cases(1, SEED, matrix=64, scan_plan=THICK)
    return case


@pytest.fixture(scope="module")
def clinical():
    """The same patient as one of a clinic."""
    (case,) = make_cases(1, SEED, matrix=64, scan_plan=THICK, people="clinical")
    return case


def test_all_image_formats_hold_the_same_scan(written):
    folder, cases, _, _ = written
    for case in cases:
        images = folder / "images"
        for volume in (
            metaimage.read_volume(images / f"{case.case_id}.mhd"),
            dicom_volume.read_volume(images / case.case_id),
            nifti.read_volume(images / f"{case.case_id}.nii.gz"),
        ):
            expected = case.scan.volume
            assert np.array_equal(volume.hu, expected.hu)
            assert np.allclose(volume.geometry.origin_mm, expected.geometry.origin_mm, atol=1e-4)
            assert np.allclose(volume.geometry.spacing_mm, expected.geometry.spacing_mm, atol=1e-6)


def test_the_truth_is_the_same_in_all_three_formats(written):
    folder, _, reference, _ = written
    by_bundle = bundle.read_reference(folder)
    by_luna16 = luna16_csv.read_reference(folder / "luna16")
    by_nifdc = nifdc_csv.read_reference(folder / "nifdc.csv", by_bundle.cases)
    assert by_bundle.nodules.equals(reference.nodules)
    assert by_bundle.slices.equals(reference.slices)
    for other in (by_luna16, by_nifdc):
        assert other.cases["case_id"].to_list() == reference.cases["case_id"].to_list()
        assert other.nodules["case_id"].to_list() == reference.nodules["case_id"].to_list()
    assert np.allclose(by_luna16.nodules["diameter_mm"], reference.nodules["diameter_mm"])
    assert by_nifdc.nodules["type"].to_list() == reference.nodules["type"].to_list()


def test_masks_and_truth_agree_on_volume(written):
    folder, cases, reference, _ = written
    compared = 0
    for case in cases:
        labels = metaimage.read_volume(folder / "masks" / f"{case.case_id}_nodules.mhd")
        rows = reference.nodules.filter(reference.nodules["case_id"] == case.case_id)
        for number, volume_mm3 in enumerate(rows["volume_mm3"], start=1):
            if volume_mm3 > 60 * labels.voxel_mm3:
                counted = np.count_nonzero(labels.hu == number) * labels.voxel_mm3
                assert counted == pytest.approx(volume_mm3, rel=0.2)
                compared += 1
        lungs = metaimage.read_volume(folder / "masks" / f"{case.case_id}_lungs.mhd")
        assert np.array_equal(lungs.hu, case.scan.lungs)
    assert compared >= 2


def test_a_follow_up_is_of_the_same_patient_with_known_growth(written):
    _, cases, reference, _ = written
    assert reference.cases["patient_id"].n_unique() == 1
    assert reference.cases["days"].to_list()[0] == 0
    assert 90 <= reference.cases["days"].to_list()[1] < 400
    first, second = (case.scan.nodules for case in cases)
    assert [nodule.nodule_id for nodule in first] == [nodule.nodule_id for nodule in second]
    ratios = reference.nodules.filter(reference.nodules["case_id"] == cases[1].case_id)
    for before, after, ratio in zip(first, second, ratios["volume_ratio"], strict=True):
        assert after.shape.volume_mm3 / before.shape.volume_mm3 == pytest.approx(ratio)


def test_progress_names_each_scan(written):
    _, cases, _, lines = written
    assert [line.split(":")[0] for line in lines] == [case.case_id for case in cases]


def test_the_same_seed_writes_the_same_bytes(tmp_path, thick):
    write_test_set(tmp_path / "one", [thick])
    write_test_set(tmp_path / "again", make_cases(1, SEED, matrix=64, scan_plan=THICK))
    for name in ("images/phantom-0001.zraw", "images/phantom-0001.mhd", "nifdc.csv"):
        assert (tmp_path / "again" / name).read_bytes() == (tmp_path / "one" / name).read_bytes()


def test_a_run_that_breaks_off_leaves_the_older_set_as_it_was(tmp_path, thick, clinical):
    folder = tmp_path / "set"
    write_test_set(folder, [thick])
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}

    def broken(*_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_test_set(folder, [clinical], progress=broken)
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


def test_an_unknown_image_format_is_refused(tmp_path):
    with pytest.raises(InputError, match="image format: 'png' is not one of metaimage, dicom"):
        write_test_set(tmp_path / "set", iter(()), image_formats=("png",))


def test_vendors_have_the_names_that_curation_reads_from_their_headers():
    assert [vendor_of(vendor.manufacturer) for vendor in VENDORS] == [
        vendor.name for vendor in VENDORS
    ]


def test_every_vendor_names_every_kernel():
    for vendor in VENDORS:
        assert set(vendor.kernels) == {"smooth", "standard", "sharp", "edge"}


def test_random_scanners_are_of_all_vendors():
    random = np.random.default_rng(0)
    drawn = [random_scanner(random) for _ in range(60)]
    assert {vendor.name for vendor, _ in drawn} == {vendor.name for vendor in VENDORS}
    assert {scanner.kernel for _, scanner in drawn} == {"smooth", "standard", "sharp", "edge"}
    for vendor, scanner in drawn:
        assert scanner.padding_hu == vendor.padding_hu


def test_a_scan_plan_sets_what_it_names_and_leaves_the_rest_to_chance(written, thick):
    free = written[1][0]
    assert (thick.scanner.slice_thickness_mm, thick.scanner.slice_spacing_mm) == (7.0, 7.0)
    assert (thick.scanner.exposure_mas, thick.header.exposure_mas) == (20.0, 20)
    assert thick.header.slice_thickness_mm == 7.0
    assert thick.scan.volume.geometry.spacing_mm[2] == 7.0
    assert (thick.scanner.kernel, thick.vendor) == (free.scanner.kernel, free.vendor)
    assert thick.patient.chest == free.patient.chest
    assert free.scanner.slice_thickness_mm == 2.5
    assert free.scanner.exposure_mas != 20.0


def test_people_of_a_clinic_have_what_the_table_of_cases_says(tmp_path, thick, clinical):
    row = write_test_set(tmp_path, [clinical], has_masks=False).cases.row(0, named=True)
    condition = clinical.patient.condition
    assert {name: row[name] for name in condition.columns()} == condition.columns()
    assert (clinical.scanner, clinical.vendor) == (thick.scanner, thick.vendor)
    assert clinical.patient.chest.half_width == thick.patient.chest.half_width
    assert not np.array_equal(clinical.scan.volume.hu[:10], thick.scan.volume.hu[:10])
