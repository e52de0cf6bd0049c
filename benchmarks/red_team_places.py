"""Places in a CT slice where an identity can hide, each with how it is put there.

A place takes a slice and a secret, a made-up name and number that are nowhere else, and gives the
bytes of a file. Names of attributes are DICOM keywords.
"""

import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from io import BytesIO
from typing import Any

import numpy as np
import pydicom
from pydicom.dataelem import RawDataElement
from pydicom.dataset import Dataset, FileMetaDataset
from pydicom.encaps import encapsulate, generate_frames
from pydicom.sequence import Sequence
from pydicom.tag import Tag
from pydicom.uid import UID, ExplicitVRLittleEndian

CT, ENHANCED_CT = "1.2.840.10008.5.1.4.1.1.2", "1.2.840.10008.5.1.4.1.1.2.1"
ROOT = "1.3.6.1.4.1.99999.7."
BINARY = {"FD": "<d", "FL": "<f", "OV": "<Q", "SL": "<l", "SS": "<h", "UL": "<L", "US": "<H"}


@dataclass(frozen=True, slots=True)
class Secret:
    """What is planted."""

    word: str
    number: str


@dataclass(frozen=True, slots=True)
class Place:
    """Where something is planted."""

    group: str
    name: str
    plant: Callable[[Dataset, Secret], bytes]


def plain_slice(number: int = 1, side: int = 96) -> Dataset:
    """A CT slice of a round body in air, with an ordinary header."""
    data = Dataset()
    data.file_meta = FileMetaDataset()
    data.file_meta.MediaStorageSOPClassUID = CT
    data.file_meta.MediaStorageSOPInstanceUID = f"{ROOT}3.{number}"
    data.file_meta.TransferSyntaxUID = ExplicitVRLittleEndian
    data.SpecificCharacterSet = "ISO_IR 192"
    data.SOPClassUID, data.SOPInstanceUID = CT, f"{ROOT}3.{number}"
    data.StudyInstanceUID, data.SeriesInstanceUID = f"{ROOT}1.1", f"{ROOT}2.1"
    data.FrameOfReferenceUID = f"{ROOT}4"
    data.PatientName, data.PatientID = "Ottilie^Mercy", "KX-5512907"
    data.StudyDate, data.StudyTime, data.AccessionNumber = "20210317", "101500", ""
    data.Modality, data.ImageType = "CT", ["ORIGINAL", "PRIMARY", "AXIAL"]
    data.Manufacturer, data.ManufacturerModelName = "SIEMENS", "Sensation 16"
    data.ConvolutionKernel, data.KVP, data.SoftwareVersions = "B30f", "120", "VA70C"
    data.PositionReferenceIndicator, data.RescaleType = "SN", "HU"
    data.SliceThickness, data.PixelSpacing = "1.0", ["0.7", "0.7"]
    data.ImagePositionPatient, data.InstanceNumber = ["0", "0", str(number)], number
    data.ImageOrientationPatient, data.SeriesNumber = ["1", "0", "0", "0", "1", "0"], 3
    data.Rows = data.Columns = side
    data.SamplesPerPixel, data.PhotometricInterpretation = 1, "MONOCHROME2"
    data.BitsAllocated, data.BitsStored, data.HighBit, data.PixelRepresentation = 16, 12, 11, 0
    data.RescaleSlope, data.RescaleIntercept = "1", "-1024"
    data.PixelData = body(side).tobytes()
    return data


def body(side: int) -> Any:
    """A round body in air, blurred and noisy, as stored values of 12 bits."""
    random = np.random.default_rng(5)
    y, x = np.mgrid[:side, :side] - (side - 1) / 2
    edge = np.clip((0.32 * side - np.hypot(x, 1.3 * y)) / 3, 0, 1)
    stored = 24 + 1040 * edge + random.normal(0, 14, edge.shape)
    return np.clip(np.rint(stored), 0, 4095).astype("<u2")


def content_of(data: Dataset) -> bytes:
    """The bytes of a slice."""
    target = BytesIO()
    pydicom.dcmwrite(target, data, enforce_file_format=True)
    return target.getvalue()


