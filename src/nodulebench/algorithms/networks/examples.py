"""A folder of arrays <-> candidates to learn from: scans, places in them, which are nodules.

The folder holds plain numpy files, so that a bare machine with a GPU can read it:

    voxels.npy      all voxels of all scans, one scan after the other
    scans.npy       scans x 6: slices, rows, columns, spacing along each in mm
    fold.npy        scans: the fold of each
    places.npy      candidates x 4: scan, voxel index z, y, x
    is_nodule.npy   candidates
    examples.json   what a voxel's value means, and where all of it comes from
"""

import json
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from nodulebench.algorithms.networks.patches import Scans
from nodulebench.errors import InputError

SCHEMA = "nodulebench/network-examples@1"
_ARRAYS = ("voxels", "scans", "fold", "places", "is_nodule")


@dataclass(frozen=True, eq=False)
class Examples:
    """Candidates of many scans."""

    scans: Scans
    fold: Tensor
    """Of each scan."""
    which: Tensor
    """The scan of each candidate."""
    place: Tensor
    """candidates x 3: voxel index z, y, x."""
    is_nodule: Tensor
    about: dict[str, Any] = field(default_factory=dict)

    def to(self, device: torch.device | str) -> "Examples":
        """The same examples elsewhere."""
        parts = ("scans", "fold", "which", "place", "is_nodule")
        return replace(self, **{name: getattr(self, name).to(device) for name in parts})

    def of_folds(self, folds: list[int]) -> Tensor:
        """Which candidates belong to some folds."""
        chosen = torch.isin(self.fold, torch.tensor(folds, device=self.fold.device))
        return torch.nonzero(chosen[self.which])[:, 0]


def write_examples(folder: Path, examples: Examples) -> None:
    """Write a folder of examples."""
    folder.mkdir(parents=True, exist_ok=True)
    scans = examples.scans
    arrays = {
        "voxels": scans.voxels,
        "scans": torch.cat([scans.shape.double(), scans.spacing_mm.double()], dim=1),
        "fold": examples.fold,
        "places": torch.cat([examples.which[:, None].double(), examples.place.double()], dim=1),
        "is_nodule": examples.is_nodule,
    }
    for name, values in arrays.items():
        np.save(folder / f"{name}.npy", values.cpu().numpy())
    units = {"step_hu": scans.step_hu, "lowest_hu": scans.lowest_hu}
    text = json.dumps({"schema": SCHEMA, **units, **examples.about}, indent=1)
    (folder / "examples.json").write_text(text + "\n", encoding="utf-8")


def read_examples(folder: Path) -> Examples:
    """The examples in a folder.

    Raises:
        InputError: if a file is missing, or they do not fit together.
    """
    try:
        about = json.loads((folder / "examples.json").read_text(encoding="utf-8"))
        found = {name: np.load(folder / f"{name}.npy", allow_pickle=False) for name in _ARRAYS}
    except (OSError, ValueError) as error:
        raise InputError.at(str(folder), f"cannot be read as examples: {error}.") from error
    shape = found["scans"][:, :3].astype(np.int64)
    sizes, which = shape.prod(axis=1), found["places"][:, 0].astype(np.int64)
    fits = (
        about.get("schema") == SCHEMA
        and sizes.sum() == found["voxels"].size
        and len(found["fold"]) == len(shape)
        and len(found["is_nodule"]) == len(which)
        and (len(which) == 0 or 0 <= which.min() <= which.max() < len(shape))
    )
    if not fits:
        raise InputError.at(str(folder), "its arrays do not fit together.", "Make them anew.")
    scans = Scans(
        torch.from_numpy(found["voxels"]),
        torch.from_numpy(np.cumsum(sizes) - sizes),
        torch.from_numpy(shape),
        torch.from_numpy(found["scans"][:, 3:].astype(np.float32)),
        float(about.get("step_hu", 1.0)),
        float(about.get("lowest_hu", 0.0)),
    )
    return Examples(
        scans,
        torch.from_numpy(found["fold"]),
        torch.from_numpy(which),
        torch.from_numpy(found["places"][:, 1:].astype(np.float32)),
        torch.from_numpy(found["is_nodule"]),
        about,
    )
