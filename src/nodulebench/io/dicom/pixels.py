"""Read the stored values of a slice, uncompressed or decoded; damage is reported, not hidden.

Compressed pixels are decoded by pydicom with any installed decoder, else by SimpleITK.
"""

import os
import struct
import warnings
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from nodulebench.core.arrays import StoredArray
from nodulebench.core.errors import InputError, Problem, first_line
from nodulebench.core.notices import Notice
from nodulebench.core.optional_packages import needs
from nodulebench.io.dicom.files import bounded_memory
from nodulebench.io.dicom.slices import PixelLayout, SliceHeader

if TYPE_CHECKING:
    from pydicom import Dataset

LARGEST_SIDE = 4096
"""Rows or columns of a CT slice; a larger number is a damaged header."""
_HEAD_BYTES = 1 << 16
_JP2 = b"\x00\x00\x00\x0cjP  "
_JPEG_SYNTAXES = "1.2.840.10008.1.2.4."
"""JPEG, JPEG-LS and JPEG 2000; other encodings do not have their markers."""


class PixelsError(InputError):
    """Pixels that cannot be used: a sentence for the caller, and a notice for tables."""

    def __init__(self, header: SliceHeader, notice: Notice, what: str, remedy: str = "") -> None:
        super().__init__(Problem(header.path, what, remedy))
        self.notice = notice


class TruncatedPixelsError(PixelsError):
    """A file that ends before its pixels do."""


def stored_values(header: SliceHeader) -> StoredArray:
    """The values, rows x columns; TruncatedPixelsError or PixelsError if they cannot be read."""
    pixels = header.pixels
    _require_supported_pixels(header, pixels)
    stored = _plain(header) if pixels.is_plain and pixels.length >= 0 else _decoded(header)
    return _within_bits(stored, pixels)


def _require_supported_pixels(header: SliceHeader, pixels: PixelLayout) -> None:
    rows, columns, bits = pixels.rows, pixels.columns, pixels.bits_allocated
    if not pixels.offset:
        raise PixelsError(header, Notice("pixels_absent"), "has no pixels.")
    if not 0 < rows <= LARGEST_SIDE or not 0 < columns <= LARGEST_SIDE:
        notice = Notice("pixels_impossible", {"rows": rows, "columns": columns})
        raise PixelsError(header, notice, f"cannot have {rows} rows and {columns} columns.")
    if pixels.samples != 1:
        notice = Notice("pixels_coloured", {"samples": pixels.samples})
        what = f"has {pixels.samples} samples per pixel, which are colours."
        raise PixelsError(header, notice, what)
    if bits not in (8, 16) or not 0 < pixels.bits_stored <= 16:
        notice = Notice("pixels_of_bits", {"bits": bits})
        raise PixelsError(header, notice, f"has {bits} bits per pixel.")


def _plain(header: SliceHeader) -> StoredArray:
    pixels = header.pixels
    have = min(pixels.length, pixels.available)
    needed = pixels.frame_bytes * pixels.frames
    if have < needed:
        size = f"{pixels.rows} x {pixels.columns}"
        size += f" x {pixels.frames}" if pixels.frames > 1 else ""
        notice = Notice("pixels_too_few", {"bytes": have, "size": size, "needed": needed})
        what = f"holds {have} bytes of pixels where {size} need {needed}."
        raise TruncatedPixelsError(header, notice, what, "Copy the file again.")
    sign = "i" if pixels.is_signed else "u"
    try:
        with open(header.path, "rb") as file:  # noqa: PTH123 - a Path costs as much as the reading
            file.seek(pixels.offset + header.frame * pixels.frame_bytes)
            content = file.read(pixels.frame_bytes)
    except OSError as error:
        notice = Notice("pixels_gone", {"error": str(error.strerror)})
        what = f"can no longer be read ({error.strerror})."
        raise PixelsError(header, notice, what) from error
    if len(content) < pixels.frame_bytes:
        notice = Notice("pixels_cut_off")
        raise TruncatedPixelsError(header, notice, "was cut off while it was read.")
    values = np.frombuffer(content, dtype=f"<{sign}{pixels.bits_allocated // 8}")
    return values.reshape(pixels.rows, pixels.columns)


def _decoded(header: SliceHeader) -> StoredArray:
    with needs("images", "DICOM"):
        from pydicom.pixels.utils import pixel_array
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            state = os.stat(header.path)  # noqa: PTH116
            with bounded_memory(8 * state.st_size + 64 * header.pixels.frame_bytes):
                data = _whole_file(header.path, state.st_mtime_ns)
                _require_same_size(header, data)
                if not _has_decoder(header.pixels.transfer_syntax):
                    return _decoded_by_simpleitk(header)
                values = pixel_array(data, index=header.frame, raw=True)
        except InputError:
            raise
        except MemoryError as error:
            raise _damaged(header, "it asks for more memory than a slice can need") from error
        except Exception as error:  # damaged streams break decoders in any way
            raise _damaged(header, first_line(error)) from error
    return _checked(header, values)


@lru_cache(maxsize=1)
def _whole_file(path: str, time_ns: int) -> "Dataset":  # noqa: ARG001 - a changed file is read again
    """A file with its pixels, cached so that a file of many frames is read once."""
    with needs("images", "DICOM"):
        import pydicom
    return pydicom.dcmread(path, force=True)


