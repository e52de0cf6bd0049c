"""Pixels -> a PNG file, grey or in the colours of a palette."""

import struct
import zlib

import numpy as np
import numpy.typing as npt


def png(pixels: npt.NDArray[np.uint8], palette: npt.NDArray[np.uint8] | None = None) -> bytes:
    """A picture as a PNG file.

    Args:
        pixels: rows and columns of grey values, or of numbers of colours.
        palette: red, green and blue of every colour.
    """
    height, width = pixels.shape
    lines = b"".join(b"\0" + line.tobytes() for line in np.ascontiguousarray(pixels))
    header = struct.pack(">IIBBBBB", width, height, 8, 0 if palette is None else 3, 0, 0, 0)
    colours = [] if palette is None else [(b"PLTE", palette.tobytes())]
    parts = [(b"IHDR", header), *colours, (b"IDAT", zlib.compress(lines, 9)), (b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in parts
    )
