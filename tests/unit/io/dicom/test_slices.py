"""Files of every kind: which slices they describe, and their stored values against pydicom's."""

import numpy as np
import pydicom
import pytest
from pydicom.dataset import Dataset
from pydicom.encaps import encapsulate
from pydicom.sequence import Sequence
from pydicom.uid import (
    DeflatedExplicitVRLittleEndian,
    ExplicitVRBigEndian,
    ExplicitVRLittleEndian,
    ImplicitVRLittleEndian,
    JPEG2000Lossless,
    RLELossless,
)

from nodulebench.core.notices import Notice
from nodulebench.i18n.translator import in_english
from nodulebench.imaging.volume import make_volume
from nodulebench.io.dicom import pixels as dicom_pixels
from nodulebench.io.dicom.header import SeriesHeader
from nodulebench.io.dicom.pixels import (
    PixelsError,
    TruncatedPixelsError,
    stored_values,
    stream_size,
)
from nodulebench.io.dicom.slices import NoSlices, SliceHeader, read_slices
from nodulebench.io.dicom.volumes import write_volume

HEADER = SeriesHeader("1.2.3", "1.2", "1.4", "P1", manufacturer="MAKER", kernel="K1", kvp=110)


@pytest.fixture
def file(tmp_path):
    random = np.random.default_rng(0)
    hu = random.integers(-1000, 2000, (1, 16, 12)).astype(np.int16)
    volume = make_volume(hu, spacing_mm=(0.5, 0.75, 2.0), origin_mm=(1, 2, 3))
    write_volume(volume, tmp_path / "scan", HEADER)
    return tmp_path / "scan" / "0001.dcm"


def only(path) -> SliceHeader:
    slices = read_slices(path)
    assert isinstance(slices, list), slices
    (header,) = slices
    return header


def refused(header: SliceHeader) -> str:
    """Why pixels are refused; the sentence of the error and the words of its code are the same."""
    with pytest.raises(PixelsError) as caught:
        stored_values(header)
    (problem,) = caught.value.problems
    assert f"{in_english(caught.value.notice)}." == problem.what
    return in_english(caught.value.notice)


def test_a_slice_is_described_by_its_header(file):
    header = only(file)
    assert (header.series_uid, header.modality, header.patient_id) == ("1.2.3", "CT", "P1")
    assert header.position_mm == (1.0, 2.0, 3.0)
    assert header.pixel_spacing_mm == (0.75, 0.5)
    assert (header.thickness_mm, header.slice_spacing_mm) == (1.0, 2.0)
    assert (header.slope, header.intercept) == (1.0, -1024.0)
    assert (header.pixels.rows, header.pixels.columns) == (16, 12)
    assert header.facts["manufacturer"] == "MAKER"
    assert header.facts["kvp"] == "110"


@pytest.mark.parametrize(
    "syntax",
    [
        ImplicitVRLittleEndian,
        ExplicitVRLittleEndian,
        ExplicitVRBigEndian,
        DeflatedExplicitVRLittleEndian,
        RLELossless,
    ],
)
def test_every_transfer_syntax_gives_what_pydicom_gives(file, syntax):
    data = pydicom.dcmread(file)
    if syntax == RLELossless:
        data.compress(syntax)
        data.save_as(file)
    else:
        if syntax == ExplicitVRBigEndian:
            data.PixelData = data.pixel_array.astype(">i2").tobytes()
        data.file_meta.TransferSyntaxUID = syntax
        pydicom.dcmwrite(
            file,
            data,
            force_encoding=True,
            implicit_vr=syntax == ImplicitVRLittleEndian,
            little_endian=syntax != ExplicitVRBigEndian,
        )
    expected = pydicom.dcmread(file).pixel_array
    assert np.array_equal(stored_values(only(file)), expected)


def test_compressed_slices_are_decoded_by_simpleitk_where_pydicom_cannot(file, monkeypatch):
    expected = stored_values(only(file))
    data = pydicom.dcmread(file)
    data.compress(RLELossless)
    data.save_as(file)

    monkeypatch.setattr(dicom_pixels, "_has_decoder", lambda *_: False)
    assert np.array_equal(stored_values(only(file)), expected)


def test_a_dataset_without_preamble_is_read(file):
    content = file.read_bytes()
    data = pydicom.dcmread(file)
    group_length = data.file_meta["FileMetaInformationGroupLength"].value
    file.write_bytes(content[132 + 12 + group_length :])
    header = only(file)
    assert header.series_uid == "1.2.3"
    assert stored_values(header).shape == (16, 12)


