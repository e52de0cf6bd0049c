"""What is written without pydicom is what pydicom would write, and valid DICOM."""

import subprocess
from io import BytesIO
from pathlib import Path

import numpy as np
import pydicom
import pytest
from pydicom.dataset import Dataset
from pydicom.encaps import encapsulate, generate_frames
from pydicom.uid import UID

from builders.dicom import needs
from builders.identified_slice import identified_slice, write_slice
from nodulebench.curation.deidentify.codec import Memory, file_of
from nodulebench.curation.deidentify.identity import Pseudonyms
from nodulebench.curation.deidentify.service import FileOutcome, check_file, deidentify_file
from nodulebench.imaging.volume import make_volume
from nodulebench.io.dicom.volumes import write_volume
from nodulebench.phantom.scanner import VENDORS, Scanner, StudyFacts, series_header

KEYED = Pseudonyms(bytes(range(32)))
SYNTAXES = {
    "implicit": "1.2.840.10008.1.2",
    "explicit": "1.2.840.10008.1.2.1",
    "deflated": "1.2.840.10008.1.2.1.99",
    "big end first": "1.2.840.10008.1.2.2",
}


def written(tmp_path: Path, data: Dataset, *, has_pixel_check: bool = True) -> Path:
    path = write_slice(data, tmp_path / "in.dcm")
    return place_of(
        tmp_path, deidentify_file(path, tmp_path / "out", KEYED, has_pixel_check=has_pixel_check)
    )


def place_of(tmp_path: Path, outcome: FileOutcome) -> Path:
    assert outcome.refused is None
    return tmp_path / "out" / outcome.written


def by_pydicom(path: Path) -> bytes:
    """What pydicom writes after it has read and converted every element of a file."""
    data = pydicom.dcmread(path)
    assert len(list(data.iterall())) > 20
    target = BytesIO()
    pydicom.dcmwrite(target, data, enforce_file_format=True)
    return target.getvalue()


@pytest.mark.parametrize("syntax", SYNTAXES.values(), ids=SYNTAXES)
def test_a_file_is_what_pydicom_would_write(tmp_path: Path, syntax: str) -> None:
    data = identified_slice()
    data.file_meta.TransferSyntaxUID = UID(syntax)
    data.SmallestImagePixelValue = 7
    path = written(tmp_path, data)
    assert path.read_bytes() == by_pydicom(path)
    assert check_file(path) == []
    made = pydicom.dcmread(path)
    is_deflated = syntax == SYNTAXES["deflated"]
    assert made.file_meta.TransferSyntaxUID == (SYNTAXES["explicit"] if is_deflated else syntax)
    assert made.PixelData == data.PixelData
    assert made.SmallestImagePixelValue == 7


@pytest.mark.parametrize("syntax", SYNTAXES.values(), ids=SYNTAXES)
@pytest.mark.parametrize("contexts", [0, 12])
def test_a_series_is_in_one_folder_of_its_new_name(
    tmp_path: Path, syntax: str, contexts: int
) -> None:
    memory, folders = Memory(contexts), set()
    for number in range(4):
        data = identified_slice(number)
        data.file_meta.TransferSyntaxUID = UID(syntax)
        path = write_slice(data, tmp_path / f"{number}.dcm")

        outcome = deidentify_file(path, tmp_path / "out", KEYED, memory=memory)

        made = pydicom.dcmread(place_of(tmp_path, outcome))
        assert outcome.study == (data.StudyInstanceUID, made.StudyInstanceUID)
        assert outcome.series == (data.SeriesInstanceUID, made.SeriesInstanceUID)
        place = place_of(tmp_path, outcome)
        assert place.stem == made.SOPInstanceUID == KEYED.uid(data.SOPInstanceUID)
        assert place.parent.name == made.SeriesInstanceUID == KEYED.uid(data.SeriesInstanceUID)
        folders.add(place.parent)
    assert len(folders) == 1


@pytest.mark.parametrize("syntax", ["1.2.840.10008.1.2.5", "1.2.840.10008.1.2.4.90"])
def test_compressed_pictures_are_written_open_and_hold_nothing_else(
    tmp_path: Path, syntax: str
) -> None:
    data = identified_slice()
    del data[0xFFFCFFFC]
    original = data.PixelData
    data.compress(syntax, encapsulate_ext=False)
    (stream,) = generate_frames(data.PixelData, number_of_frames=1)
    if syntax.endswith("90"):  # a comment in its head, and bytes after its end
        comment = b"Zacharias"
        segment = b"\xff\x64" + (len(comment) + 4).to_bytes(2, "big") + b"\0\1" + comment
        start = stream.index(b"\xff\x52")
        stream = stream[:start] + segment + stream[start:].rstrip(b"\0") + b"Zacharias"
    data.PixelData = encapsulate([stream + b"Quentin "], fragments_per_frame=2)
    data["PixelData"].VR = "OB"
    path = written(tmp_path, data)
    made = pydicom.dcmread(path)
    assert made.file_meta.TransferSyntaxUID == SYNTAXES["explicit"]
    assert made.PixelData == original
    assert check_file(path) == []
    content = path.read_bytes()
    assert b"Zacharias" not in content
    assert b"Quentin" not in content


