from pathlib import Path

import pydicom
from pydicom.dataset import Dataset, FileDataset, FileMetaDataset
from pydicom.uid import ExplicitVRLittleEndian

from nodulebench.io.dicom.sr_content import DOSE_REPORT_STORAGE, dose_events


def item(code: str, *children: Dataset, uid: str = "", value: float | None = None) -> Dataset:
    """One item of a report."""
    one, name = Dataset(), Dataset()
    name.CodeValue, name.CodingSchemeDesignator, name.CodeMeaning = code, "DCM", "x"
    one.ConceptNameCodeSequence = [name]
    one.ValueType = "CONTAINER"
    if uid:
        one.ValueType, one.UID = "UIDREF", uid
    if value is not None:
        one.ValueType, measured = "NUM", Dataset()
        measured.NumericValue = value
        one.MeasuredValueSequence = [measured]
    if children:
        one.ContentSequence = list(children)
    return one


def write_report(path: Path, *content: Dataset, sop_class: str = DOSE_REPORT_STORAGE) -> Path:
    meta = FileMetaDataset()
    meta.TransferSyntaxUID = ExplicitVRLittleEndian
    meta.MediaStorageSOPClassUID, meta.MediaStorageSOPInstanceUID = sop_class, "1.2.3"
    data = FileDataset(str(path), {}, file_meta=meta, preamble=b"\0" * 128)
    data.SOPClassUID, data.SOPInstanceUID, data.Modality = sop_class, "1.2.3", "SR"
    data.SeriesInstanceUID, data.StudyInstanceUID = "1.2.4", "1.2.5"
    data.ContentSequence = list(content)
    pydicom.dcmwrite(path, data, enforce_file_format=True)
    return path


ACQUISITIONS = (
    item("113819", item("113769", uid="1.9.1"), item("113820")),  # a scout without dose
    item(
        "113819",
        item("113769", uid="1.9.2"),
        item("113829", item("113830", value=4.5), item("113838", value=162.0)),
    ),
    item("113819", item("113769", uid="1.9.3"), item("113829", item("113830", value=1.0))),
)


def test_every_irradiation_has_its_dose(tmp_path: Path) -> None:
    path = write_report(tmp_path / "dose.dcm", *ACQUISITIONS)
    assert dose_events(path) == {"1.9.2": (4.5, 162.0), "1.9.3": (1.0, None)}


def test_other_and_damaged_reports_tell_nothing(tmp_path: Path) -> None:
    other = "1.2.840.10008.5.1.4.1.1.88.33"
    path = write_report(tmp_path / "other.dcm", *ACQUISITIONS, sop_class=other)
    assert dose_events(path) == {}
    path.write_bytes(path.read_bytes()[:300])
    assert dose_events(path) == {}
    assert dose_events(tmp_path / "absent.dcm") == {}
