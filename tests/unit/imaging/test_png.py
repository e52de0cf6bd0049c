import struct
import zlib

import numpy as np

from nodulebench.imaging.rasters import png


def chunks(content):
    """The parts of a PNG file by their kinds; each has the check that belongs to it."""
    assert content[:8] == b"\x89PNG\r\n\x1a\n"
    result, at = {}, 8
    while at < len(content):
        (length,) = struct.unpack(">I", content[at : at + 4])
        kind, data = content[at + 4 : at + 8], content[at + 8 : at + 8 + length]
        assert content[at + 8 + length : at + 12 + length] == struct.pack(
            ">I", zlib.crc32(kind + data)
        )
        result[kind] = data
        at += 12 + length
    return result


def test_grey_pixels_stand_line_by_line():
    parts = chunks(png(np.array([[0, 128], [255, 1], [2, 3]], np.uint8)))
    assert parts[b"IHDR"] == struct.pack(">IIBBBBB", 2, 3, 8, 0, 0, 0, 0)
    assert zlib.decompress(parts[b"IDAT"]) == bytes([0, 0, 128, 0, 255, 1, 0, 2, 3])
    assert b"PLTE" not in parts


def test_numbers_of_colours_come_with_their_palette():
    palette = np.array([[0, 0, 0], [255, 140, 0]], np.uint8)
    parts = chunks(png(np.array([[1, 0]], np.uint8), palette))
    assert parts[b"IHDR"][9] == 3
    assert parts[b"PLTE"] == bytes([0, 0, 0, 255, 140, 0])
    assert list(parts) == [b"IHDR", b"PLTE", b"IDAT", b"IEND"]
