"""A folder of arrays <-> candidates to learn from: scans, places in them, which are nodules.

The folder holds plain numpy files, so that a bare machine with a GPU can read it:

    voxels.npy.xz   all voxels of all scans, one scan after the other (or voxels.npy)
    scans.npy       scans x 6: slices, rows, columns, spacing along each in mm
    seen.npy        scans x 6: first and last slice, row, column that are seen when it is scored
    fold.npy        scans: the fold of each; -1: none, it is never trained on
    places.npy      candidates x 4: scan, voxel index z, y, x
    is_nodule.npy   candidates
    is_learnt.npy   candidates to train on: not those on findings that are neither
    is_judged.npy   candidates to score: those of the list that a system is made of
    findings.npy    findings x 6: scan, voxel index z, y, x, diameter in mm, 1: a nodule, 0: ignored
    examples.json   units of the voxels, digests of the series, description of the data
"""

import hashlib
import io
import json
import lzma
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from nodulebench.core.errors import InputError
from nodulebench.core.json_types import JsonObject
from nodulebench.detection.held_out import digests_by_fold
from nodulebench.detection.networks.patches import Scans

SCHEMA = "nodulebench/network-examples@1"
ABOUT = "examples.json"
_ARRAYS = (
    "voxels",
    "scans",
    "seen",
    "fold",
    "places",
    "is_nodule",
    "is_learnt",
    "is_judged",
    "findings",
)
_TENSORS = (
    "scans",
    "seen",
    "fold",
    "which",
    "place",
    "is_nodule",
    "is_trained_on",
    "is_scored",
    "findings",
)
_PACKING = 4
"""Of xz: more hardly packs voxels of CT better, and takes far longer."""


@dataclass(frozen=True, eq=False)
class Examples:
    """Candidates of many scans."""

    scans: Scans
    seen: Tensor
    """scans x 2 x 3: first and last voxel that may be seen when a scan is scored."""
    fold: Tensor
    """Of each scan; -1: of none."""
    which: Tensor
    """The scan of each candidate."""
    place: Tensor
    """candidates x 3: voxel index z, y, x."""
    is_nodule: Tensor
    is_trained_on: Tensor
    is_scored: Tensor
    findings: Tensor
    """findings x 6: scan, voxel index z, y, x, diameter in mm, whether it is a nodule."""
    series: tuple[str, ...] = ()
    """Of each scan the digest of its series."""
    about: JsonObject = field(default_factory=dict)

    def to(self, device: torch.device | str) -> "Examples":
        return replace(self, **{name: getattr(self, name).to(device) for name in _TENSORS})

    def training_candidates(self, folds: Sequence[int]) -> Tensor:
        return self._of_folds(folds, self.is_trained_on)

    def scored_candidates(self, folds: Sequence[int]) -> Tensor:
        return self._of_folds(folds, self.is_scored)

    @cached_property
    def digest(self) -> str:
        whole = hashlib.sha256()
        for name, values in _arrays(self).items():
            whole.update(f"{name} {values.dtype} {values.shape}\n".encode())
            whole.update(np.ascontiguousarray(values).data)
        return "sha256:" + whole.hexdigest()

    @property
    def series_by_fold(self) -> dict[int, tuple[str, ...]]:
        return digests_by_fold(zip(self.series, self.fold.tolist(), strict=True))

    def _of_folds(self, folds: Sequence[int], mask: Tensor) -> Tensor:
        wanted = torch.tensor(list(folds), dtype=self.fold.dtype, device=self.fold.device)
        return torch.nonzero(torch.isin(self.fold, wanted)[self.which] & mask)[:, 0]


@dataclass(frozen=True, kw_only=True, eq=False)
class ExampleArrays:
    """Plain arrays that examples are made of; fields as in ``Examples``."""

    fold: npt.ArrayLike
    which: npt.ArrayLike
    place: npt.ArrayLike
    is_nodule: npt.ArrayLike
    is_trained_on: npt.ArrayLike | None = None
    """None: all candidates."""
    is_scored: npt.ArrayLike | None = None
    """None: all candidates."""
    seen: npt.ArrayLike | None = None
    """None: the whole scans."""
    findings: npt.ArrayLike = ()
    series: Sequence[str] = ()
    about: JsonObject = field(default_factory=dict)