def enhanced(path, frames=5):
    """An enhanced multi-frame CT; orientation and rescaling are shared."""
    data = pydicom.dcmread(path)
    data.SOPClassUID = data.file_meta.MediaStorageSOPClassUID = "1.2.840.10008.5.1.4.1.1.2.1"
    for name in (
        "ImagePositionPatient",
        "ImageOrientationPatient",
        "PixelSpacing",
        "SliceThickness",
        "RescaleSlope",
        "RescaleIntercept",
    ):
        delattr(data, name)
    orientation, measures, values = Dataset(), Dataset(), Dataset()
    orientation.ImageOrientationPatient = [1, 0, 0, 0, 1, 0]
    measures.PixelSpacing, measures.SliceThickness = [0.75, 0.5], 2
    values.RescaleSlope, values.RescaleIntercept = 1, -1000
    shared = Dataset()
    shared.PlaneOrientationSequence = Sequence([orientation])
    shared.PixelMeasuresSequence = Sequence([measures])
    shared.PixelValueTransformationSequence = Sequence([values])
    data.SharedFunctionalGroupsSequence = Sequence([shared])
    groups = []
    for number in range(frames):
        place, frame = Dataset(), Dataset()
        place.ImagePositionPatient = [0, 0, 2.0 * number]
        frame.PlanePositionSequence = Sequence([place])
        groups.append(frame)
    data.PerFrameFunctionalGroupsSequence = Sequence(groups)
    plane = data.pixel_array
    data.NumberOfFrames = frames
    data.PixelData = b"".join((plane + number).astype("<i2").tobytes() for number in range(frames))
    data.save_as(path)
    return plane


@pytest.mark.parametrize("is_compressed", [False, True])
def test_every_frame_of_an_enhanced_ct_is_a_slice(file, is_compressed):
    plane = enhanced(file)
    if is_compressed:
        data = pydicom.dcmread(file)
        data.compress(RLELossless)
        data.save_as(file)
    slices = read_slices(file)
    assert isinstance(slices, list)
    assert [slice_.position_mm for slice_ in slices] == [(0.0, 0.0, 2.0 * n) for n in range(5)]
    assert {(slice_.orientation, slice_.thickness_mm, slice_.intercept) for slice_ in slices} == {
        ((1.0, 0.0, 0.0, 0.0, 1.0, 0.0), 2.0, -1000.0)
    }
    for number, slice_ in enumerate(slices):
        assert np.array_equal(stored_values(slice_), plane + number)


def test_how_the_frames_of_an_enhanced_ct_were_made_is_reported_by_their_groups(file):
    enhanced(file, frames=2)
    data = pydicom.dcmread(file)
    for name in ("ConvolutionKernel", "KVP", "XRayTubeCurrent", "Exposure", "CTDIvol"):
        data.pop(name, None)
    reconstruction, tube, event = Dataset(), Dataset(), Dataset()
    reconstruction.ConvolutionKernel, tube.KVP = ["B70f", "3"], "120"
    event.IrradiationEventUID = "1.2.3"
    shared = data.SharedFunctionalGroupsSequence[0]
    shared.CTReconstructionSequence, shared.CTXRayDetailsSequence = [reconstruction], [tube]
    shared.IrradiationEventIdentificationSequence = [event]
    for number, frame in enumerate(data.PerFrameFunctionalGroupsSequence):
        exposure = Dataset()
        exposure.CTDIvol, exposure.ExposureInmAs = 2.5 + number, 40.0
        exposure.XRayTubeCurrentInmA = 80.5
        frame.CTExposureSequence = [exposure]
    data.save_as(file)
    made = {"kernel": "B70f\\3", "kvp": "120", "irradiation_events": "1.2.3"}
    made |= {"tube_current_ma": "80.5", "exposure_mas": "40.0"}
    first, second = (slice_.facts for slice_ in read_slices(file))
    assert {**made, "ctdi_vol_mgy": "2.5"}.items() <= first.items()
    assert {**made, "ctdi_vol_mgy": "3.5"}.items() <= second.items()
    del data.PerFrameFunctionalGroupsSequence[1].CTExposureSequence
    data.save_as(file)
    assert "ctdi_vol_mgy" not in read_slices(file)[1].facts


