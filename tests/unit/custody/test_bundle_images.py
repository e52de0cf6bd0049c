"""Which image belongs to which case, in the layouts that curate, deidentify and archives have."""

from pathlib import Path

import pytest

from builders.dicom import write_series
from nodulebench.core.errors import InputError
from nodulebench.custody.bundle import images_in

pytest.importorskip("pydicom")


def names(folder: Path, *cases: str) -> dict[str, str]:
    return {file.name: file.case_id for file in images_in(folder, cases).files}


def test_a_folder_on_the_way_names_the_case_as_deidentify_lays_it_out(tmp_path: Path) -> None:
    for name in ("P-1/2.25.7/a.dcm", "P-1/2.25.8/a.dcm"):
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).write_bytes(b"image")
    images = names(tmp_path, "2.25.7", "2.25.8")
    assert images == {"2.25.7/a.dcm": "2.25.7", "2.25.8/a.dcm": "2.25.8"}


def test_slices_of_an_archive_are_found_by_their_headers_and_others_passed_over(
    tmp_path: Path,
) -> None:
    wanted = write_series(tmp_path / "one" / "IMAGES", "wanted")
    write_series(tmp_path / "two" / "IMAGES", "other")
    images = images_in(tmp_path, [wanted])
    assert {file.case_id for file in images.files} == {wanted}
    assert sorted(file.name for file in images.files)[0] == f"{wanted}/0001.dcm"
    assert (len(images.files), images.passed_over) == (12, 12)


def test_a_header_without_a_name_and_a_name_without_a_header_go_together(tmp_path: Path) -> None:
    uid = write_series(tmp_path / "any")
    (tmp_path / "scan0.mhd").write_bytes(b"x")
    assert set(names(tmp_path, uid, "scan0").values()) == {uid, "scan0"}


def test_two_files_for_one_path_are_refused(tmp_path: Path) -> None:
    for site in ("a", "b"):
        (tmp_path / site).mkdir()
        (tmp_path / site / "scan0.mhd").write_bytes(b"x")
    with pytest.raises(InputError, match=r"would be images/scan0\.mhd, like another") as caught:
        images_in(tmp_path, ["scan0"])
    assert len(caught.value.problems) == 2