def make_examples(scans: Scans, arrays: ExampleArrays) -> Examples:
    at = np.asarray(arrays.place, dtype=np.float32).reshape(-1, 3)
    all_candidates = np.ones(len(at), dtype=np.bool_)
    trained_on, scored = (
        all_candidates if mask is None else mask
        for mask in (arrays.is_trained_on, arrays.is_scored)
    )
    last = scans.shape.numpy() - 1
    whole = np.stack([np.zeros_like(last), last], axis=1)
    seen = whole if arrays.seen is None else arrays.seen
    tensors = {
        "seen": torch.from_numpy(np.array(seen, dtype=np.int64)),
        "fold": torch.from_numpy(np.array(arrays.fold, dtype=np.int64).reshape(-1)),
        "which": torch.from_numpy(np.array(arrays.which, dtype=np.int64).reshape(-1)),
        "place": torch.from_numpy(at.copy()),
        "is_nodule": torch.from_numpy(np.array(arrays.is_nodule, dtype=np.bool_).reshape(-1)),
        "is_trained_on": torch.from_numpy(np.array(trained_on)),
        "is_scored": torch.from_numpy(np.array(scored)),
        "findings": torch.from_numpy(np.array(arrays.findings, dtype=np.float32).reshape(-1, 6)),
    }
    series = tuple(arrays.series) or ("",) * len(tensors["fold"])
    return Examples(scans, **tensors, series=series, about=dict(arrays.about))


def join_examples(parts: Sequence[Examples]) -> Examples:
    """Examples of several folders as one; their voxels must mean the same."""
    if len(parts) == 1:
        return parts[0]
    units = {(part.scans.step_hu, part.scans.lowest_hu, part.scans.voxels.dtype) for part in parts}
    if len(units) > 1:
        raise InputError.at("examples", "their voxels have different units.", "Make them again.")
    voxels = np.cumsum([len(part.scans.voxels) for part in parts])
    before = np.cumsum([len(part.fold) for part in parts])
    scans = replace(
        parts[0].scans,
        voxels=torch.cat([part.scans.voxels for part in parts]),
        start=_shifted([part.scans.start for part in parts], voxels),
        shape=torch.cat([part.scans.shape for part in parts]),
        spacing_mm=torch.cat([part.scans.spacing_mm for part in parts]),
    )
    joined: JsonObject = {
        name: torch.cat([getattr(part, name) for part in parts]) for name in _TENSORS[1:]
    }
    joined["which"] = _shifted([part.which for part in parts], before)
    joined["findings"][:, 0] = _shifted([part.findings[:, 0] for part in parts], before)
    data = "; ".join(str(part.about.get("data", "")) for part in parts)
    series = tuple(name for part in parts for name in part.series)
    return Examples(scans, **joined, series=series, about={"data": data})


def _shifted(numbers: list[Tensor], ends: npt.NDArray[np.int64]) -> Tensor:
    """Numbers of parts as numbers of the whole; each part ends at ``ends``."""
    begins = [0, *ends[:-1].tolist()]
    return torch.cat([number + begin for number, begin in zip(numbers, begins, strict=True)])


def write_examples(folder: Path, examples: Examples) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, values in _arrays(examples).items():
        held = io.BytesIO()
        np.save(held, values, allow_pickle=False)
        if name == "voxels":
            packed = lzma.compress(held.getvalue(), preset=_PACKING)
            (folder / "voxels.npy.xz").write_bytes(packed)
        else:
            (folder / f"{name}.npy").write_bytes(held.getvalue())
    scans = examples.scans
    about = {
        **examples.about,
        "schema": SCHEMA,
        "step_hu": scans.step_hu,
        "lowest_hu": scans.lowest_hu,
        "digest": examples.digest,
        "series": examples.series,
    }
    text = json.dumps(about, indent=1)
    (folder / ABOUT).write_text(text + "\n", encoding="utf-8")


