"""Small files that ask for much memory are refused before any of it is taken."""

import io
import pickle
import struct
import sys
import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pydicom
import pytest
from pydicom.encaps import encapsulate
from pydicom.uid import DeflatedExplicitVRLittleEndian, JPEG2000Lossless, JPEGLSLossless

from nodulebench.core.errors import InputError
from nodulebench.imaging.volume import make_volume
from nodulebench.io.dicom import files as memory
from nodulebench.io.dicom.header import SeriesHeader
from nodulebench.io.dicom.pixels import PixelsError, stored_values
from nodulebench.io.dicom.slices import NoSlices, read_slices
from nodulebench.io.dicom.volumes import write_volume
from nodulebench.io.images import metaimage
from nodulebench.io.marks import safe_pickle
from nodulebench.io.marks.safe_pickle import read_pickle
from nodulebench.io.table_files import read_arrays

on_linux = pytest.mark.skipif(sys.platform != "linux", reason="only Linux bounds memory")
GIB = 1 << 30


def messages_of(error: pytest.ExceptionInfo[InputError]) -> str:
    return str(error.value)


# pickles


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"\x80\x02Nr\xff\xff\xff\x7f.", "it asks for 2,147,483,647 places at its step 2"),
        (b"\x80\x02Np1073741824\n.", "it asks for 1,073,741,824 places"),
        (b"\x80\x04\x8e" + struct.pack("<Q", 25 * GIB) + b"x.", "26843545600"),
        (b"\x80\x05\x96" + struct.pack("<Q", 25 * GIB) + b"x.", "26843545600"),
        (b"\x80\x04\x95" + struct.pack("<Q", 25 * GIB) + b"N.", "26,843,545,600"),
        (
            b"\x80\x02\x8b" + struct.pack("<i", 2**31 - 1) + b"x.",
            "not enough data in stream to read long4",
        ),
    ],
    ids=["memo", "memo as text", "bytes", "bytearray", "frame", "long"],
)
def test_a_pickle_that_asks_for_more_than_it_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes, words: str
) -> None:
    monkeypatch.setattr(safe_pickle._Reader, "load", pytest.fail)
    (tmp_path / "a.pkl").write_bytes(content)
    with pytest.raises(InputError, match="is a damaged pickle file") as error:
        read_pickle(tmp_path / "a.pkl")
    assert words in messages_of(error)


def test_a_pickle_of_too_many_steps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(safe_pickle, "_MOST_STEPS", 1000)
    (tmp_path / "a.pkl").write_bytes(b"\x80\x02" + b"}" * 2000 + b".")
    with pytest.raises(InputError, match="it has more than 1,000 steps"):
        read_pickle(tmp_path / "a.pkl")
    (tmp_path / "b.pkl").write_bytes(pickle.dumps(list(range(400))))
    assert read_pickle(tmp_path / "b.pkl") == list(range(400))


# streams of DICOM


@pytest.fixture
def file(tmp_path: Path) -> Path:
    hu = np.zeros((1, 16, 12), np.int16)
    volume = make_volume(hu, spacing_mm=(0.5, 0.75, 2.0), origin_mm=(1, 2, 3))
    write_volume(volume, tmp_path / "scan", SeriesHeader("1.2.3", "1.2", "1.4", "P1"))
    return tmp_path / "scan" / "0001.dcm"


def with_stream(file: Path, stream: bytes, syntax: str) -> Any:
    data = pydicom.dcmread(file)
    data.PixelData = encapsulate([stream])
    data["PixelData"].is_undefined_length = True
    data.file_meta.TransferSyntaxUID = syntax
    data.save_as(file)
    (header,) = read_slices(file)
    return header


def siz(rows: int, columns: int, components: int) -> bytes:
    """The head of a JPEG 2000 stream."""
    sizes = struct.pack(">IIIIIIIIH", columns, rows, 0, 0, columns, rows, 0, 0, components)
    return b"\xff\x4f\xff\x51\x00\x29\x00\x00" + sizes + b"\x0f\x01\x01" * 8


@pytest.mark.parametrize(
    ("stream", "syntax", "found"),
    [
        (siz(16, 12, 16384), JPEG2000Lossless, "16 x 12 x 16384"),
        (siz(60000, 60000, 1), JPEG2000Lossless, "60000 x 60000 x 1"),
        (
            b"\xff\xd8\xff\xf7\x00\x0b\x10\xff\xff\xff\xff\x01" + bytes(60),
            JPEGLSLossless,
            "65535 x",
        ),
        (
            b"\xff\xd8\xff\xf7\x00\x0b\x10\x00\x10\x00\x0c\xff" + bytes(60),
            JPEGLSLossless,
            "12 x 255",
        ),
    ],
    ids=["components", "size", "JPEG-LS size", "JPEG-LS components"],
)
def test_a_stream_that_asks_for_more_than_a_slice(
    file: Path, stream: bytes, syntax: str, found: str
) -> None:
    header = with_stream(file, stream + bytes(100), syntax)
    with pytest.raises(PixelsError, match="has compressed pixels of") as error:
        stored_values(header)
    assert found in messages_of(error)


