"""What is written holds nothing that identifies; what is needed stays; the picture is untouched."""

import re
from pathlib import Path

import numpy as np
import pydicom
import pytest
from pydicom.dataset import Dataset

from builders.identified_slice import (
    DATE,
    NAME,
    PATIENT,
    ROOT,
    SECRETS,
    identified_slice,
    write_slice,
)
from nodulebench.core.notices import Notice
from nodulebench.curation.deidentify.check import leftovers, words_in
from nodulebench.curation.deidentify.identity import Pseudonyms, identity_of
from nodulebench.curation.deidentify.profile import ACTIONS
from nodulebench.curation.deidentify.service import check_file, deidentify_file
from nodulebench.i18n.translator import in_english

KEYED = Pseudonyms(bytes(range(32)))


def cleaned(tmp_path: Path, data: Dataset | None = None, key: Pseudonyms = KEYED) -> Path:
    path = write_slice(data or identified_slice(), tmp_path / "in" / f"{NAME}.dcm")
    outcome = deidentify_file(path, tmp_path / "out", key)
    assert outcome.refused is None
    return tmp_path / "out" / outcome.written


def test_no_identifying_word_is_left_anywhere_in_the_file(tmp_path: Path) -> None:
    path = cleaned(tmp_path)
    content = path.read_bytes().lower()
    for word in (*SECRETS, DATE, ROOT, "localscheme", "baker", "anxious"):
        assert word.encode() not in content, word
    assert NAME not in str(path.relative_to(tmp_path / "out"))


def test_the_picture_is_the_same_byte_for_byte(tmp_path: Path) -> None:
    original = identified_slice()
    assert pydicom.dcmread(cleaned(tmp_path)).PixelData == original.PixelData


def test_what_a_test_set_needs_stays(tmp_path: Path) -> None:
    data = pydicom.dcmread(cleaned(tmp_path))
    assert (data.Manufacturer, data.ManufacturerModelName) == ("SIEMENS", "Sensation 16")
    assert (data.ConvolutionKernel, data.KVP, data.SliceThickness) == ("B30f", 120, 1)
    assert (data.PatientSex, data.PatientWeight) == ("M", 71)
    assert data.ImagePositionPatient == [0, 0, 1]
    assert data.StudyDescription == "CT THORAX LOW DOSE 1.5MM"
    assert data.SeriesDescription == "CHEST B30F"
    assert data.ProtocolName == "LUNG"
    reference = data.ReferencedImageSequence[0]
    assert reference.ReferencedSOPInstanceUID == KEYED.uid(f"{ROOT}3.77")
    assert reference.PurposeOfReferenceCodeSequence[0].CodeMeaning == "Localizer"


def test_the_header_declares_what_was_done(tmp_path: Path) -> None:
    data = pydicom.dcmread(cleaned(tmp_path))
    assert data.PatientIdentityRemoved == "YES"
    assert data.LongitudinalTemporalInformationModified == "MODIFIED"
    codes = [item.CodeValue for item in data.DeidentificationMethodCodeSequence]
    assert codes == ["113100", "113105", "113107", "113108"]


def test_an_age_above_ninety_is_ninety(tmp_path: Path) -> None:
    assert pydicom.dcmread(cleaned(tmp_path)).PatientAge == "090Y"


def test_type_2_attributes_stay_empty_and_type_3_ones_go(tmp_path: Path) -> None:
    data = pydicom.dcmread(cleaned(tmp_path))
    for name in ("AccessionNumber", "ReferringPhysicianName", "PatientBirthDate", "StudyID"):
        assert name in data
        assert not data[name].value, name
    for name in ("InstitutionName", "OperatorsName", "StationName", "DeviceSerialNumber"):
        assert name not in data, name