def read_examples(folder: Path) -> Examples:
    """The examples in a folder; refused if a file is missing, was changed or does not fit."""
    try:
        about = json.loads((folder / ABOUT).read_text(encoding="utf-8"))
        arrays = {name: _load(folder, name) for name in _ARRAYS}
    except (OSError, ValueError, EOFError, lzma.LZMAError) as error:
        raise InputError.at(str(folder), f"cannot be read as examples: {error}.") from error
    if not _fits(about, arrays):
        raise InputError.at(str(folder), "its arrays do not fit together.", "Make them again.")
    shape = arrays["scans"][:, :3].astype(np.int64)
    sizes = shape.prod(axis=1)
    scans = Scans(
        torch.from_numpy(arrays["voxels"]),
        torch.from_numpy(np.cumsum(sizes) - sizes),
        torch.from_numpy(shape),
        torch.from_numpy(arrays["scans"][:, 3:].astype(np.float32)),
        float(about["step_hu"]),
        float(about["lowest_hu"]),
    )
    examples = make_examples(
        scans,
        ExampleArrays(
            fold=arrays["fold"],
            which=arrays["places"][:, 0],
            place=arrays["places"][:, 1:],
            is_nodule=arrays["is_nodule"],
            is_trained_on=arrays["is_learnt"],
            is_scored=arrays["is_judged"],
            seen=arrays["seen"].reshape(-1, 2, 3),
            findings=arrays["findings"],
            series=about["series"],
            about={name: about[name] for name in about.keys() - {"series", "digest", "schema"}},
        ),
    )
    if examples.digest != about.get("digest"):
        raise InputError.at(
            str(folder), "its arrays were changed after they were written.", "Make them again."
        )
    return examples


def _fits(about: object, arrays: JsonObject) -> bool:
    scans, places = arrays["scans"], arrays["places"]
    if not isinstance(about, dict) or about.get("schema") != SCHEMA:
        return False
    if scans.ndim != 2 or scans.shape[1] != 6 or places.ndim != 2 or places.shape[1] != 4:
        return False
    of_scan = (arrays["seen"], arrays["fold"], about.get("series", ()))
    of_place = (arrays["is_nodule"], arrays["is_learnt"], arrays["is_judged"])
    which = places[:, 0]
    return bool(
        scans[:, :3].astype(np.int64).prod(axis=1).sum() == arrays["voxels"].size
        and all(len(values) == len(scans) for values in of_scan)
        and arrays["seen"].size == 6 * len(scans)
        and arrays["findings"].shape[1:] == (6,)
        and all(values.shape == (len(places),) and values.dtype == np.bool_ for values in of_place)
        and (len(which) == 0 or 0 <= which.min() <= which.max() < len(scans))
        and {"step_hu", "lowest_hu"} <= set(about)
    )


def _load(folder: Path, name: str) -> npt.NDArray[np.generic]:
    plain, packed = folder / f"{name}.npy", folder / f"{name}.npy.xz"
    if name == "voxels" and packed.is_file():
        content = lzma.decompress(packed.read_bytes())
        return np.array(np.load(io.BytesIO(content), allow_pickle=False))
    return np.array(np.load(plain, allow_pickle=False))


def _arrays(examples: Examples) -> dict[str, npt.NDArray[np.generic]]:
    scans = examples.scans
    tensors = {
        "voxels": scans.voxels,
        "scans": torch.cat([scans.shape.double(), scans.spacing_mm.double()], dim=1),
        "seen": examples.seen.reshape(-1, 6),
        "fold": examples.fold,
        "places": torch.cat([examples.which[:, None].float(), examples.place], dim=1),
        "is_nodule": examples.is_nodule,
        "is_learnt": examples.is_trained_on,
        "is_judged": examples.is_scored,
        "findings": examples.findings,
    }
    return {name: tensor.cpu().numpy() for name, tensor in tensors.items()}
