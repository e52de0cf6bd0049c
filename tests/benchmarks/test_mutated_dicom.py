"""Mutated DICOM files never break the reader: a short form of the fuzzing benchmark."""

from pathlib import Path

import numpy as np
import pytest
from benchmarks.fuzz_dicom import encodings, mutated, read
from hypothesis import given, settings
from hypothesis import strategies as st

from nodulebench.imaging.volume import make_volume
from nodulebench.io.dicom.header import SeriesHeader
from nodulebench.io.dicom.volumes import write_volume


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> list[bytes]:
    """One slice in plain explicit, plain implicit and run-length encoding."""
    folder = tmp_path_factory.mktemp("seed")
    hu = np.random.default_rng(0).integers(-1000, 1000, (1, 256, 256)).astype(np.int16)
    header = SeriesHeader("1.2.3", "1.2", "1.4", "P1")
    write_volume(make_volume(hu, spacing_mm=(1, 1, 1)), folder / "scan", header)
    return encodings(folder / "scan" / "0001.dcm")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("input") / "input.dcm"


@given(number=st.integers(0, 2), seed=st.integers(0, 2**32))
@settings(max_examples=150)
def test_a_mutated_file_is_read_excluded_or_reported_as_damaged(
    inputs: list[bytes], place: Path, number: int, seed: int
) -> None:
    place.write_bytes(mutated(inputs[number], np.random.default_rng(seed)))
    assert read(place) in ("damaged", "excluded", "admitted")


def test_mutations_change_the_input_and_come_again_with_the_seed(inputs: list[bytes]) -> None:
    first, other = (mutated(inputs[0], np.random.default_rng(5)) for _ in range(2))
    assert first == other != inputs[0]
