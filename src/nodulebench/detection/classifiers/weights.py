"""A detector with a classifier: its weights <-> numpy archives of plain arrays, and its scores.

The package has each classifier eleven times: trained on all that was at hand, and ten times without
one fold of LUNA16's scans. A scan that was used for training is scored by those without its fold;
its fold is known from a digest of its series UID.
"""

import json
import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cache
from importlib.resources import as_file, files
from pathlib import Path
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from nodulebench.core.arrays import FloatArray
from nodulebench.core.errors import InputError
from nodulebench.core.json_types import JsonObject
from nodulebench.core.registry import Registry
from nodulebench.detection.classifiers.models import Ensemble, Examples, Network, SupportVectors
from nodulebench.detection.held_out import SeriesByFold, digests_by_fold, fold_of, series_digest
from nodulebench.detection.scan import Candidates, Chest
from nodulebench.io.atomic import staged_file
from nodulebench.io.table_files import read_arrays

Classifier: TypeAlias = Network | SupportVectors | Ensemble

KINDS: dict[str, type[Network] | type[SupportVectors] | type[Ensemble]] = {
    "network": Network,
    "support_vectors": SupportVectors,
    "ensemble": Ensemble,
}
_PACKAGED = files("nodulebench.detection.classifiers") / "trained"
SEEN = "seen.json"
"""Of the package: digests of the series that were used, and their folds."""


@dataclass(frozen=True, slots=True)
class Origin:
    """Whose classifier a file holds, and which folds it was trained on."""

    name: str = ""
    """The detector, or ``second_look``; empty: the file does not state it."""
    folds: tuple[int, ...] = ()
    """Folds that it was trained on; none: the file does not state them."""


def write_weights(
    path: Path,
    classifier: Classifier,
    features: tuple[str, ...],
    name: str = "",
    folds: Sequence[int] = (),
) -> None:
    kind = next(name for name, class_ in KINDS.items() if isinstance(classifier, class_))
    arrays: JsonObject = {
        field.name: _stored(getattr(classifier, field.name)) for field in fields(classifier)
    }
    if name:
        arrays |= {"name": np.array(name), "folds": np.array(folds, dtype=np.int64)}
    with staged_file(path) as stage, stage.open("wb") as file:
        np.savez_compressed(file, kind=np.array(kind), features=np.array(features), **arrays)


def _stored(values: FloatArray) -> npt.NDArray[np.generic]:
    """Values in single precision, of an ensemble in half: its mean hides the difference."""
    return np.asarray(values, dtype=np.float16 if values.ndim == 3 else np.float32)


def read_weights(path: Path, features: tuple[str, ...]) -> Classifier:
    """Read a classifier.

    Raises:
        InputError: if the file is missing, damaged, or was trained on other features.
    """
    kind, arrays = _read(path)
    trained_on = tuple(str(name) for name in arrays["features"])
    if trained_on != features:
        what = f"was trained on the features {', '.join(trained_on)}, not on {', '.join(features)}."
        raise InputError.at(path, what, "Train it for this detector with `train`.")
    return kind(*(arrays[field.name].astype(np.float64) for field in fields(kind)))


def read_origin(path: Path) -> Origin:
    _, arrays = _read(path)
    folds = arrays.get("folds", ())
    return Origin(str(arrays.get("name", "")), tuple(int(fold) for fold in folds))


def holds_classifier(path: Path) -> bool:
    try:
        _read(path)
    except InputError:
        return False
    return True


def _read(path: Path) -> tuple[type[Classifier], JsonObject]:
    try:
        arrays = read_arrays(path)
    except (OSError, ValueError, EOFError, zipfile.BadZipFile) as error:
        raise InputError.at(
            path, f"is not a file of weights ({error}).", "Train it with `train`."
        ) from error
    kind = KINDS.get(str(arrays.get("kind")))
    own = {"kind", "features", *(() if kind is None else (field.name for field in fields(kind)))}
    if kind is None or arrays.keys() - {"name", "folds"} != own:
        raise InputError.at(path, "holds no classifier of this package.", "Train it with `train`.")
    return kind, arrays


@cache
def classifier_of(
    name: str, path: Path | None, features: tuple[str, ...], fold: int | None = None
) -> Classifier:
    if path is not None:
        return read_weights(path, features)
    with as_file(_PACKAGED / packaged_name(name, fold)) as packaged:
        return read_weights(packaged, features)


def packaged_name(name: str, fold: int | None) -> str:
    return f"{name}-all.npz" if fold is None else f"{name}-without-{fold}.npz"


def write_seen(path: Path, folds: Mapping[str, int]) -> None:
    seen = digests_by_fold((series_digest(series), fold) for series, fold in folds.items())
    with staged_file(path) as stage:
        stage.write_text(json.dumps(seen, indent=0) + "\n", encoding="utf-8")


def fold_of_series(*names: str) -> int | None:
    """The fold whose weights never saw a scan of these names; None: no weights ever saw it."""
    folds = (fold_of(series_digest(name), _seen()) for name in names)
    return next((fold for fold in folds if fold is not None), None)


@cache
def _seen() -> SeriesByFold:
    listed = json.loads((_PACKAGED / SEEN).read_text(encoding="utf-8"))
    return {int(fold): digests for fold, digests in listed.items()}


@dataclass(frozen=True, eq=False)
class Measured:
    """Candidates as a detector found them, before a classifier."""

    candidates: Candidates
    features: FloatArray
    """A row per candidate."""
    names: tuple[str, ...]
    """Of the columns."""


def apply_classifier(
    name: str, measured: Measured, weights: Path | None, least_score: float, fold: int | None = None
) -> Candidates:
    """The candidates whose probability is at least ``least_score``, with it as their score.

    ``fold``: of the packaged weights, those that never saw it.
    """
    candidates = measured.candidates
    if not len(candidates):
        return candidates
    score = classifier_of(name, weights, measured.names, fold).score(measured.features)
    is_likely = score >= least_score
    return Candidates(
        candidates.center_mm[is_likely], score[is_likely], candidates.diameter_mm[is_likely]
    )


@dataclass(frozen=True)
class Trained:
    """A detector with a classifier: how its candidates are found and its classifier is trained."""

    names: tuple[str, ...]
    """Of the features."""
    find: Callable[[Chest], Measured]
    """Candidates before the classifier."""
    train: Callable[[Examples, int], Classifier]
    """Examples, seed -> classifier."""
    least_score: float = 0.0
    """Candidates below are not reported."""
    propose: Callable[[Chest], Candidates] | None = None
    """The same candidates without features, where all are reported; None: found with them."""


TRAINED: Registry[Trained] = Registry(
    "trained detector",
    "trained_detectors",
    {
        "etrocad": "nodulebench.detection.candidates.etrocad:TRAINED",
        "m5l": "nodulebench.detection.candidates.m5l:TRAINED",
        "mot_m5lv1": "nodulebench.detection.candidates.mot_m5lv1:TRAINED",
        "second_look": "nodulebench.detection.classifiers.false_positive_reduction:TRAINED",
    },
)