def test_enhanced_ct_keeps_a_dummy_where_it_must_have_a_value(tmp_path: Path) -> None:
    data = identified_slice()
    data.SOPClassUID = "1.2.840.10008.5.1.4.1.1.2.1"
    data.file_meta.MediaStorageSOPClassUID = data.SOPClassUID
    data.NumberOfFrames = 1
    assert pydicom.dcmread(cleaned(tmp_path, data)).DeviceSerialNumber == "REMOVED"


def test_slices_of_a_patient_stay_together_and_intervals_stay(tmp_path: Path) -> None:
    first = pydicom.dcmread(cleaned(tmp_path, identified_slice(1)))
    second = pydicom.dcmread(cleaned(tmp_path, identified_slice(2)))
    later = pydicom.dcmread(cleaned(tmp_path, identified_slice(3, date="20210401")))
    other = pydicom.dcmread(cleaned(tmp_path, identified_slice(4, patient="OTHER-1")))
    assert first.PatientID == second.PatientID == later.PatientID != other.PatientID
    assert first.SeriesInstanceUID == second.SeriesInstanceUID != later.SeriesInstanceUID
    assert first.SOPInstanceUID != second.SOPInstanceUID
    days = [np.datetime64(f"{d[:4]}-{d[4:6]}-{d[6:]}") for d in (first.StudyDate, later.StudyDate)]
    assert days[1] - days[0] == np.timedelta64(15, "D")
    assert first.StudyDate != DATE
    assert first.AcquisitionDateTime == first.StudyDate + "101500.25"  # no time zone
    assert first.StudyTime == "101500"


def test_another_key_gives_other_pseudonyms(tmp_path: Path) -> None:
    dataset = pydicom.dcmread(cleaned(tmp_path))
    two = pydicom.dcmread(cleaned(tmp_path, key=Pseudonyms(bytes(32), "SITE7")))
    assert dataset.SOPInstanceUID != two.SOPInstanceUID
    assert dataset.PatientID != two.PatientID
    assert re.fullmatch(r"SITE7-[0-9A-F]{10}", two.PatientID)


def test_new_uids_are_valid_and_those_of_the_standard_stay() -> None:
    made = KEYED.uid("1.2.3")
    assert re.fullmatch(r"2\.25\.[1-9]\d{0,38}", made)
    assert len(made) <= 64
    assert KEYED.uid("1.2.840.10008.5.1.4.1.1.2") == "1.2.840.10008.5.1.4.1.1.2"
    assert "Pseudonyms(prefix='P')" in repr(KEYED)


@pytest.mark.parametrize(
    "surname", ["Long", "Basic", "Sharp", "Mono", "Plus", "Retain", "Temporal", "Original"]
)
def test_a_patient_whose_name_is_a_common_word_is_cleaned_too(tmp_path: Path, surname: str) -> None:
    data = identified_slice()
    data.PatientName = f"{surname}^Ann"
    data.ManufacturerModelName = "LightSpeed Plus"
    data.SeriesDescription = "CHEST SHARP"
    made = pydicom.dcmread(cleaned(tmp_path, data))
    assert made.PhotometricInterpretation == "MONOCHROME2"
    assert made.ImageType == ["ORIGINAL", "PRIMARY", "AXIAL"]
    assert ("ManufacturerModelName" in made) == (surname != "Plus")
    assert made.SeriesDescription == ("CHEST" if surname == "Sharp" else "CHEST SHARP")


@pytest.mark.parametrize("charset", ["ISO_IR 192", "GB18030"])
def test_names_in_other_scripts_are_found_too(tmp_path: Path, charset: str) -> None:
    data = identified_slice()
    data.SpecificCharacterSet = charset
    data.PatientName = "Wang^XiaoMing=王^小明"
    data.ConvolutionKernel = "小明的核"
    path = cleaned(tmp_path, data)
    made = pydicom.dcmread(path)
    assert "ConvolutionKernel" not in made
    for encoding in ("utf-8", "gb18030"):
        assert "小明".encode(encoding) not in path.read_bytes()
    made.Manufacturer = "小明"
    pydicom.dcmwrite(path, made, enforce_file_format=True)
    identity = identity_of(data)
    assert "小明" in identity.words
    assert any(
        "(0008,0070) Manufacturer" in in_english(leftover) for leftover in leftovers(made, identity)
    )
    assert words_in(path.read_bytes(), identity) == [Notice("left_word_in_bytes", {"word": "小明"})]


