import os
import pickle
from collections import OrderedDict
from pathlib import Path

import numpy as np
import pytest

from nodulebench.core.errors import InputError
from nodulebench.io.marks import safe_pickle
from nodulebench.io.marks.safe_pickle import read_pickle


class Hostile:
    """Runs a command when a pickle of it is read as Python reads pickles."""

    def __init__(self, command: str) -> None:
        self.command = command

    def __reduce__(self) -> tuple:
        return os.system, (self.command,)


def pickled(folder: Path, value: object, protocol: int | None = None) -> Path:
    path = folder / "x.pkl"
    path.write_bytes(pickle.dumps(value, protocol=protocol))
    return path


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_arrays_of_every_protocol_are_read(tmp_path: Path, protocol: int) -> None:
    value = {
        "rows": np.arange(12.0).reshape(3, 4),
        "single": np.array([1.5, -2.5], dtype=np.float32),
        "columns": np.asfortranarray(np.arange(6).reshape(2, 3)),
        "big-endian": np.array([1, 258], dtype=">i4"),
        "none": np.empty((0, 6)),
        "truths": np.array([True, False]),
    }
    content = read_pickle(pickled(tmp_path, value, protocol))
    for name, array in value.items():
        assert np.asarray(content[name]).shape == array.shape
        assert np.array_equal(np.asarray(content[name]), array)


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_plain_values_are_read(tmp_path: Path, protocol: int) -> None:
    value = {"number": np.float64(3.5), "rest": [1, "x", None, True, (2.5,), OrderedDict(a=b"b")]}
    assert read_pickle(pickled(tmp_path, value, protocol)) == value


def test_code_in_a_pickle_is_refused_and_not_run(tmp_path: Path) -> None:
    victim = tmp_path / "run"
    for value in (
        Hostile(f"touch {victim}"),
        [Hostile(f"touch {victim}")],
        np.array([Hostile(f"touch {victim}")], dtype=object),
    ):
        with pytest.raises(
            InputError, match="which is not allowed: a pickle can run code, so only"
        ):
            read_pickle(pickled(tmp_path, value))
    assert not victim.exists()


@pytest.mark.parametrize(
    ("value", "named"),
    [
        (print, "builtins.print"),
        (np.array(["text"]), "an array of U4"),
        (np.zeros(2, dtype=[("a", "f8")]), "an array of V8"),
        (Path("x"), "pathlib.PosixPath"),
    ],
)
def test_what_is_refused_is_named(tmp_path: Path, value: object, named: str) -> None:
    with pytest.raises(InputError, match=f"x.pkl: holds '{named}', which is not allowed"):
        read_pickle(pickled(tmp_path, value))


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\x80\x04",
        b"not a pickle",
        b"\x80\x04\x95\xff\xff\xff\xff\xff\xff\xff\x7f",
        pickle.dumps({"a": np.arange(100.0)})[:-20],
        # an array of two numbers that brings the bytes of one
        pickle.dumps(np.zeros(2), protocol=0).replace(b"(I2\n", b"(I3\n"),
    ],
)
def test_a_damaged_pickle_is_reported(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "x.pkl"
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"x\.pkl: is a damaged pickle file \("):
        read_pickle(path)


def test_random_damage_never_escapes(tmp_path: Path) -> None:
    chance = np.random.default_rng(5)
    whole = np.frombuffer(pickle.dumps({"a": np.arange(50.0), "b": [1, "x"]}), dtype=np.uint8)
    path = tmp_path / "x.pkl"
    outcomes = set()
    for _ in range(500):
        bent = whole.copy()
        # the first opcodes and the array's description are the places where damage is worst
        bent[chance.integers(0, 150, size=3)] = chance.integers(0, 128, size=3)
        path.write_bytes(bent.tobytes())
        try:
            read_pickle(path)
            outcomes.add("read")
        except InputError:
            outcomes.add("refused")
    assert outcomes == {"read", "refused"}


def test_a_pickle_larger_than_any_prediction_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(safe_pickle, "_MOST_BYTES", 1 << 20)
    with pytest.raises(InputError, match=r"x\.pkl: is larger than 1 MB\."):
        read_pickle(pickled(tmp_path, bytes(1 << 21)))


def test_text_in_another_encoding_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.pkl").write_bytes(b"c_codecs\nencode\n(Vx\nVrot13\ntR.")
    with pytest.raises(InputError, match="holds 'text in rot13', which is not allowed"):
        read_pickle(tmp_path / "x.pkl")
