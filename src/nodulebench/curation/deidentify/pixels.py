"""A slice's Pixel Data -> only its image: no bytes after it, no unused bits.

Compressed images are decoded and written uncompressed, which removes comments, bytes after the end,
offset tables and anything else in a stream. Bits that are not part of a value are set by the sign
of the value, so that nothing can be drawn there.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from nodulebench.core.arrays import StoredArray
from nodulebench.curation.deidentify.codec import HeaderElement, NotCleanableError
from nodulebench.io.dicom.files import whole_of
from nodulebench.io.dicom.pixels import LARGEST_SIDE, PixelsError, stored_values
from nodulebench.io.dicom.slices import EXPLICIT_LITTLE, MOST_FRAMES, NoSlices, read_slices

if TYPE_CHECKING:
    from pydicom.dataset import Dataset


DEFLATED = "1.2.840.10008.1.2.1.99"
UNCOMPRESSED = {
    "1.2.840.10008.1.2": "<",
    EXPLICIT_LITTLE: "<",
    DEFLATED: "<",
    "1.2.840.10008.1.2.2": ">",
}
"""Transfer syntaxes with uncompressed pixels, and their byte order."""
_FORM_WORDS = "Rows Columns BitsAllocated BitsStored HighBit PixelRepresentation"


@dataclass(frozen=True, slots=True)
class Picture:
    """The image of a slice."""

    frames: StoredArray
    """Frames x rows x columns, as stored."""
    content: bytes
    """The new content of Pixel Data."""
    syntax: str
    """The transfer syntax in which it is written."""

    @property
    def kind(self) -> str:
        return "OB" if self.frames.dtype.itemsize == 1 else "OW"


def picture_in(dataset: "Dataset", element: HeaderElement, path: Path) -> Picture:
    syntax = str(dataset.file_meta.TransferSyntaxUID)
    form = _Form.of(dataset)
    if syntax in UNCOMPRESSED:
        return _plain(bytes(element.value or b""), form, syntax)
    return _decoded(path, form)


def _plain(value: bytes, form: "_Form", syntax: str) -> Picture:
    dtype = np.dtype(f"{UNCOMPRESSED[syntax]}{'i' if form.is_signed else 'u'}{form.size}")
    if form.size == 1 and dtype.byteorder == ">":
        raise NotCleanableError("pixels_unknown")
    needed = form.frames * form.rows * form.columns * form.size
    if len(value) < needed:
        size = f"{form.frames} x {form.rows} x {form.columns}"
        raise NotCleanableError("pixels_too_few", bytes=len(value), size=size, needed=needed)
    content = value if len(value) == needed else value[:needed]
    frames = np.frombuffer(content, dtype).reshape(form.frames, form.rows, form.columns)
    within = form.within_bits(frames)
    written = EXPLICIT_LITTLE if syntax == DEFLATED else syntax
    return Picture(within, content if within is frames else within.tobytes(), written)


def _decoded(path: Path, form: "_Form") -> Picture:
    headers = read_slices(path)
    if isinstance(headers, NoSlices):
        raise NotCleanableError.from_notice(headers.notice)
    if len(headers) != form.frames:
        raise NotCleanableError("frames_undescribed", count=len(headers), of=form.frames)
    dtype = np.dtype(f"<{'i' if form.is_signed else 'u'}{form.size}")
    try:
        stored = [stored_values(header).astype(dtype) for header in headers]
    except PixelsError as error:
        raise NotCleanableError.from_notice(error.notice) from error
    frames = form.within_bits(np.stack(stored))
    return Picture(frames, frames.tobytes(), EXPLICIT_LITTLE)


@dataclass(frozen=True, slots=True)
class _Form:
    """The form of the pixels, as stated by a header."""

    rows: int
    columns: int
    frames: int
    size: int
    """Bytes of a value."""
    low: int
    """Bits below the value."""
    stored: int
    """Bits of the value."""
    is_signed: bool

    @classmethod
    def of(cls, dataset: "Dataset") -> "_Form":
        """Read the form from a header; refused if CT slices do not have it."""
        samples = whole_of(dataset, "SamplesPerPixel") or 1
        if samples != 1:
            raise NotCleanableError("pixels_coloured", samples=samples)
        rows, columns, allocated, stored, high, sign = (
            whole_of(dataset, name) or 0 for name in _FORM_WORDS.split()
        )
        frames = whole_of(dataset, "NumberOfFrames") or 1
        is_sound = (
            0 < rows <= LARGEST_SIDE
            and 0 < columns <= LARGEST_SIDE
            and 0 < frames <= MOST_FRAMES
            and allocated in (8, 16)
            and 0 < stored <= high + 1 <= allocated
        )
        if not is_sound:
            raise NotCleanableError("pixels_unknown")
        return cls(rows, columns, frames, allocated // 8, high + 1 - stored, stored, sign == 1)

    def within_bits(self, frames: StoredArray) -> StoredArray:
        """The same values with unused bits cleared."""
        above = 8 * self.size - self.low - self.stored
        if above == self.low == 0:
            return frames
        least = -(1 << (self.stored - 1)) if self.is_signed else 0
        if self.low == 0 and least <= frames.min() and frames.max() < least + (1 << self.stored):
            return frames
        # shifted to the top and back, the sign fills the bits above
        return (frames << above >> (above + self.low) << self.low).astype(frames.dtype)
