"""One click on a nodule: the proposed outline's diameter against the mean of its readers.

``python -m benchmarks.click_proposals [--folds 2,3,4,5,6,7,8,9] [--turns 4] [--scans]``

The constants of ``imaging/region_growing.py`` were chosen on folds 0 and 1 of the nodule blocks;
the table in the documentation is that of the other eight. A click is up to 1.5 mm off the nodule's
middle along each axis. ``--turns`` also tries turns of the wheel either way, ``--scans`` takes the
whole scans instead of blocks.
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
from benchmarks.phantom_likeness import real_scans
from nodulebench.core.arrays import FloatArray
from nodulebench.core.tables import PLACE
from nodulebench.imaging.region_growing import grow_nodule
from nodulebench.imaging.volume import Volume
from nodulebench.io.formats import read_reference
from nodulebench.io.lidc_blocks import findings_inside, read_blocks
from nodulebench.reference.sizes import volume_equivalent_mm

OFF_MM = 1.5
BINS_MM = (0.0, 6.0, 10.0, 20.0, np.inf)
SHARES = (0.1, 0.2, 0.3)
SEED = 17


@dataclass(frozen=True)
class Clicked:
    """A nodule, what its readers measured, and what was proposed at each turn of the wheel."""

    name: str
    readers_mm: tuple[float, ...]
    proposed_mm: dict[int, float]
    seconds: float

    @property
    def mean_mm(self) -> float:
        """The readers' mean."""
        return float(np.mean(self.readers_mm))

    def error(self, turns: int = 0) -> float:
        """The smallest relative error with at most so many turns either way."""
        reached = [size_mm for level, size_mm in self.proposed_mm.items() if abs(level) <= turns]
        return min(abs(size_mm / self.mean_mm - 1) for size_mm in reached)

    @property
    def turns_needed(self) -> int | None:
        """Turns until a proposal is within a tenth of the readers' mean; None: none was."""
        is_near = [
            abs(level)
            for level, size_mm in self.proposed_mm.items()
            if abs(size_mm / self.mean_mm - 1) <= SHARES[0]
        ]
        return min(is_near, default=None)


def clicked(folds: Sequence[int], turns: int) -> Iterator[Clicked]:
    """Every nodule of LUNA16 in the blocks of some folds that readers outlined."""
    random = np.random.default_rng(SEED)
    reference = read_reference(DATA / "luna16")
    for block in read_blocks(DATA / "nodule_blocks", folds):
        nodules = findings_inside(block, reference).filter(~pl.col("is_ignored"))
        yield from _clicked(block.series, block.series, block.volume, nodules, turns, random)


def clicked_scans(turns: int) -> Iterator[Clicked]:
    """Every nodule of LUNA16 in the whole scans at hand."""
    table = pl.read_csv(DATA / "ct" / "scans.csv")
    series_of = dict(table.select("id", "SeriesInstanceUID").iter_rows())
    nodules = read_reference(DATA / "luna16").nodules.filter(~pl.col("is_ignored"))
    for name, volume in real_scans():
        series = series_of[name]
        own = nodules.filter(case_id=series)
        yield from _clicked(name, series, volume, own, turns, np.random.default_rng(SEED))


def _clicked(
    name: str,
    series: str,
    volume: Volume,
    nodules: pl.DataFrame,
    turns: int,
    random: np.random.Generator,
) -> Iterator[Clicked]:
    drawn = _outlined().filter(seriesuid=series)
    place = drawn.select("x_world_mm", "y_world_mm", "z_world_mm").to_numpy()
    size = drawn["diameter_mm"].to_numpy()
    for nodule in nodules.select(PLACE).to_numpy():
        is_it = np.linalg.norm(place - nodule, axis=1) < np.maximum(size / 2, 3)
        if not is_it.any():
            continue
        click = nodule + random.uniform(-OFF_MM, OFF_MM, 3)
        began = time.perf_counter()
        first = _diameter_mm(volume, click, 0)
        seconds = time.perf_counter() - began
        levels = [level for level in range(-turns, turns + 1) if level]
        proposed = {0: first, **{level: _diameter_mm(volume, click, level) for level in levels}}
        yield Clicked(name, tuple(size[is_it].tolist()), proposed, seconds)


_MARKS: list[pl.DataFrame] = []


def _outlined() -> pl.DataFrame:
    if not _MARKS:
        with lzma.open(DATA / "lidc" / "marks.csv.xz") as file:
            marks = pl.read_csv(file.read()).filter(category="nodule_ge3")
        _MARKS.append(marks.drop_nulls("diameter_mm"))
    return _MARKS[0]


def _diameter_mm(volume: Volume, click: FloatArray, level: int) -> float:
    count = np.array([len(grow_nodule(volume, click, level).voxel)])
    return float(volume_equivalent_mm(count, volume.geometry.spacing_mm[None])[0])


def table(clicks: Sequence[Clicked], turns: int) -> str:
    """One row per range of diameters."""
    shares = [f"within {share:.0%}" for share in SHARES]
    more = [f"within 10% by {index} turns" for index in range(1, turns + 1)]
    heads = ["readers' mean", "nodules", "median error", *shares, *more, "readers' spread"]
    lines = [_row(heads), "|---" * len(heads) + "|"]
    ranges = [*pairwise(BINS_MM), (0.0, np.inf)]
    for low, high in ranges:
        some = [click for click in clicks if low <= click.mean_mm < high]
        error = np.array([click.error() for click in some])
        within = [f"{np.mean(error <= share):.0%}" for share in SHARES]
        reached = [
            f"{np.mean([click.error(most) <= SHARES[0] for click in some]):.0%}"
            for most in range(1, turns + 1)
        ]
        several = [click.readers_mm for click in some if len(click.readers_mm) > 1]
        spread = np.median([np.std(sizes_mm, ddof=1) / np.mean(sizes_mm) for sizes_mm in several])
        name = "all" if (low, high) == (0, np.inf) else _range(low, high)
        cells = [name, str(len(some)), f"{np.median(error):.1%}", *within, *reached]
        lines.append(_row([*cells, f"{spread:.1%}"]))
    return "\n".join(lines)


def scan_table(clicks: Sequence[Clicked]) -> str:
    """One row per nodule."""
    heads = ["scan", "readers", "readers' mean", "one click", "error", "turns to within 10%"]
    lines = [_row(heads), "|---" * len(heads) + "|"]
    for click in clicks:
        readers = ", ".join(f"{size:.1f}" for size in sorted(click.readers_mm))
        sizes = [f"{click.mean_mm:.1f} mm", f"{click.proposed_mm[0]:.1f} mm"]
        needed = "none" if click.turns_needed is None else str(click.turns_needed)
        error = f"{click.proposed_mm[0] / click.mean_mm - 1:+.0%}"
        lines.append(_row([click.name, readers, *sizes, error, needed]))
    return "\n".join(lines)


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _range(low: float, high: float) -> str:
    if high == np.inf:
        return f"{low:g} mm and more"
    return f"below {high:g} mm" if not low else f"{low:g} to {high:g} mm"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folds", default="2,3,4,5,6,7,8,9")
    parser.add_argument("--turns", type=int, default=0)
    parser.add_argument("--scans", action="store_true")
    given = parser.parse_args()
    if given.scans:
        clicks = list(clicked_scans(given.turns))
        print(scan_table(clicks))
    else:
        clicks = list(clicked([int(fold) for fold in given.folds.split(",")], given.turns))
        print(table(clicks, given.turns))
    print(f"\nmedian {1000 * np.median([click.seconds for click in clicks]):.0f} ms a proposal")


if __name__ == "__main__":
    main()