def put(tag: int, kind: str, form: str) -> Callable[[Dataset, Secret], bytes]:
    """Puts an element into a slice; ``{word}`` and ``{number}`` are the secret's."""

    def plant(data: Dataset, secret: Secret) -> bytes:
        text = form.format(word=secret.word, number=secret.number)
        if kind in BINARY:
            value = struct.pack(BINARY[kind], float(text) if kind in ("FD", "FL") else int(text))
        else:
            value = text.encode().ljust(len(text) + len(text) % 2)
        data[tag] = RawDataElement(Tag(tag), kind, len(value), value, 0, False, True)
        return content_of(data)

    return plant


def changed(change: Callable[[Dataset, Secret], object]) -> Callable[[Dataset, Secret], bytes]:
    """Puts a secret in by changing a slice."""

    def plant(data: Dataset, secret: Secret) -> bytes:
        change(data, secret)
        return content_of(data)

    return plant


def replaced(old: bytes, form: str) -> Callable[[Dataset, Secret], bytes]:
    """Puts a secret over bytes of a whole file, of the same length."""

    def plant(data: Dataset, secret: Secret) -> bytes:
        new = form.format(word=secret.word, number=secret.number).encode()
        content = content_of(data)
        return content.replace(old, new[: len(old)].ljust(len(old)), 1)

    return plant


WORDS_IN = {
    "free text in a field that stays": {
        0x00080070: ("LO", "SIEMENS {word}"),
        0x00081090: ("LO", "Sensation {word}"),
        0x00181210: ("SH", "{word}"),
        0x00181020: ("LO", "VA70C {word}"),
        0x00201040: ("LO", "{word}"),
        0x00281054: ("LO", "{word}"),
        0x00181160: ("SH", "{word}"),
        0x00281055: ("LO", "LUNG {word}"),
        0x00282114: ("CS", "{word}"),
        0x00209056: ("SH", "{word}"),
        0x00080008: ("CS", "ORIGINAL\\PRIMARY\\{word}"),
        0x00180015: ("CS", "{word}"),
        0x00180022: ("CS", "HELICAL\\{word}"),
        0x00181140: ("CS", "{word}"),
        0x00189323: ("CS", "{word}"),
        0x00185100: ("CS", "{word}"),
        0x00200020: ("CS", "L\\{word}"),
        0x00200060: ("CS", "{word}"),
        0x00080005: ("CS", "ISO_IR 192\\{word}"),
        0x00081030: ("LO", "CT Thorax {word}"),
        0x0008103E: ("LO", "Lung 1.0 {word}"),
        0x00181030: ("LO", "Chest_{word}"),
        0x00180010: ("LO", "Iohexol {word}"),
        0x00280303: ("CS", "{word}"),
        0x00120063: ("LO", "cleaned by {word}"),
        0x00283003: ("LO", "{word}"),
    },
    "an attribute that the profile lists": {
        0x00100010: ("PN", "{word}^Anna"),
        0x00101040: ("LO", "{word} street 7"),
        0x00100020: ("LO", "{word}{number}"),
        0x00101000: ("LO", "{number}"),
        0x00080050: ("SH", "{number}"),
        0x00080080: ("LO", "{word} hospital"),
        0x00080081: ("ST", "{word} square"),
        0x00080090: ("PN", "{word}"),
        0x00081010: ("SH", "{word}"),
        0x00081070: ("PN", "{word}"),
        0x00101010: ("AS", "{number}"),
        0x00102160: ("SH", "{word}"),
        0x001021B0: ("LT", "seen by {word}"),
        0x00104000: ("LT", "{word} is anxious"),
        0x00181000: ("LO", "{number}"),
        0x00204000: ("LT", "call {word}"),
        0x00200010: ("SH", "{number}"),
        0x00321032: ("PN", "{word}"),
        0x00321060: ("LO", "for {word}"),
        0x00380010: ("LO", "{number}"),
        0x00400241: ("AE", "{word}"),
        0x00402016: ("LO", "{number}"),
        0x0040A123: ("PN", "{word}"),
        0x00080094: ("SH", "{number}"),
        0x00400280: ("ST", "{word}"),
        0x40080102: ("PN", "{word}"),
        0x00380300: ("LO", "ward {word}"),
        0x00120010: ("LO", "{word}"),
        0x00120040: ("LO", "{number}"),
    },
    "a text attribute that no CT has": {
        0x00180024: ("SH", "{word}"),
        0x00189005: ("SH", "{word}"),
        0x00480107: ("UT", "{word}"),
        0x00287FE0: ("UR", "https://{word}.example/{number}"),
        0x00080119: ("UC", "{word}"),
        0x00720002: ("SH", "{word}"),
        0x00741202: ("LO", "{word}"),
        0x00402400: ("LT", "{word}"),
    },
}
NUMBERS_IN: dict[int, tuple[str, str]] = {
    0x00200011: ("IS", "{number}"),
    0x00200012: ("IS", "{number}"),
    0x00200013: ("IS", "{number}"),
    0x00181152: ("IS", "{number}"),
    0x00181150: ("IS", "{number}"),
    0x00181151: ("IS", "{number}"),
    0x00180060: ("DS", "{number}"),
    0x00101030: ("DS", "{number}"),
    0x00101020: ("DS", "{number}"),
    0x00201041: ("DS", "{number}"),
    0x00180050: ("DS", "{number}"),
    0x00281050: ("DS", "{number}"),
    0x00181130: ("DS", "{number}"),
    0x00189311: ("FD", "{number}"),
    0x00189073: ("FD", "{number}"),
    0x00181153: ("IS", "{number}"),
    0x00200032: ("DS", "0\\0\\{number}"),
    0x00281052: ("DS", "-{number}"),
    0x00280120: ("US", "51290"),
    0x00089007: ("CS", "ORIGINAL\\PRIMARY\\{word}"),
    0x00209157: ("UL", "{number}"),
    0x00189345: ("FD", "{number}"),
    0x00280006: ("UN", "{number}"),
    0x00180091: ("IS", "{number}"),
}


