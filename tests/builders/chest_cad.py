"""A Chest CAD report (TID 4100) as products emit it, made item by item with pydicom."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from nodulebench.io.dicom.header import CT_IMAGE_STORAGE, uid_from
from nodulebench.io.dicom.series import Series

CHEST_CAD_SR = "1.2.840.10008.5.1.4.1.1.88.65"
DCM = {
    "report": ("112000", "Chest CAD Report"),
    "language": ("121049", "Language of Content Item and Descendants"),
    "library": ("111028", "Image Library"),
    "summary": ("111017", "CAD Processing and Findings Summary"),
    "composite": ("111015", "Composite Feature"),
    "composite modifier": ("112023", "Composite Feature Modifier"),
    "image finding": ("111059", "Single Image Finding"),
    "finding modifier": ("112024", "Single Image Finding Modifier"),
    "opacity": ("112033", "Abnormal opacity"),
    "non-lesion": ("111102", "Non-lesion"),
    "intent": ("111056", "Rendering Intent"),
    "required": ("111150", "Presentation Required: Rendering device is expected to present"),
    "optional": ("111151", "Presentation Optional: Rendering device may present"),
    "hidden": ("111152", "Not for Presentation: Rendering device expected not to present"),
    "operating point": ("111071", "CAD Operating Point"),
    "certainty of feature": ("111011", "Certainty of Feature"),
    "certainty": ("111012", "Certainty of Finding"),
    "center": ("111010", "Center"),
    "outline": ("111041", "Outline"),
    "tracking": ("112039", "Tracking Identifier"),
    "algorithm": ("111001", "Algorithm Name"),
    "version": ("111003", "Algorithm Version"),
    "with findings": ("111242", "All algorithms succeeded; with findings"),
    "without findings": ("111241", "All algorithms succeeded; without findings"),
    "nothing succeeded": ("111245", "No algorithms succeeded; without findings"),
    "not all": ("111244", "Not all algorithms succeeded; with findings"),
    "detections": ("111064", "Summary of Detections"),
    "analyses": ("111065", "Summary of Analyses"),
    "succeeded": ("111222", "Succeeded"),
    "failed": ("111223", "Partially Succeeded"),
    "not attempted": ("111225", "Not Attempted"),
}
NODULE = ("M-03010", "SRT", "Nodule")
"""As older products code it."""
DIAMETER = ("M-02550", "SRT", "Diameter")
Code = tuple[str, str, str]


def dcm(name: str) -> Code:
    value, meaning = DCM[name]
    return value, "DCM", meaning


def coded(code: Code) -> Any:
    from pydicom import Dataset

    item = Dataset()
    item.CodeValue, item.CodingSchemeDesignator, item.CodeMeaning = code
    return item


def item(relation: str, kind: str, name: Code | None, *children: Any, **elements: Any) -> Any:
    """A content item; elements are DICOM keywords."""
    from pydicom import Dataset

    data = Dataset()
    if relation:
        data.RelationshipType = relation
    data.ValueType = kind
    if name is not None:
        data.ConceptNameCodeSequence = [coded(name)]
    for keyword, value in elements.items():
        setattr(data, keyword, value)
    if children:
        data.ContentSequence = list(children)
    return data


def code(relation: str, name: Code, value: Code, *children: Any) -> Any:
    return item(relation, "CODE", name, *children, ConceptCodeSequence=[coded(value)])


def number(name: Code, value: float, unit: Code = ("%", "UCUM", "Percent")) -> Any:
    from pydicom import Dataset

    measured = Dataset()
    measured.NumericValue = str(value)
    measured.MeasurementUnitsCodeSequence = [coded(unit)]
    return item("HAS PROPERTIES", "NUM", name, MeasuredValueSequence=[measured])


def intent(name: str, operating_point: int | None = None) -> Any:
    points = []
    if operating_point is not None:
        scale = ("{1:5}", "UCUM", "range: 1:5")
        points = [number(dcm("operating point"), operating_point, scale)]
    return code("HAS CONCEPT MOD", dcm("intent"), dcm(name), *points)


def place(name: str, graphic: str, pixels: Sequence[float], image: int | Any) -> Any:
    """A SCOORD on an image: by reference to the image library's n-th image, or by value."""
    from pydicom import Dataset

    if isinstance(image, int):
        source = Dataset()
        source.RelationshipType = "SELECTED FROM"
        source.ReferencedContentItemIdentifier = [1, 2, image]
    else:
        source = image
    return item(
        "HAS PROPERTIES",
        "SCOORD",
        dcm(name),
        source,
        GraphicType=graphic,
        GraphicData=[float(value) for value in pixels],
    )