def test_the_table_has_the_actions_of_the_standard() -> None:
    # DICOM PS3.15 2026c table E.1-1, basic profile
    expected = {
        0x00080050: "Z",  # Accession Number
        0x00080080: "X/Z/D",  # Institution Name
        0x00080090: "Z",  # Referring Physician's Name
        0x00080018: "U",  # SOP Instance UID
        0x00080022: "X/Z",  # Acquisition Date
        0x0008002A: "X/Z/D",  # Acquisition DateTime
        0x00081140: "X/Z/U*",  # Referenced Image Sequence
        0x00100010: "Z",  # Patient's Name
        0x00100030: "Z",  # Patient's Birth Date
        0x00101010: "X",  # Patient's Age
        0x00120010: "D",  # Clinical Trial Sponsor Name
        0x00180010: "Z/D",  # Contrast/Bolus Agent
        0x00181000: "X/Z/D",  # Device Serial Number
        0x00181030: "X/D",  # Protocol Name
        0x00184000: "X",  # Acquisition Comments
        0x0020000D: "U",  # Study Instance UID
        0x0040A730: "D",  # Content Sequence
        0xFFFAFFFA: "X",  # Digital Signatures Sequence
    }
    assert {tag: ACTIONS[tag] for tag in expected} == expected
    assert len(ACTIONS) == 652


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (
            lambda d: setattr(d, "BurnedInAnnotation", "YES"),
            "its header states that text is burned",
        ),
        (
            lambda d: setattr(d, "ImageType", ["DERIVED", "SECONDARY"]),
            "it is not an original image",
        ),
        (
            lambda d: setattr(d, "SOPClassUID", "1.2.840.10008.5.1.4.1.1.88.34"),
            "is not a CT image (class 1.2.840.10008.5.1.4.1.1.88.34)",
        ),
        (lambda d: delattr(d, "PixelData"), "has no pixels"),
        (lambda d: delattr(d, "SeriesInstanceUID"), "has no UIDs"),
    ],
)
def test_what_cannot_be_cleaned_is_left_out_with_the_reason(
    tmp_path: Path, change: object, reason: str
) -> None:
    data = identified_slice()
    change(data)  # type: ignore[operator]
    path = write_slice(data, tmp_path / "in.dcm")
    outcome = deidentify_file(path, tmp_path / "out", KEYED)
    assert outcome.refused is not None
    assert in_english(outcome.refused).startswith(reason)
    assert not (tmp_path / "out").exists()


def test_a_file_that_is_damaged_or_no_dicom_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("hello")
    assert deidentify_file(path, tmp_path / "out", KEYED).refused == Notice("not_dicom")
    whole = write_slice(identified_slice(), tmp_path / "whole.dcm").read_bytes()
    for length in range(132, len(whole), 97):
        path.write_bytes(whole[:length])
        outcome = deidentify_file(path, tmp_path / "out", KEYED)
        assert outcome.refused, length


@pytest.mark.slow
def test_a_file_changed_at_any_byte_is_cleaned_or_left_out_but_never_leaks(tmp_path: Path) -> None:
    whole = write_slice(identified_slice(), tmp_path / "whole.dcm").read_bytes()
    header = whole.index(b"\xe0\x7f\x10\x00")
    random = np.random.default_rng(8)
    path = tmp_path / "changed.dcm"
    written = 0
    for place in random.integers(132, header, 300):
        changed = bytearray(whole)
        changed[place] ^= int(random.integers(1, 256))
        path.write_bytes(bytes(changed))
        outcome = deidentify_file(path, tmp_path / "out", KEYED, has_pixel_check=False)
        if outcome.written:
            written += 1
            content = (tmp_path / "out" / outcome.written).read_bytes().lower()
            for word in (b"mercyfield", b"ottilie", b"quentin", b"zacharias", b"19480229"):
                assert word not in content, (place, word)
    assert written > 100