def test_a_frame_that_is_not_described_makes_the_file_unreadable(file):
    enhanced(file)
    data = pydicom.dcmread(file)
    data.NumberOfFrames = 4
    data.save_as(file)
    undescribed = Notice("frames_undescribed", {"count": 5, "of": 4})
    assert read_slices(file) == NoSlices(str(file), undescribed, is_damaged=True)
    assert in_english(undescribed) == "describes 5 of its 4 frames"


@pytest.mark.parametrize(
    ("name", "content", "what", "is_damaged"),
    [
        ("README", b"just text", "is not DICOM", False),
        (
            "scan.zip",
            b"PK\x03\x04" + b"x" * 300,
            "is a zip archive; unpack it so that it can be read",
            False,
        ),
        ("empty", b"", "is not DICOM", False),
        ("empty.dcm", b"", "is empty", True),
        ("noise.dcm", b"\x99" * 500, "is not DICOM, though its name says so", True),
        ("a.IMA", b"\x99" * 500, "is not DICOM, though its name says so", True),
        ("none.dcm", b"\0" * 128 + b"DICM", "has no series UID (SeriesInstanceUID)", True),
    ],
)
def test_other_files_are_reported_by_what_they_are(tmp_path, name, content, what, is_damaged):
    path = tmp_path / name
    path.write_bytes(content)
    slices = read_slices(path)
    assert isinstance(slices, NoSlices)
    assert (slices.path, in_english(slices.notice), slices.is_damaged) == (
        str(path),
        what,
        is_damaged,
    )


def test_a_dicomdir_is_another_file_not_a_damaged_one(file):
    data = pydicom.dcmread(file)
    data.SOPClassUID = data.file_meta.MediaStorageSOPClassUID = "1.2.840.10008.1.3.10"
    data.save_as(file)
    assert read_slices(file) == NoSlices(str(file), Notice("is_dicomdir"), is_damaged=False)


def test_a_file_that_cannot_be_opened_is_reported(tmp_path):
    slices = read_slices(tmp_path / "gone.dcm")
    assert isinstance(slices, NoSlices)
    assert "No such file" in in_english(slices.notice)


def test_what_is_not_a_number_counts_as_not_said(file):
    content = file.read_bytes().replace(b"HELICAL MODE", b"HELICAL MODE")
    data = pydicom.dcmread(file)
    data["SliceThickness"]._value = "thin"
    file.write_bytes(content)
    data.save_as(file)
    assert only(file).thickness_mm is None


def test_files_that_end_before_their_pixels_are_truncated(file):
    content = file.read_bytes()
    file.write_bytes(content[:-100])
    with pytest.raises(TruncatedPixelsError, match=r"284 bytes of pixels where 16 x 12 need 384"):
        stored_values(only(file))
    assert refused(only(file)) == "holds 284 bytes of pixels where 16 x 12 need 384"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"Rows": 60000}, "cannot have 60000 rows and 12 columns"),
        ({"SamplesPerPixel": 3}, "has 3 samples per pixel, which are colours"),
        ({"BitsAllocated": 32, "BitsStored": 32}, "has 32 bits per pixel"),
    ],
)
def test_pixels_that_are_not_ct_are_refused(file, changes, message):
    data = pydicom.dcmread(file)
    for name, value in changes.items():
        setattr(data, name, value)
    data.save_as(file)
    assert refused(only(file)) == message


def test_unused_high_bits_do_not_count(file):
    """An overlay in the high bits, and a sign that was not extended."""
    data = pydicom.dcmread(file)
    data.BitsStored, data.HighBit, data.PixelRepresentation = 12, 11, 1
    data.PixelData = np.full((16, 12), 0xF801, "<u2").tobytes()
    data.save_as(file)
    assert np.unique(stored_values(only(file))).tolist() == [1 - 2048]
    data.PixelRepresentation = 0
    data.save_as(file)
    assert np.unique(stored_values(only(file))).tolist() == [0x801]


def test_a_stream_that_says_another_size_is_refused_before_it_is_decoded(file, monkeypatch):
    data = pydicom.dcmread(file)
    stream = b"\xff\x4f\xff\x51\x00\x29\x00\x00" + b"\x00\x00\xff\xff" * 2 + b"\x00" * 60
    data.PixelData = encapsulate([stream])
    data["PixelData"].is_undefined_length = True
    data.file_meta.TransferSyntaxUID = JPEG2000Lossless
    data.save_as(file)
    monkeypatch.setattr(dicom_pixels, "_decoded_by_simpleitk", pytest.fail)
    message = "has compressed pixels of 65535 x 65535 x 0 where its header says 16 x 12 x 1"
    assert refused(only(file)) == message