def places() -> Iterator[Place]:
    """All places but those in pictures."""
    for group, attributes in WORDS_IN.items():
        for tag, (kind, form) in attributes.items():
            yield Place(group, named(tag), put(tag, kind, form))
    for tag, (kind, form) in NUMBERS_IN.items():
        yield Place("a person's number", named(tag), put(tag, kind, form))
    for name, plant in {**UIDS, **TIMES}.items():
        yield Place("a UID, date or time", name, plant)
    for name, plant in NESTED.items():
        yield Place("nested", name, plant)
    for name, plant in HIDDEN.items():
        yield Place("an unusual place", name, plant)
    for name, plant in PIXELS.items():
        yield Place("around the pixels", name, plant)


def named(tag: int) -> str:
    """An attribute by its keyword."""
    return pydicom.datadict.keyword_for_tag(tag) or f"({tag >> 16:04X},{tag & 0xFFFF:04X})"


UIDS: dict[str, Callable[[Dataset, Secret], bytes]] = {
    f"{keyword} {what}": changed(
        lambda data, secret, keyword=keyword, root=root: setattr(
            data, keyword, root + secret.number
        )
    )
    for keyword in (
        "SOPInstanceUID",
        "SeriesInstanceUID",
        "StudyInstanceUID",
        "FrameOfReferenceUID",
    )
    for what, root in {
        "of a hospital": "1.2.276.0.7230010.",
        "as if of the standard": "1.2.840.10008.5.1.4.1.1.",
        "as if made here": "2.25.",
    }.items()
}
UIDS |= {
    "InstanceCreatorUID": put(0x00080014, "UI", "1.2.3.{number}"),
    "DeviceUID": put(0x00181002, "UI", "1.2.840.10008.{number}"),
    "UID that is none": replaced(f"{ROOT}4".encode(), "1.2.{word}"),
}
TIMES: dict[str, Callable[[Dataset, Secret], bytes]] = {
    "StudyDate that is a name": replaced(b"20210317", "{word}"),
    "AcquisitionTime, its fraction": put(0x00080032, "TM", "101500.{number}"),
    "AcquisitionDateTime with a zone": put(0x0008002A, "DT", "20210317101500.{number}+0545"),
    "PatientBirthDate": put(0x00100030, "DA", "19480229"),
    "DateOfLastCalibration": put(0x00181200, "DA", "19480229"),
    "a date that no CT has": put(0x00141020, "DA", "19480229"),
}


