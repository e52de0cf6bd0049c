"""Read pickle files of numbers, text, containers and numpy arrays without running them.

A pickle is a program: reading one as Python does lets the file run anything. This reader builds
arrays itself from the description in the file, and rejects a file that asks for anything else.
"""

import pickle
import pickletools
import re
from collections import OrderedDict
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from nodulebench.core.arrays import StoredArray
from nodulebench.core.errors import InputError
from nodulebench.core.json_types import JsonValue
from nodulebench.io.csv_files import open_bytes

_MOST_BYTES = 1 << 28
_MOST_STEPS = 2_000_000
"""Instructions of a pickle; each may make an object."""
_NUMBER_TYPE = re.compile(r"[<>|=]?[biuf]\d{1,2}")
_DAMAGED = (
    pickle.UnpicklingError,
    EOFError,
    AttributeError,
    LookupError,
    MemoryError,
    OverflowError,
    RecursionError,
    TypeError,
    ValueError,
)


_Placeholder: TypeAlias = Callable[..., object]
_Stored: TypeAlias = str | bytes
_Shape: TypeAlias = tuple[int, ...]


class _RejectedError(Exception):
    """The file asks for an object that is not data."""


def read_pickle(path: Path) -> JsonValue:
    """The value in a pickle file of limited size, if it is only data; arrays support np.asarray."""
    with open_bytes(path) as file:
        content = file.read(_MOST_BYTES + 1)
        if len(content) > _MOST_BYTES:
            raise InputError.at(path, f"is larger than {_MOST_BYTES >> 20} MB.")
        try:
            _require_small(content)
            return _Reader(BytesIO(content)).load()
        except _RejectedError as error:
            raise InputError.at(
                path,
                f"holds '{error}', which is not allowed: a pickle can run code, so only numbers, "
                "text, containers and numpy arrays of numbers are read.",
                "Save boxes and scores as numpy arrays.",
            ) from error
        except _DAMAGED as error:
            reason = str(error) or type(error).__name__
            raise InputError.at(path, f"is a damaged pickle file ({reason}).") from error


def _require_small(content: bytes) -> None:
    """Reject a pickle that asks for more memory than it has bytes, before any of it is run.

    Lengths are compared with the length of the file. The memo grows to the largest number that
    is asked for, so no number may exceed the number of steps before it.
    """
    for step, (code, value, _) in enumerate(pickletools.genops(content)):
        number = value if isinstance(value, int) else 0
        if step > _MOST_STEPS:
            raise ValueError(f"it has more than {_MOST_STEPS:,} steps")
        if code.name in ("PUT", "BINPUT", "LONG_BINPUT") and not 0 <= number <= step:
            raise ValueError(f"it asks for {number:,} places at its step {step:,}")
        if code.name == "FRAME" and number > len(content):
            raise ValueError(f"it asks for {number:,} bytes, and has {len(content):,}")


class _Reader(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> _Placeholder:
        placeholder = _PLACEHOLDER.get((module.replace("numpy._core", "numpy.core"), name))
        if placeholder is None:
            raise _RejectedError(f"{module}.{name}")
        return placeholder


class _NumberType:
    """Placeholder of numpy.dtype."""

    def __init__(self, text: object, *_: object) -> None:
        if not isinstance(text, str) or not _NUMBER_TYPE.fullmatch(text):
            raise _RejectedError(f"an array of {text}")
        self.text = text.lstrip("<>|=")
        self.order = "="

    def __setstate__(self, state: tuple[object, str]) -> None:
        self.order = state[1] if state[1] in ("<", ">", "|") else "="

    def array(self, data: _Stored, shape: _Shape, order: object = "C") -> StoredArray:
        raw = data.encode("latin1") if isinstance(data, str) else bytes(data)
        flat = np.frombuffer(raw, dtype=np.dtype(self.order.replace("|", "=") + self.text))
        return flat.reshape(shape, order="F" if order == "F" else "C")


class _Array:
    """Placeholder of numpy.ndarray."""

    def __init__(self, *_: object) -> None:
        self.values: StoredArray = np.empty(0)

    def __setstate__(self, state: tuple[object, _Shape, _NumberType, bool, _Stored]) -> None:
        _, shape, number_type, is_fortran, data = state
        self.values = number_type.array(data, shape, "F" if is_fortran else "C")

    def __array__(
        self, dtype: npt.DTypeLike | None = None, copy: bool | None = None
    ) -> StoredArray:
        return np.array(self.values, dtype=dtype, copy=copy is not False)


def _array_of_buffer(
    data: _Stored, number_type: _NumberType, shape: _Shape, order: object, *_: object
) -> StoredArray:
    return number_type.array(data, shape, order)


def _latin_bytes(text: str, encoding: str) -> bytes:
    """Old pickles write bytes as Latin-1 text."""
    if encoding != "latin1":
        raise _RejectedError(f"text in {encoding}")
    return text.encode("latin1")


_PLACEHOLDER: dict[tuple[str, str], _Placeholder] = {
    ("numpy", "dtype"): _NumberType,
    ("numpy", "ndarray"): _Array,
    ("numpy.core.multiarray", "_reconstruct"): _Array,
    ("numpy.core.multiarray", "scalar"): lambda number_type, data: number_type.array(
        data, ()
    ).item(),
    ("numpy.core.numeric", "_frombuffer"): _array_of_buffer,
    ("collections", "OrderedDict"): OrderedDict,
    ("_codecs", "encode"): _latin_bytes,
    # old pickles write the bytes of an empty array as a call without arguments
    ("__builtin__", "bytes"): lambda: b"",
}