def test_sizes_of_streams_are_found_in_their_heads():
    jpeg = b"\xff\xd8\xff\xe0\x00\x04ab\xff\xc3\x00\x0b\x0c\x02\x00\x01\x80\x01" + b"\0" * 20
    assert stream_size(jpeg) == (512, 384, 1)
    assert stream_size(jpeg.replace(b"\xff\xc3", b"\xff\xf7")) == (512, 384, 1)
    assert stream_size(b"nothing of the kind") is None
    assert stream_size(b"\xff\xd8\xff") is None


@pytest.mark.parametrize("syntax", [DeflatedExplicitVRLittleEndian, ExplicitVRBigEndian])
def test_pixels_that_read_like_the_head_of_a_jpeg_are_pixels(file, syntax):
    data = pydicom.dcmread(file)
    head = b"\xff\xd8\xff\xc3\x00\x0b\x0c\x02\x00\x01\x80"
    data.PixelData = head + data.PixelData[len(head) :]
    data.file_meta.TransferSyntaxUID = syntax
    is_little = syntax != ExplicitVRBigEndian
    pydicom.dcmwrite(file, data, force_encoding=True, implicit_vr=False, little_endian=is_little)
    assert stream_size(data.PixelData)[:2] == (512, 384)
    assert np.array_equal(stored_values(only(file)), pydicom.dcmread(file).pixel_array)


def test_a_file_that_is_gone_or_cut_off_meanwhile_is_reported(file):
    header = only(file)
    file.write_bytes(file.read_bytes()[:-1])
    with pytest.raises(TruncatedPixelsError, match="was cut off while it was read"):
        stored_values(header)
    assert refused(header) == "was cut off while it was read"
    file.unlink()
    assert refused(header) == "can no longer be read (No such file or directory)"


@pytest.mark.parametrize("encoding", ["ISO_IR 192", "ISO_IR 144", "GB18030"])
def test_the_same_bytes_are_read_in_the_encoding_of_their_file(file, encoding):
    texts = []
    for name in (encoding, "ISO_IR 100", encoding):
        data = pydicom.dcmread(file)
        data.SpecificCharacterSet = name
        # bytes that every encoding reads, and each in its own way
        data.add_new(0x00080080, "LO", bytes.fromhex("d0bfd0b0"))
        data.save_as(file)
        texts.append(only(file).facts["institution"])
    assert texts[0] == texts[2] == pydicom.dcmread(file).InstitutionName
    assert texts[1] != texts[0]
    assert texts[1] == bytes.fromhex("d0bfd0b0").decode("latin-1")


def test_a_value_that_changes_from_slice_to_slice_is_read_again(file):
    seen = []
    for number in (3, 7, 3):
        data = pydicom.dcmread(file)
        data.InstanceNumber, data.ImagePositionPatient = number, [0, 0, number]
        data.save_as(file)
        header = only(file)
        seen.append((header.instance_number, header.position_mm))
    assert seen == [(number, (0.0, 0.0, float(number))) for number in (3, 7, 3)]


def test_a_compressed_file_of_many_frames_is_read_once(file, monkeypatch):
    enhanced(file)
    expected = [stored_values(slice_) for slice_ in read_slices(file)]
    data = pydicom.dcmread(file)
    data.compress(RLELossless)
    data.save_as(file)
    frames = read_slices(file)
    opened = []
    read = pydicom.dcmread
    monkeypatch.setattr(pydicom, "dcmread", lambda *a, **k: opened.append(a) or read(*a, **k))
    assert np.array_equal([stored_values(frame) for frame in frames], expected)
    assert len(opened) == 1


@pytest.mark.parametrize(
    ("uid", "what"),
    [
        ("", "has no series UID (SeriesInstanceUID)"),
        ("a/../../b", "has the series UID 'a/../../b', which is not a UID (SeriesInstanceUID)"),
        ("1.2..3", "has the series UID '1.2..3', which is not a UID (SeriesInstanceUID)"),
    ],
)
def test_a_series_whose_name_is_not_an_uid_is_not_read(file, uid, what):
    data = pydicom.dcmread(file)
    with pydicom.config.disable_value_validation():
        data.SeriesInstanceUID = uid
        data.save_as(file)
    slices = read_slices(file)
    assert isinstance(slices, NoSlices)
    assert (in_english(slices.notice), slices.is_damaged) == (what, True)