def _has_decoder(syntax: str) -> bool:
    """Whether pydicom can decode it; SimpleITK is slower, and may hang on damaged streams."""
    from pydicom.pixels.decoders.base import get_decoder

    try:
        return bool(get_decoder(syntax).is_available)
    except NotImplementedError:
        return False


def _decoded_by_simpleitk(header: SliceHeader) -> StoredArray:
    """A slice for which pydicom has no decoder; SimpleITK gives HU, so rescaling is undone."""
    with needs("images", "compressed DICOM"):
        import SimpleITK
    SimpleITK.ProcessObject.SetGlobalWarningDisplay(False)  # type: ignore[no-untyped-call]
    try:
        values = SimpleITK.GetArrayFromImage(SimpleITK.ReadImage(header.path))
    except RuntimeError as error:
        reason = str(error).strip().splitlines()[-1][:200]
        raise _damaged(header, reason) from error
    slope, intercept = header.slope or 1.0, header.intercept or 0.0
    if values.ndim != 3 or header.frame >= len(values):
        raise _damaged(header, f"decoded to the shape {values.shape}")
    unscaled = np.rint((values[header.frame] - intercept) / slope)
    return _checked(header, unscaled.astype(np.int32))


def _checked(header: SliceHeader, values: StoredArray) -> StoredArray:
    expected = (header.pixels.rows, header.pixels.columns)
    if values.shape != expected:
        raise _damaged(header, f"decoded to {values.shape}, not to {expected}")
    return values


def _require_same_size(header: SliceHeader, data: "Dataset") -> None:
    """Reject a stream that states another size, for which a decoder would allocate memory."""
    pixels, content = header.pixels, data.get("PixelData")
    if content is None:
        raise PixelsError(header, Notice("pixels_absent"), "has no pixels.")
    if pixels.frames * pixels.frame_bytes > len(content) * 1000:
        notice = Notice("pixels_hardly_any", {"bytes": len(content)})
        what = f"holds only {len(content)} bytes of compressed pixels."
        raise TruncatedPixelsError(header, notice, what)
    is_jpeg = pixels.transfer_syntax.startswith(_JPEG_SYNTAXES)
    size = stream_size(_frame_head(data, header)) if is_jpeg else None
    if size is not None and size != (pixels.rows, pixels.columns, 1):
        stream, stated = " x ".join(map(str, size)), f"{pixels.rows} x {pixels.columns} x 1"
        notice = Notice("pixels_of_another_size", {"stream": stream, "stated": stated})
        what = f"has compressed pixels of {stream} where its header says {stated}."
        raise PixelsError(header, notice, what)


def _frame_head(data: "Dataset", header: SliceHeader) -> bytes:
    from pydicom.encaps import get_frame

    frames = header.pixels.frames
    frame = get_frame(data.PixelData, header.frame, number_of_frames=frames)
    head = _codestream(frame[:_HEAD_BYTES])
    if not head.startswith((b"\xff\x4f\xff\x51", b"\xff\xd8\xff")):
        raise _damaged(header, "no stream of JPEG, JPEG-LS or JPEG 2000 begins there")
    return head


def _codestream(head: bytes) -> bytes:
    """The codestream in a JP2 file, which some archives send; else the bytes as given."""
    place = 0
    while head.startswith(_JP2) and 0 <= place < len(head) - 8:
        length = int.from_bytes(head[place : place + 4], "big")
        if head[place + 4 : place + 8] == b"jp2c":
            return head[place + 8 :]
        place += max(length, 8)
    return head


def stream_size(content: bytes) -> tuple[int, int, int] | None:
    """Rows, columns, components that a JPEG 2000, JPEG or JPEG-LS stream states; None: not found.

    Decoders allocate memory for them before they read on.
    """
    start = content.find(b"\xff\x4f\xff\x51")
    if start >= 0 and len(content) >= start + 42:
        right, bottom, left, top = struct.unpack(">IIII", content[start + 8 : start + 24])
        (components,) = struct.unpack(">H", content[start + 40 : start + 42])
        return (bottom - top, right - left, components)
    place = content.find(b"\xff\xd8\xff")
    place += 2
    while 2 <= place < len(content) - 10 and content[place] == 0xFF:
        marker = content[place + 1]
        # start of frame: baseline to lossless (ITU-T T.81), and JPEG-LS (T.87)
        if (0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC)) or marker == 0xF7:
            rows, columns = struct.unpack(">HH", content[place + 5 : place + 9])
            return (rows, columns, content[place + 9])
        place += 2 + int.from_bytes(content[place + 2 : place + 4], "big")
    return None


def _damaged(header: SliceHeader, error: str) -> PixelsError:
    notice = Notice("pixels_undecoded", {"error": error})
    return PixelsError(header, notice, f"has pixels that cannot be decoded ({error}).")


def _within_bits(stored: StoredArray, pixels: PixelLayout) -> StoredArray:
    """Clear the unused high bits, which hold overlays or a sign that was not extended."""
    if pixels.bits_stored >= pixels.bits_allocated:
        return stored
    low = -(1 << (pixels.bits_stored - 1)) if pixels.is_signed else 0
    high = low + (1 << pixels.bits_stored)
    if stored.min() >= low and stored.max() < high:
        return stored
    cut = stored.astype(np.int32) & ((1 << pixels.bits_stored) - 1)
    return np.where(cut >= high, cut - (1 << pixels.bits_stored), cut)
