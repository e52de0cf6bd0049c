from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from nodulebench.core.errors import InputError
from nodulebench.detection.networks.examples import (
    Examples,
    read_examples,
)


@pytest.mark.parametrize(
    "name", ["scans", "seen", "fold", "places", "is_nodule", "is_learnt", "is_judged"]
)
def test_examples_that_do_not_fit_together_are_refused(
    name: str, folder: Path, tmp_path: Path
) -> None:
    for path in folder.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    np.save(tmp_path / f"{name}.npy", np.load(tmp_path / f"{name}.npy")[:-1])

    with pytest.raises(InputError, match="do not fit together"):
        read_examples(tmp_path)


def test_examples_that_were_changed_are_refused(folder: Path, tmp_path: Path) -> None:
    for path in folder.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    is_nodule = np.load(tmp_path / "is_nodule.npy")
    np.save(tmp_path / "is_nodule.npy", ~is_nodule)

    with pytest.raises(InputError, match="were changed after they were written"):
        read_examples(tmp_path)


def test_packed_and_plain_voxels_are_the_same_examples(
    folder: Path, examples: Examples, tmp_path: Path
) -> None:
    for path in folder.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    (tmp_path / "voxels.npy.xz").unlink()
    np.save(tmp_path / "voxels.npy", examples.scans.voxels.numpy())

    assert read_examples(tmp_path).digest == examples.digest


def test_flags_choose_training_and_scored_candidates(examples: Examples) -> None:
    every = torch.arange(len(examples.which))
    some = replace(examples, is_trained_on=every % 2 == 0, is_scored=every % 3 == 0)

    assert set(some.training_candidates([0, 1]).tolist()) == {
        index for index in range(24) if index % 2 == 0
    }
    assert set(some.scored_candidates([1]).tolist()) == {
        index for index in range(12, 24) if index % 3 == 0
    }


def test_pickles_are_never_read(folder: Path, tmp_path: Path) -> None:
    for path in folder.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    np.save(tmp_path / "places.npy", np.array([{"a": 1}], dtype=object), allow_pickle=True)

    with pytest.raises(InputError, match="cannot be read as examples"):
        read_examples(tmp_path)
