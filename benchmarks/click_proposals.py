"""One click on a nodule: the proposed outline's diameter against the mean of its readers.

``python -m benchmarks.click_proposals [--folds 2,3,4,5,6,7,8,9] [--turns 3]``

The constants of ``imaging/grown.py`` were chosen on folds 0 and 1 of the nodule blocks; the table
in the documentation is that of the other eight. A click is up to 1.5 mm off the nodule's middle
along each axis.
"""

import argparse
import lzma
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import polars as pl

from benchmarks.measure import DATA
from nodulebench.formats import read_reference
from nodulebench.formats.lidc.nodule_blocks import findings_inside, read_blocks
from nodulebench.imaging.grown import grown_at
from nodulebench.model.tables import PLACE
from nodulebench.reference.measure import volume_equivalent_mm

OFF_MM = 1.5
BINS_MM = (0.0, 6.0, 10.0, 20.0, np.inf)
SHARES = (0.1, 0.2, 0.3)
SEED = 17


@dataclass(frozen=True)
class Clicked:
    """A nodule, what its readers measured, and what was proposed at each turn of the wheel."""

    readers_mm: tuple[float, ...]
    proposed_mm: dict[int, float]
    seconds: float

    @property
    def mean_mm(self) -> float:
        """The readers' mean."""
        return float(np.mean(self.readers_mm))

    def error(self, turns: int) -> float:
        """The smallest relative error with at most so many turns either way."""
        reached = [one for level, one in self.proposed_mm.items() if abs(level) <= turns]
        return min(abs(one / self.mean_mm - 1) for one in reached)


def clicked(folds: Sequence[int], turns: int) -> Iterator[Clicked]:
    """Every nodule of LUNA16 in the blocks of some folds that readers outlined."""
    random = np.random.default_rng(SEED)
    reference = read_reference(DATA / "luna16")
    with lzma.open(DATA / "lidc" / "marks.csv.xz") as file:
        marks = pl.read_csv(file.read()).filter(category="nodule_ge3")
    outlined = marks.drop_nulls("diameter_mm").partition_by("seriesuid", as_dict=True)
    for block in read_blocks(DATA / "nodule_blocks", folds):
        inside = findings_inside(block, reference).filter(~pl.col("is_ignored"))
        drawn = outlined[(block.series,)]
        place = drawn.select("x_world_mm", "y_world_mm", "z_world_mm").to_numpy()
        size = drawn["diameter_mm"].to_numpy()
        for nodule in inside.select(PLACE).to_numpy():
            is_it = np.linalg.norm(place - nodule, axis=1) < np.maximum(size / 2, 3)
            if not is_it.any():
                continue
            click = nodule + random.uniform(-OFF_MM, OFF_MM, 3)
            began = time.perf_counter()
            counts = {
                level: len(grown_at(block.volume, click, level).voxel)
                for level in range(-turns, turns + 1)
            }
            seconds = (time.perf_counter() - began) / len(counts)
            spacing = block.volume.geometry.spacing_mm[None].repeat(len(counts), axis=0)
            sizes = volume_equivalent_mm(np.array([*counts.values()]), spacing)
            proposed = dict(zip(counts, sizes.tolist(), strict=True))
            yield Clicked(tuple(size[is_it].tolist()), proposed, seconds)


def table(found: Sequence[Clicked], turns: int) -> str:
    """One row per range of diameters."""
    shares = [f"within {share:.0%}" for share in SHARES]
    more = [f"within 10% by {turns} turns"] if turns else []
    heads = ["readers' mean", "nodules", "median error", *shares, *more, "readers' spread"]
    lines = ["| " + " | ".join(heads) + " |", "|---" * len(heads) + "|"]
    ranges = [*pairwise(BINS_MM), (0.0, np.inf)]
    for low, high in ranges:
        some = [one for one in found if low <= one.mean_mm < high]
        error = np.array([one.error(0) for one in some])
        within = [f"{np.mean(error <= share):.0%}" for share in SHARES]
        reached = [f"{np.mean([one.error(turns) <= 0.1 for one in some]):.0%}"] if turns else []
        several = [one.readers_mm for one in some if len(one.readers_mm) > 1]
        spread = np.median([np.std(one, ddof=1) / np.mean(one) for one in several])
        name = "all" if (low, high) == (0, np.inf) else _range(low, high)
        cells = [name, str(len(some)), f"{np.median(error):.1%}", *within, *reached]
        lines.append("| " + " | ".join([*cells, f"{spread:.1%}"]) + " |")
    return "\n".join(lines)


def _range(low: float, high: float) -> str:
    if high == np.inf:
        return f"{low:g} mm and more"
    return f"below {high:g} mm" if not low else f"{low:g} to {high:g} mm"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folds", default="2,3,4,5,6,7,8,9")
    parser.add_argument("--turns", type=int, default=0)
    given = parser.parse_args()
    found = list(clicked([int(one) for one in given.folds.split(",")], given.turns))
    print(table(found, given.turns))
    print(f"\nmedian {1000 * np.median([one.seconds for one in found]):.0f} ms a proposal")


if __name__ == "__main__":
    main()