LEFT: list[tuple[str, object, str]] = [
    (
        "name",
        lambda d: setattr(d, "PatientName", "Smith^J"),
        "(0010,0010) PatientName is not a pseu",
    ),
    (
        "private",
        lambda d: d.private_block(0x11, "X", create=True).add_new(1, "LO", "y"),
        "(0011,0010) is private",
    ),
    ("overlay", lambda d: d.add_new(0x60003000, "OW", b"ab"), "(6000,3000) is a curve or an over"),
    (
        "institution",
        lambda d: setattr(d, "InstitutionName", "X"),
        "(0008,0080) InstitutionName must be removed or emptied under the profile",
    ),
    (
        "comment",
        lambda d: setattr(d, "ImageComments", "X"),
        "(0020,4000) ImageComments must be removed or emptied under the profile",
    ),
    ("uid", lambda d: setattr(d, "FrameOfReferenceUID", "1.2.3"), "is a UID of the manufacturer"),
    (
        "descriptor",
        lambda d: setattr(d, "SeriesDescription", "CHEST SMITH"),
        "(0008,103E) SeriesDescription contains words that are not known to be harmless",
    ),
    ("age", lambda d: setattr(d, "PatientAge", "095Y"), "PatientAge is above 90 years"),
    ("flag", lambda d: delattr(d, "PatientIdentityRemoved"), "PatientIdentityRemoved is not YES"),
    (
        "bytes",
        lambda d: d.add_new(0x00420011, "OB", b"%PDF"),
        "EncapsulatedDocument contains bytes of unknown meaning",
    ),
    (
        "text",
        lambda d: setattr(d, "PulseSequenceName", "X"),
        "PulseSequenceName is text that has not been reviewed",
    ),
    ("unknown", lambda d: d.add_new(0x00091001, "UN", b"x"), "(0009,1001) is private"),
    (
        "nested",
        lambda d: setattr(d.ReferencedImageSequence[0], "PatientName", "Smith"),
        "ReferencedImageSequence item 1 (0010,0010) PatientName is not a pseudonym",
    ),
    (
        "sequence",
        lambda d: setattr(d, "RequestAttributesSequence", [Dataset.from_json({})]),
        "RequestAttributesSequence is a sequence that the profile requires to be removed",
    ),
    ("preamble", lambda d: setattr(d, "preamble", b"x" * 128), "the preamble of the file is not"),
    (
        "meta",
        lambda d: setattr(d.file_meta, "SourceApplicationEntityTitle", "X"),
        "file meta information contains SourceApplicationEntityTitle",
    ),
]


@pytest.mark.parametrize(("change", "message"), [row[1:] for row in LEFT], ids=[o[0] for o in LEFT])
def test_the_check_finds_what_is_left(tmp_path: Path, change: object, message: str) -> None:
    path = cleaned(tmp_path)
    assert check_file(path) == []
    data = pydicom.dcmread(path)
    change(data)  # type: ignore[operator]
    pydicom.dcmwrite(path, data, enforce_file_format=True)
    notices = check_file(path)
    assert len(notices) >= 1
    assert any(message in in_english(notice) for notice in notices), notices


def test_the_originals_are_found_to_identify(tmp_path: Path) -> None:
    notices = check_file(write_slice(identified_slice(), tmp_path / "in.dcm"))
    assert len(notices) > 25
    named = " ".join(map(in_english, notices))
    assert PATIENT not in named  # the report itself identifies no one
    for name in ("PatientBirthDate", "InstitutionName", "is private", "StudyInstanceUID"):
        assert name in named