def test_a_good_head_before_the_stream_does_not_hide_it(file: Path) -> None:
    """The table of offsets holds the head of a stream of the right size."""
    decoy, greedy = siz(16, 12, 1) + b"\0", siz(16, 12, 16384) + bytes(100)
    data = pydicom.dcmread(file)
    parts = [(b"\xfe\xff\x00\xe0", decoy + bytes(-len(decoy) % 4)), (b"\xfe\xff\x00\xe0", greedy)]
    content = b"".join(tag + struct.pack("<I", len(part)) + part for tag, part in parts)
    data.PixelData = content + b"\xfe\xff\xdd\xe0\x00\x00\x00\x00"
    data["PixelData"].is_undefined_length = True
    data.file_meta.TransferSyntaxUID = JPEG2000Lossless
    data.save_as(file)
    (header,) = read_slices(file)
    with pytest.raises(PixelsError):
        stored_values(header)


@on_linux
def test_whatever_a_decoder_asks_for_is_bounded(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    header = with_stream(file, siz(16, 12, 1) + bytes(100), JPEG2000Lossless)

    def greedy(*_: object, **__: object) -> Any:
        return np.empty(20 * GIB, dtype=np.uint8)

    monkeypatch.setattr("pydicom.pixels.utils.pixel_array", greedy)
    monkeypatch.setattr("nodulebench.io.dicom.pixels._decoded_by_simpleitk", greedy)
    with pytest.raises(PixelsError, match="it asks for more memory than a slice can need"):
        stored_values(header)
    assert len(np.empty(2 * GIB, dtype=np.uint8)) == 2 * GIB  # afterwards there is room again


@on_linux
def test_a_deflated_dataset_that_unpacks_to_much(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory, "HEADROOM_BYTES", 32 << 20)
    data = pydicom.dcmread(file)
    data.file_meta.TransferSyntaxUID = DeflatedExplicitVRLittleEndian
    pydicom.dcmwrite(file, data, force_encoding=True, implicit_vr=False, little_endian=True)
    content = file.read_bytes()
    start = 144 + struct.unpack("<I", content[140:144])[0]
    packer = zlib.compressobj(1, wbits=-zlib.MAX_WBITS)
    bomb = b"".join([*(packer.compress(bytes(1 << 24)) for _ in range(16)), packer.flush()])
    file.write_bytes(content[:start] + bomb)
    slices = read_slices(file)
    assert isinstance(slices, NoSlices)
    assert slices.notice.code == "header_too_large"


# images and archives of numbers


def test_a_metaimage_unpacks_to_no_more_than_its_header_asks_for(tmp_path: Path) -> None:
    path = tmp_path / "scan.mha"
    volume = make_volume(np.zeros((4, 5, 6), np.int16), spacing_mm=(1, 1, 1), origin_mm=(0, 0, 0))
    metaimage.write_volume(volume, path)
    head, _, _ = path.read_bytes().partition(b"LOCAL\n")
    path.write_bytes(head + b"LOCAL\n" + zlib.compress(bytes(64 << 20), 1))
    with pytest.raises(InputError, match="holds 241 bytes of voxels, but its header asks for 240"):
        metaimage.read_volume(path)
    path.write_bytes(head.replace(b"6 5 4", b"60000 50000 40000") + b"LOCAL\n")
    with pytest.raises(InputError, match=r"asks for 223,517\.4 GiB of voxels; no CT is so large"):
        metaimage.read_volume(path)


def test_an_archive_whose_array_says_more_than_it_has() -> None:
    plain = io.BytesIO()
    np.savez(plain, a=np.arange(6).reshape(2, 3), b=np.array("text"))
    arrays = read_arrays(plain)
    assert arrays["a"].tolist() == [[0, 1, 2], [3, 4, 5]]
    assert str(arrays["b"]) == "text"
    array = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        array, {"descr": "<f8", "fortran_order": False, "shape": (10**9, 1000)}
    )
    lying = io.BytesIO()
    with zipfile.ZipFile(lying, "w") as archive:
        archive.writestr("a.npy", array.getvalue() + bytes(64))
    with pytest.raises(
        ValueError, match=r"a.npy states .1000000000, 1000., but its bytes do not fit"
    ):
        read_arrays(lying)