def item(**values: Any) -> Dataset:
    """An item of a sequence."""
    made = Dataset()
    for keyword, value in values.items():
        setattr(made, keyword, value)
    return made


def within(keyword: str, make: Callable[[Secret], Dataset]) -> Callable[[Dataset, Secret], bytes]:
    """Puts an item into a sequence."""
    return changed(lambda data, secret: setattr(data, keyword, [make(secret)]))


def code(value: str, scheme: str, meaning: str) -> Callable[[Secret], Dataset]:
    """A coded term, with a secret in one of its parts."""
    return lambda secret: item(
        CodeValue=value.format(**vars_of(secret)),
        CodingSchemeDesignator=scheme.format(**vars_of(secret)),
        CodeMeaning=meaning.format(**vars_of(secret)),
    )


def vars_of(secret: Secret) -> dict[str, str]:
    """What forms can name."""
    return {"word": secret.word, "number": secret.number}


def deep(depth: int) -> Callable[[Secret], Dataset]:
    """An item within items, a secret in the innermost."""

    def make(secret: Secret) -> Dataset:
        inner = item(ImageComments=secret.word, Manufacturer=secret.word, SeriesNumber=7)
        for _ in range(depth):
            inner = item(ReferencedImageSequence=[inner], PatientName=secret.word)
        return inner

    return make


def private_item(secret: Secret) -> Dataset:
    """An item with a private element."""
    made = item(ReferencedSOPClassUID=CT)
    made.private_block(0x0029, secret.word, create=True).add_new(1, "LO", secret.word)
    return made


def enhanced(change: Callable[[Dataset, Dataset, Secret], object]) -> Callable[..., bytes]:
    """Puts a secret into the functional groups of an enhanced CT."""

    def plant(data: Dataset, secret: Secret) -> bytes:
        data.SOPClassUID = data.file_meta.MediaStorageSOPClassUID = ENHANCED_CT
        data.NumberOfFrames = 1
        shared = item(
            PixelValueTransformationSequence=[
                item(RescaleSlope="1", RescaleIntercept="-1024", RescaleType="HU")
            ],
            PixelMeasuresSequence=[item(SliceThickness="1", PixelSpacing=["0.7", "0.7"])],
        )
        frame = item(PlanePositionSequence=[item(ImagePositionPatient=["0", "0", "1"])])
        del data.RescaleSlope, data.RescaleIntercept
        data.SharedFunctionalGroupsSequence = [shared]
        data.PerFrameFunctionalGroupsSequence = [frame]
        change(shared, frame, secret)
        return content_of(data)

    return plant