def test_what_no_decoder_reads_is_left_out(tmp_path: Path) -> None:
    data = identified_slice()
    data.file_meta.TransferSyntaxUID = UID("1.2.840.10008.1.2.4.90")
    data.PixelData = encapsulate([b"not decoded here"])
    data["PixelData"].VR = "OB"
    path = write_slice(data, tmp_path / "in.dcm")
    refused = deidentify_file(path, tmp_path / "out", KEYED, has_pixel_check=False).refused
    assert refused is not None
    assert refused.code == "pixels_undecoded"


def test_a_picture_of_odd_length_is_filled_up(tmp_path: Path) -> None:
    data = identified_slice()
    data.Rows = data.Columns = 3
    data.BitsAllocated = data.BitsStored = 8
    data.HighBit = 7
    data.PixelData = bytes(range(9)) + b"Z"
    data["PixelData"].VR = "OB"
    path = written(tmp_path, data, has_pixel_check=False)
    assert pydicom.dcmread(path).PixelData == bytes(range(9)) + b"\0"
    assert check_file(path, has_pixel_check=False) == []


def test_nothing_stays_behind_the_picture(tmp_path: Path) -> None:
    data = identified_slice()
    original = data.PixelData
    data.PixelData = original + b"Zacharias^Quentin "
    path = written(tmp_path, data)
    assert pydicom.dcmread(path).PixelData == original
    content = path.read_bytes()
    path.write_bytes(content + b"Zacharias^Quentin ")
    assert check_file(path) != []
    made = pydicom.dcmread(BytesIO(content))
    made.PixelData = original + b"Zacharias^Quentin "
    made.save_as(path)
    assert [notice.code for notice in check_file(path)] == ["left_in_pixels"]


@pytest.mark.parametrize("is_signed", [False, True])
@pytest.mark.parametrize("high", [11, 13])
def test_nothing_stays_in_unused_bits(tmp_path: Path, high: int, is_signed: bool) -> None:
    data = identified_slice()
    low = high - 11
    values = np.random.default_rng(2).integers(0, 4096, (64, 64)).astype("<u2")
    if is_signed:
        values = (values.astype(np.int32) - 2048).astype("<i2").view("<u2")
    plain = (values << low).astype("<u2")
    data.BitsStored, data.HighBit, data.PixelRepresentation = 12, high, int(is_signed)
    drawn = plain.copy()
    drawn[5:20, 5:50] ^= 1 << 15  # an overlay
    if low:
        drawn[5:20, 5:50] |= 1
    data.PixelData = drawn.tobytes()
    path = written(tmp_path, data, has_pixel_check=False)
    assert pydicom.dcmread(path).PixelData == plain.tobytes()
    made = pydicom.dcmread(path)
    made.PixelData = drawn.tobytes()
    made.save_as(path)
    notices = check_file(path, has_pixel_check=False)
    assert [notice.code for notice in notices] == ["left_in_pixels"]


def test_pixels_that_are_not_what_the_syntax_says_are_refused(tmp_path: Path) -> None:
    data = identified_slice()
    content = bytearray(write_slice(data, tmp_path / "in.dcm").read_bytes())
    plain, other = b"1.2.840.10008.1.2.1\0", b"1.2.840.10008.1.2.4.90"
    place = content.index(plain)
    content[place - 2 : place + len(plain)] = b"\x16\0" + other
    (tmp_path / "in.dcm").write_bytes(bytes(content))
    outcome = deidentify_file(tmp_path / "in.dcm", tmp_path / "out", KEYED, has_pixel_check=False)
    assert outcome.refused is not None
    assert outcome.refused.code in ("slice_unreadable", "pixels_undecoded", "pixels_hardly_any")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("tag", [0x00000002, 0x00020010, 0x7FE00010, 0xFFFCFFFC])
def test_nothing_is_written_where_it_would_not_be_checked(tag: int) -> None:
    with pytest.raises(ValueError, match="an element is at a position where none is allowed"):
        file_of({tag: b""}, [], "1.2", "1.3", "1.2.840.10008.1.2.1")


@needs("dciodvfy")
@pytest.mark.parametrize("vendor", VENDORS, ids=lambda vendor: vendor.name)
@pytest.mark.parametrize("is_enhanced", [False, True], ids=["classic", "enhanced"])
def test_dciodvfy_finds_nothing_wrong(tmp_path: Path, vendor: object, is_enhanced: bool) -> None:
    header = series_header(
        vendor,  # type: ignore[arg-type]
        Scanner(2.5, 2.3, 0.6, kernel="standard", exposure_mas=37.0),
        StudyFacts(
            case_id="phantom-0001",
            patient_id="P0001",
            seed=1,
            is_female=True,
            age=63,
            study_date="20240111",
            is_enhanced=is_enhanced,
        ),
    )
    hu = np.random.default_rng(3).integers(-1024, 3072, (4, 8, 6)).astype(np.int16)
    write_volume(make_volume(hu, spacing_mm=(0.6, 0.6, 2.3)), tmp_path / "in", header)
    memory = Memory()
    for path in sorted((tmp_path / "in").iterdir()):
        outcome = deidentify_file(path, tmp_path / "out", KEYED, memory=memory)
        place = place_of(tmp_path, outcome)
        checked = subprocess.run(
            ["dciodvfy", "-new", str(place)], capture_output=True, text=True, check=False
        )
        assert "CTImage" in checked.stderr
        assert "Error" not in checked.stderr, checked.stderr
