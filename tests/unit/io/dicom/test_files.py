"""Whether a path holds DICOM objects of some kind, judged by file headers."""

from pathlib import Path

import pytest

from builders.dicom import write_series
from nodulebench.io.dicom.files import files_of, holds_dicom, lacks_dicom
from nodulebench.io.dicom.header import CT_IMAGE_STORAGE
from nodulebench.io.format import probe_file

pytest.importorskip("pydicom")
REPORT = "1.2.840.10008.5.1.4.1.1.88.33"


def test_a_folder_holds_what_one_of_its_files_is(tmp_path: Path) -> None:
    write_series(tmp_path / "ct")
    (tmp_path / "ct" / "0000.dcm").write_bytes(bytes(128) + b"DICM and no more")
    assert holds_dicom(tmp_path, (CT_IMAGE_STORAGE,))
    assert not holds_dicom(tmp_path, (REPORT,))
    assert lacks_dicom(probe_file(tmp_path), (CT_IMAGE_STORAGE,), "CT image") == ""
    assert lacks_dicom(probe_file(tmp_path), (REPORT,), "report") == "no report"


def test_what_is_not_a_dicom_holds_none(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("hello")
    for path, why in (
        (tmp_path, "no DICOM file"),
        (tmp_path / "notes.txt", "not DICOM or a folder"),
    ):
        assert not holds_dicom(path, (CT_IMAGE_STORAGE,))
        assert lacks_dicom(probe_file(path), (CT_IMAGE_STORAGE,), "CT image") == why
    assert files_of(tmp_path) == files_of(tmp_path / "notes.txt") == [tmp_path / "notes.txt"]