NESTED: dict[str, Callable[[Dataset, Secret], bytes]] = {
    **{
        f"{depth} items deep": within("ReferencedImageSequence", deep(depth)) for depth in (1, 2, 5)
    },
    "CodeMeaning of a known code": within(
        "AnatomicRegionSequence", code("51185008", "SCT", "{word}")
    ),
    "CodeValue of a known scheme": within(
        "AnatomicRegionSequence", code("{number}", "SCT", "Chest")
    ),
    "CodeValue of DICOM": within("AnatomicRegionSequence", code("{number}", "DCM", "Chest")),
    "CodingSchemeDesignator": within("AnatomicRegionSequence", code("1", "99{word}", "Chest")),
    "CodingSchemeVersion": within(
        "AnatomicRegionSequence",
        lambda secret: item(
            CodeValue="51185008",
            CodingSchemeDesignator="SCT",
            CodeMeaning="Chest",
            CodingSchemeVersion=secret.number,
        ),
    ),
    "private element of an item": within("ReferencedImageSequence", private_item),
    "RequestAttributesSequence": within(
        "RequestAttributesSequence", lambda secret: item(RequestedProcedureDescription=secret.word)
    ),
    "ContributingEquipmentSequence": within(
        "ContributingEquipmentSequence", lambda secret: item(InstitutionName=secret.word)
    ),
    "ModalityLUTSequence": within(
        "ModalityLUTSequence",
        lambda secret: item(LUTExplanation=secret.word, ModalityLUTType=secret.word),
    ),
    "VOILUTSequence": within("VOILUTSequence", lambda secret: item(LUTExplanation=secret.word)),
    "GraphicAnnotationSequence": within(
        "GraphicAnnotationSequence",
        lambda secret: item(TextObjectSequence=[item(UnformattedTextValue=secret.word)]),
    ),
    "ContentSequence": within("ContentSequence", lambda secret: item(TextValue=secret.word)),
    "AcquisitionContextSequence": within(
        "AcquisitionContextSequence", lambda secret: item(TextValue=secret.word)
    ),
    "IconImageSequence": within(
        "IconImageSequence",
        lambda secret: item(
            Rows=1, Columns=8, BitsAllocated=8, PixelData=secret.word.encode().ljust(8)
        ),
    ),
    "shared functional groups": enhanced(
        lambda shared, _, secret: setattr(
            shared, "FrameAnatomySequence", [item(FrameLaterality="R", ImageComments=secret.word)]
        )
    ),
    "functional groups of a frame": enhanced(
        lambda _, frame, secret: setattr(
            frame, "FrameContentSequence", [item(FrameComments=secret.word, StackID=secret.word)]
        )
    ),
    "rescale type of a frame": enhanced(
        lambda _, frame, secret: setattr(
            frame,
            "PixelValueTransformationSequence",
            [item(RescaleSlope="1", RescaleIntercept="-1024", RescaleType=secret.word)],
        )
    ),
    "private functional group": enhanced(
        lambda shared, _, secret: shared.private_block(0x0021, "X", create=True).add_new(
            1, "SQ", Sequence([item(PatientName=secret.word)])
        )
    ),
}


def private(kind: str, *, group: int = 0x0029) -> Callable[[Dataset, Secret], bytes]:
    """Puts a private element into a slice."""

    def change(data: Dataset, secret: Secret) -> None:
        value: Any = secret.word
        if kind == "SQ":
            value = Sequence([item(PatientName=secret.word)])
        elif kind in ("OB", "UN"):
            value = secret.word.encode().ljust(len(secret.word) + len(secret.word) % 2)
        data.private_block(group, "MAKER 1.0", create=True).add_new(0x10, kind, value)

    return changed(change)


def meta(keyword: str) -> Callable[[Dataset, Secret], bytes]:
    """Puts a secret into the file meta information."""
    return changed(lambda data, secret: setattr(data.file_meta, keyword, secret.word[:16]))


def preamble(data: Dataset, secret: Secret) -> bytes:
    """Puts a secret before the first element."""
    data.preamble = secret.word.encode().ljust(128, b"\0")
    return content_of(data)


def private_information(data: Dataset, secret: Secret) -> bytes:
    """Puts a secret into the private part of the file meta information."""
    data.file_meta.PrivateInformationCreatorUID = "1.2.3"
    data.file_meta.PrivateInformation = secret.word.encode().ljust(16)
    return content_of(data)


def behind_a_value(data: Dataset, secret: Secret) -> bytes:
    """Puts a secret behind a zero that ends a text."""
    data.Manufacturer = "SIEMENS".ljust(40, "~")
    content = content_of(data)
    hidden = b"SIEMENS\0" + secret.word.encode()
    return content.replace(b"SIEMENS".ljust(40, b"~"), hidden.ljust(40, b"\0"))