def image_item(relation: str, sop_uid: str) -> Any:
    from pydicom import Dataset

    reference = Dataset()
    reference.ReferencedSOPClassUID = CT_IMAGE_STORAGE
    reference.ReferencedSOPInstanceUID = sop_uid
    return item(relation, "IMAGE", None, ReferencedSOPSequence=[reference])


def finding(*children: Any, value: Code | None = None, shown: Any = None) -> Any:
    """A single image finding: an opacity that is a nodule, unless another value is given."""
    modifiers = [] if value else [code("HAS CONCEPT MOD", dcm("finding modifier"), NODULE)]
    algorithm = [
        item("HAS OBS CONTEXT", "TEXT", dcm("algorithm"), TextValue="LungScout"),
        item("HAS OBS CONTEXT", "TEXT", dcm("version"), TextValue="2.1"),
    ]
    return code(
        "INFERRED FROM",
        dcm("image finding"),
        value or dcm("opacity"),
        *modifiers,
        shown or intent("required"),
        *algorithm,
        *children,
    )


def composite(*children: Any, shown: Any = None, name: str = "") -> Any:
    tracking = [item("HAS OBS CONTEXT", "TEXT", dcm("tracking"), TextValue=name)] if name else []
    return code(
        "INFERRED FROM",
        dcm("composite"),
        dcm("opacity"),
        code("HAS CONCEPT MOD", dcm("composite modifier"), NODULE),
        shown or intent("required"),
        *tracking,
        *children,
    )


def cad_report(
    series: Series, *findings: Any, images: Sequence[int] = (), state: str = "with findings"
) -> Any:
    """A report on a series; its image library has these of its images."""
    from pydicom.dataset import Dataset, FileMetaDataset
    from pydicom.uid import ExplicitVRLittleEndian

    first = series.images[0]
    library = [image_item("CONTAINS", str(series.images[k].SOPInstanceUID)) for k in images]
    language = ("en-US", "RFC5646", "English (United States)")
    tree = item(
        "",
        "CONTAINER",
        dcm("report"),
        code("HAS CONCEPT MOD", dcm("language"), language),
        item("CONTAINS", "CONTAINER", dcm("library"), *library, ContinuityOfContent="SEPARATE"),
        code("CONTAINS", dcm("summary"), dcm(state), *findings),
        code("CONTAINS", dcm("detections"), dcm("succeeded")),
        code("CONTAINS", dcm("analyses"), dcm("not attempted")),
        ContinuityOfContent="SEPARATE",
    )
    data = Dataset()
    data.update(tree)
    for keyword in ("PatientID", "PatientName", "PatientBirthDate", "PatientSex"):
        setattr(data, keyword, first.get(keyword, ""))
    for keyword in ("StudyInstanceUID", "StudyDate", "StudyTime", "StudyID", "AccessionNumber"):
        setattr(data, keyword, first.get(keyword, ""))
    data.ReferringPhysicianName = ""
    data.SOPClassUID, data.SOPInstanceUID = CHEST_CAD_SR, uid_from("cad", series.uid)
    data.SeriesInstanceUID, data.Modality = uid_from("cad series", series.uid), "SR"
    data.SeriesNumber, data.InstanceNumber = 77, 1
    data.ReferencedPerformedProcedureStepSequence = []
    data.PerformedProcedureCodeSequence = []
    data.Manufacturer, data.ManufacturerModelName = "Example Medical", "LungScout Workstation"
    data.DeviceSerialNumber, data.SoftwareVersions = "17", "2.1"
    data.ContentDate, data.ContentTime = "20240102", "101500"
    data.CompletionFlag, data.VerificationFlag = "COMPLETE", "UNVERIFIED"
    data.CurrentRequestedProcedureEvidenceSequence = [evidence(series)]
    template = Dataset()
    template.MappingResource, template.TemplateIdentifier = "DCMR", "4100"
    data.ContentTemplateSequence = [template]
    data.file_meta = FileMetaDataset()
    data.file_meta.TransferSyntaxUID = ExplicitVRLittleEndian
    data.file_meta.MediaStorageSOPClassUID = CHEST_CAD_SR
    data.file_meta.MediaStorageSOPInstanceUID = data.SOPInstanceUID
    return data


def evidence(series: Series) -> Any:
    """All images of a series as evidence."""
    from pydicom import Dataset

    study, held = Dataset(), Dataset()
    held.SeriesInstanceUID = series.uid
    held.ReferencedSOPSequence = [
        image_item("", str(image.SOPInstanceUID)).ReferencedSOPSequence[0]
        for image in series.images
    ]
    study.StudyInstanceUID = series.images[0].StudyInstanceUID
    study.ReferencedSeriesSequence = [held]
    return study


def save(data: Any, path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    data.save_as(path, enforce_file_format=True)
    return path
