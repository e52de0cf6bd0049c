"""A trained classifier <-> a numpy archive of plain arrays; those of the package by name."""

import zipfile
from dataclasses import fields
from functools import cache
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from nodulebench.algorithms.classify.network import Network
from nodulebench.algorithms.classify.support_vectors import SupportVectors
from nodulebench.errors import InputError
from nodulebench.storage.staging import staged_file
from nodulebench.storage.table_file import read_arrays

Classifier: TypeAlias = Network | SupportVectors

KINDS: dict[str, type[Network] | type[SupportVectors]] = {
    "network": Network,
    "support_vectors": SupportVectors,
}


def write_weights(path: Path, classifier: Classifier, features: tuple[str, ...]) -> None:
    """Write a classifier with the names of the features it was trained on."""
    kind = next(name for name, one in KINDS.items() if isinstance(classifier, one))
    arrays: dict[str, Any] = {
        one.name: np.asarray(getattr(classifier, one.name), dtype=np.float32)
        for one in fields(classifier)
    }
    with staged_file(path) as stage, stage.open("wb") as file:
        np.savez_compressed(file, kind=np.array(kind), features=np.array(features), **arrays)


def read_weights(path: Path, features: tuple[str, ...]) -> Classifier:
    """Read a classifier.

    Raises:
        InputError: if the file is missing, damaged, or was trained on other features.
    """
    try:
        arrays = read_arrays(path)
    except (OSError, ValueError, EOFError, zipfile.BadZipFile) as error:
        raise InputError.at(
            path, f"is no file of weights ({error}).", "Train it with `train`."
        ) from error
    kind = KINDS.get(str(arrays.get("kind")))
    if kind is None or set(arrays) != {"kind", "features", *(one.name for one in fields(kind))}:
        raise InputError.at(path, "holds no classifier of this package.", "Train it with `train`.")
    trained_on = tuple(str(name) for name in arrays["features"])
    if trained_on != features:
        raise InputError.at(
            path,
            f"was trained on the features {', '.join(trained_on)}, not on {', '.join(features)}.",
            "Train it for this detector with `train`.",
        )
    return kind(*(arrays[one.name].astype(np.float64) for one in fields(kind)))


@cache
def classifier_of(name: str, path: Path | None, features: tuple[str, ...]) -> Classifier:
    """The classifier in a file, or the packaged one of a detector."""
    if path is not None:
        return read_weights(path, features)
    with as_file(files("nodulebench.algorithms.classify") / "weights" / f"{name}.npz") as packaged:
        return read_weights(packaged, features)