def escaped(data: Dataset, secret: Secret) -> bytes:
    """Puts a secret into a text between escape sequences of a character set."""
    data.SpecificCharacterSet = ["", "ISO 2022 IR 100"]
    data.Manufacturer = "SIEMENS".ljust(40, "~")
    hidden = b"SIEMENS\x1b\x2d\x41" + secret.word.encode()
    return content_of(data).replace(b"SIEMENS".ljust(40, b"~"), hidden.ljust(40, b" "))


def fullwidth(data: Dataset, secret: Secret) -> bytes:
    """Puts a secret in, in letters of double width."""
    wide = "".join(chr(ord(letter) + 0xFEE0) for letter in secret.word)
    data.Manufacturer, data.PatientName = wide, f"{secret.word}^Anna"
    return content_of(data)


def in_gb18030(data: Dataset, secret: Secret) -> bytes:
    """Puts a Chinese name in, in its usual encoding."""
    data.SpecificCharacterSet = "GB18030"
    data.ConvolutionKernel, data.PatientName = f"王小明{secret.word}", "王^小明"
    return content_of(data)


HIDDEN: dict[str, Callable[[Dataset, Secret], bytes]] = {
    **{f"private element, {kind}": private(kind) for kind in ("LO", "UN", "OB", "SQ", "PN", "UT")},
    "private group 0009": private("LO", group=0x0009),
    "private creator": changed(
        lambda data, secret: data.private_block(0x0011, secret.word, create=True).add_new(
            1, "US", 3
        )
    ),
    "preamble": preamble,
    **{
        f"file meta: {keyword}": meta(keyword)
        for keyword in (
            "SourceApplicationEntityTitle",
            "SendingApplicationEntityTitle",
            "ImplementationVersionName",
        )
    },
    "file meta: PrivateInformation": private_information,
    "an attribute unknown to the standard": put(0x00181FF0, "LO", "{word}"),
    "an attribute of unknown kind": put(0x00181FF2, "UN", "{word}"),
    "a curve": put(0x50000022, "LO", "{word}"),
    "label of an overlay": put(0x60001500, "LO", "{word}"),
    "comment of an overlay": put(0x60004000, "LT", "{word}"),
    "bytes of an overlay": put(0x60003000, "OW", "{word}{word}"),
    "overlay in a high group": put(0x601E1500, "LO", "{word}"),
    "DataSetTrailingPadding": put(0xFFFCFFFC, "OB", "{word}"),
    "DigitalSignaturesSequence": put(0x04000310, "OB", "{word}"),
    "bytes after the last element": lambda data, secret: content_of(data) + secret.word.encode(),
    "behind the end of a text": behind_a_value,
    "escape sequences of a character set": escaped,
    "letters of double width": fullwidth,
    "a Chinese name in GB18030": in_gb18030,
    "OB in a text attribute": put(0x00080070, "OB", "{word}"),
    "text in a number attribute": put(0x00200011, "LO", "{word}"),
    "LUT data": put(0x00281201, "OW", "{word}{word}"),
    "ICC profile": put(0x00282000, "OB", "{word}"),
    "encapsulated document": put(0x00420011, "OB", "{word}"),
    "an extended offset table": put(0x7FE00001, "OV", "0"),
}


def behind_the_pixels(data: Dataset, secret: Secret) -> bytes:
    """Puts a secret behind the picture."""
    data.PixelData += secret.word.encode().ljust(len(secret.word) + len(secret.word) % 2)
    return content_of(data)


def in_bit(bit: int) -> Callable[[Dataset, Secret], bytes]:
    """Draws a pattern that follows from the secret into a bit that no value uses."""

    def plant(data: Dataset, secret: Secret) -> bytes:
        stored = np.frombuffer(data.PixelData, "<u2").copy().reshape(data.Rows, data.Columns)
        letters = np.unpackbits(np.frombuffer(secret.word.encode(), np.uint8))
        stored[3, 3 : 3 + len(letters)] |= (letters.astype("<u2") << bit).astype("<u2")
        data.PixelData = stored.tobytes()
        return content_of(data)

    return plant


def another_frame(data: Dataset, secret: Secret) -> bytes:
    """Puts a second frame behind the first, which the header does not tell of."""
    data.PixelData += (secret.word * 4).encode().ljust(len(data.PixelData))
    return content_of(data)


def compressed(change: Callable[[bytes, bytes], bytes], syntax: str) -> Callable[..., bytes]:
    """Puts a secret into the compressed stream of a picture."""

    def plant(data: Dataset, secret: Secret) -> bytes:
        data.compress(syntax, encapsulate_ext=False)
        (stream,) = generate_frames(data.PixelData, number_of_frames=1)
        made = change(bytes(stream), secret.word.encode())
        data.PixelData = encapsulate([made.ljust(len(made) + len(made) % 2, b"\0")])
        data["PixelData"].VR = "OB"
        return content_of(data)

    return plant


def comment(stream: bytes, word: bytes) -> bytes:
    """A comment in the head of a JPEG 2000 stream."""
    segment = b"\xff\x64" + (len(word) + 4).to_bytes(2, "big") + b"\0\1" + word
    start = stream.index(b"\xff\x52")
    return stream[:start] + segment + stream[start:]


def in_offsets(data: Dataset, secret: Secret) -> bytes:
    """Puts a secret into the basic offset table."""
    data.compress("1.2.840.10008.1.2.5", encapsulate_ext=False)
    (stream,) = generate_frames(data.PixelData, number_of_frames=1)
    table = struct.pack("<HHL", 0xFFFE, 0xE000, 8) + secret.word.encode().ljust(8)[:8]
    data.PixelData = table + struct.pack("<HHL", 0xFFFE, 0xE000, len(stream)) + bytes(stream)
    data["PixelData"].VR = "OB"
    return content_of(data)


def in_a_fragment(data: Dataset, secret: Secret) -> bytes:
    """Puts a secret into a fragment behind those of the picture."""
    data.compress("1.2.840.10008.1.2.4.90", encapsulate_ext=False)
    word = secret.word.encode().ljust(len(secret.word) + len(secret.word) % 2)
    data.PixelData += struct.pack("<HHL", 0xFFFE, 0xE000, len(word)) + word
    data["PixelData"].VR = "OB"
    return content_of(data)


def float_pixels(data: Dataset, secret: Secret) -> bytes:
    """Puts a secret into a second kind of pixels."""
    data.add_new(0x7FE00008, "OF", secret.word.encode().ljust(8)[:8])
    return content_of(data)


J2K, RLE = "1.2.840.10008.1.2.4.90", "1.2.840.10008.1.2.5"
PIXELS: dict[str, Callable[[Dataset, Secret], bytes]] = {
    "bytes behind the picture": behind_the_pixels,
    "a frame that is not described": another_frame,
    "overlay in bit 15": in_bit(15),
    "overlay in bit 14": in_bit(14),
    "overlay in bit 12": in_bit(12),
    "comment of JPEG 2000": compressed(comment, J2K),
    "bytes after the end of JPEG 2000": compressed(lambda stream, word: stream + word, J2K),
    "bytes after the end of RLE": compressed(lambda stream, word: stream + word, RLE),
    "basic offset table": in_offsets,
    "a further fragment": in_a_fragment,
    "FloatPixelData": float_pixels,
}


def other_objects() -> Iterator[tuple[str, Callable[[Dataset, Secret], bytes]]]:
    """Objects that no rule can clean."""
    for name, uid in {
        "structured report": "1.2.840.10008.5.1.4.1.1.88.22",
        "secondary capture": "1.2.840.10008.5.1.4.1.1.7",
        "presentation state": "1.2.840.10008.5.1.4.1.1.11.1",
        "encapsulated PDF": "1.2.840.10008.5.1.4.1.1.104.1",
        "a class that is unknown": "1.2.840.10008.5.1.4.1.1.778213",
    }.items():

        def change(data: Dataset, secret: Secret, uid: str = uid) -> None:
            data.SOPClassUID = data.file_meta.MediaStorageSOPClassUID = UID(uid)
            data.ImageComments = secret.word

        yield name, changed(change)
