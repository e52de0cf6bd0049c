"""Real scans with leaks carved into them, cut, noisy and diseased -> whether their lungs stay.

``python -m benchmarks.lung_leaks --paths 200``
"""

import argparse
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from benchmarks.candidate_kinds import every_real_scan
from nodulebench.core.arrays import BoolArray, Float32Array, FloatArray
from nodulebench.core.errors import InputError
from nodulebench.imaging.lungs import LEFT, RIGHT, Lungs, segment_lungs
from nodulebench.imaging.morphology import block_mean, dilated
from nodulebench.imaging.volume import make_volume, to_patient_axes

VOXEL_MM = 2.0
"""In plane; scans are made coarser, so that hundreds can be tried."""
WIDEST_VOXELS = 5.0
MOST_PATHS = 3
PATH_HU = (-1000.0, -850.0, -600.0)
PADDING_HU = (-3024.0, -2048.0, -1024.0)
ROUND_VIEWS = 4
"""Trials with each scan: how deep a round field of view cuts decides what it leaves."""
WITHIN = 0.02
TISSUE_HU = 30.0


@dataclass(frozen=True)
class Scene:
    """A scan and its lungs, before anything was done to it."""

    hu: Float32Array
    step_mm: FloatArray
    lungs: Lungs


@dataclass(frozen=True)
class ChangedScan:
    """A scan that was changed, and the lungs that it has now."""

    hu: Float32Array
    lungs: BoolArray


Attack = Callable[[Scene, np.random.Generator], ChangedScan]


def find_lungs(hu: Float32Array, step_mm: FloatArray) -> Lungs:
    """The lungs of voxels in the patient's axes."""
    return segment_lungs(make_volume(np.rint(hu).astype(np.int16), spacing_mm=step_mm[::-1]))


def scenes() -> Iterator[tuple[str, Scene]]:
    """The real scans on voxels of about 2 mm."""
    for name, volume in every_real_scan():
        upright = to_patient_axes(volume, name)
        factors = np.maximum(1, np.rint(VOXEL_MM / upright.spacing_mm)).astype(np.int64)
        hu, step = block_mean(upright.hu, factors), upright.spacing_mm * factors
        yield name, Scene(hu, step, find_lungs(hu, step))


def thin_paths(scene: Scene, random: np.random.Generator) -> ChangedScan:
    """One to three paths of up to five voxels from the lungs to the air outside; often apical."""
    hu = scene.hu.copy()
    slices = np.flatnonzero(scene.lungs.mask.any(axis=(1, 2)))
    for _ in range(random.integers(1, MOST_PATHS + 1)):
        share = random.uniform(0.85, 1.0) if random.random() < 0.4 else random.uniform(0.0, 1.0)
        number = slices[int(share * (len(slices) - 1))]
        places = np.argwhere(scene.lungs.mask[number])
        start = np.array([number, *places[random.integers(len(places))]], dtype=np.float64)
        angle, tilt = random.uniform(0, 2 * np.pi), random.uniform(-0.5, 0.5)
        way_mm = np.array([tilt, np.sin(angle), np.cos(angle)]) * random.uniform(150, 400)
        width_mm = random.uniform(1, WIDEST_VOXELS) * min(1.5, float(scene.step_mm[2]))
        way = path(hu.shape, scene.step_mm, start, start + way_mm / scene.step_mm, width_mm / 2)
        hu[way] = random.choice(PATH_HU)
    return ChangedScan(hu, scene.lungs.mask)


def path(
    shape: tuple[int, ...],
    step_mm: FloatArray,
    start: FloatArray,
    end: FloatArray,
    radius_mm: float,
) -> BoolArray:
    """A straight tube between two places, whose voxels touch with their faces."""
    count = 10 * int(np.linalg.norm((end - start) * step_mm)) + 2
    line = np.rint(start + (end - start) * np.linspace(0, 1, count)[:, None]).astype(np.int64)
    line = line[((line >= 0) & (line < np.array(shape))).all(axis=1)]
    tube = np.zeros(shape, dtype=np.bool_)
    tube[tuple(line.T)] = True
    return dilated(tube, radius_mm, step_mm)


def streak(scene: Scene, random: np.random.Generator) -> ChangedScan:
    """A dark band through the shoulders, on slices of up to 8 mm together."""
    hu, step = scene.hu.copy(), scene.step_mm
    top = np.flatnonzero(scene.lungs.mask.any(axis=(1, 2)))[-1]
    first = int(top - random.uniform(5, 40) / step[0])
    last = first + max(1, round(random.uniform(2, 8) / step[0]))
    row, column = np.argwhere(scene.lungs.mask[first]).mean(axis=0)
    rows, columns = np.indices(hu.shape[1:])
    angle = random.uniform(-0.5, 0.5)
    away_mm = (rows - row) * step[1] * np.cos(angle) - (columns - column) * step[2] * np.sin(angle)
    hu[first:last, np.abs(away_mm) < random.uniform(5, 15)] -= 700
    return ChangedScan(hu, scene.lungs.mask)


def wound(scene: Scene, random: np.random.Generator) -> ChangedScan:
    """A gap of 24 x 20 mm in the right chest wall."""
    hu, step = scene.hu.copy(), scene.step_mm
    slices = np.flatnonzero((scene.lungs.label == RIGHT).any(axis=(1, 2)))
    first = int(np.percentile(slices, random.integers(30, 80)))
    row, column = np.argwhere(scene.lungs.label[first] == RIGHT).mean(axis=0)
    half = 12 / step[1]
    hu[
        first : first + int(20 / step[0]), int(row - half) : int(row + half), : int(column) - 10
    ] = -1000
    return ChangedScan(hu, scene.lungs.mask)


def noise(scene: Scene, random: np.random.Generator) -> ChangedScan:
    """Noise of 60 HU in every voxel."""
    hu = scene.hu + random.normal(0, 60, scene.hu.shape).astype(np.float32)
    return ChangedScan(np.maximum(hu, -1024), scene.lungs.mask)


def open_windpipe(scene: Scene, random: np.random.Generator) -> ChangedScan:
    """The scan ends 5 to 15 mm below the apex."""
    slices = np.flatnonzero(scene.lungs.mask.any(axis=(1, 2)))
    end = int(slices[-1] - random.uniform(5, 15) / scene.step_mm[0])
    return ChangedScan(scene.hu[:end], scene.lungs.mask[:end])


def prone(scene: Scene, random: np.random.Generator) -> ChangedScan:  # noqa: ARG001
    """The patient is prone."""
    return ChangedScan(scene.hu[:, ::-1], scene.lungs.mask[:, ::-1])


def cut_flanks(scene: Scene, random: np.random.Generator) -> ChangedScan:
    """The field of view ends up to 30 mm within either lung."""
    columns = np.flatnonzero(scene.lungs.mask.any(axis=(0, 1)))
    low, high = (int(random.uniform(5, 30) / scene.step_mm[2]) for _ in range(2))
    seen = slice(columns[0] + low, columns[-1] - high)
    return ChangedScan(scene.hu[:, :, seen], scene.lungs.mask[:, :, seen])


def round_view(scene: Scene, random: np.random.Generator) -> ChangedScan:
    """A round field of view, padded as scanners do, that ends 5 to 25 mm within the lungs."""
    extent = [np.flatnonzero(scene.lungs.mask.any(axis=axes)) for axes in ((0, 2), (0, 1))]
    rows, columns = (
        (np.arange(length) - length_mm.mean()) * step
        for length, length_mm, step in zip(
            scene.hu.shape[1:], extent, scene.step_mm[1:], strict=True
        )
    )
    radius = np.ptp(extent[1]) * scene.step_mm[2] / 2 - random.uniform(5, 25)
    seen = rows[:, None] ** 2 + columns**2 <= radius**2
    padding = np.float32(random.choice(PADDING_HU))
    return ChangedScan(np.where(seen, scene.hu, padding), scene.lungs.mask & seen)


def filled(scene: Scene, part: BoolArray, hu: float) -> ChangedScan:
    """A part of the lungs that has no air."""
    near = dilated(part, 2 * VOXEL_MM, scene.step_mm) & (scene.hu < -200)
    near &= ~(scene.lungs.mask & ~part)
    return ChangedScan(np.where(near, np.float32(hu), scene.hu), scene.lungs.mask & ~part)


def white_lung(scene: Scene, random: np.random.Generator) -> ChangedScan:
    """The right or the left lung is white."""
    side = RIGHT if random.random() < 0.5 else LEFT
    return filled(scene, scene.lungs.label == side, TISSUE_HU)


def consolidated(scene: Scene, random: np.random.Generator) -> ChangedScan:  # noqa: ARG001
    """The lower half of the right lung is white."""
    part = scene.lungs.label == RIGHT
    part[int(np.flatnonzero(part.any(axis=(1, 2))).mean()) :] = False
    return filled(scene, part, TISSUE_HU)


def effusion(scene: Scene, random: np.random.Generator) -> ChangedScan:  # noqa: ARG001
    """Fluid behind the left lung."""
    part = scene.lungs.label == LEFT
    part[:, : int(np.percentile(np.flatnonzero(part.any(axis=(0, 2))), 60))] = False
    return filled(scene, part, 10.0)


def emphysema(scene: Scene, random: np.random.Generator) -> ChangedScan:  # noqa: ARG001
    """All lung is darker by 60 HU."""
    is_lung = scene.lungs.mask & (scene.hu < -600)
    return ChangedScan(np.maximum(scene.hu - 60 * is_lung, -1024), scene.lungs.mask)


def bowel(scene: Scene, random: np.random.Generator) -> ChangedScan:  # noqa: ARG001
    """Gas of some 300 ml below the left lung, with a path of 3 mm between them."""
    hu, step, left = scene.hu.copy(), scene.step_mm, scene.lungs.label == LEFT
    base = np.flatnonzero(left.any(axis=(1, 2)))[0] + 15 / step[0]
    _, row, column = np.argwhere(left).mean(axis=0)
    middle = np.array([base - 42 / step[0], row, column])
    z, y, x = (axis - at for axis, at in zip(np.indices(hu.shape), middle, strict=True))
    ball = (z * step[0]) ** 2 + (y * step[1]) ** 2 + (x * step[2]) ** 2 < 41.5**2
    hu[ball & ~dilated(scene.lungs.mask, VOXEL_MM * 1.5, step) & (hu > -300)] = -1000
    start = middle + np.array([52 / step[0], 0.0, 0.0])
    hu[path(hu.shape, step, start, middle, 1.5)] = -900
    return ChangedScan(hu, scene.lungs.mask)


ATTACKS: dict[str, Attack] = {
    "thin paths to the outside": thin_paths,
    "dark streak through the shoulders": streak,
    "wound of 24 x 20 mm": wound,
    "noise of 60 HU": noise,
    "windpipe open at the top": open_windpipe,
    "prone": prone,
    "field of view cuts both flanks": cut_flanks,
    "round field of view cuts the lungs": round_view,
    "one lung white": white_lung,
    "half a lung consolidated": consolidated,
    "effusion": effusion,
    "emphysema": emphysema,
    "bowel gas that touches a lung": bowel,
}


def compare_lungs(tried: ChangedScan, step_mm: FloatArray) -> tuple[float, float, bool]:
    """Dice, share of the volume, and whether the lungs are plausible."""
    try:
        lungs = find_lungs(np.ascontiguousarray(tried.hu), step_mm)
    except InputError:
        return 0.0, 0.0, False
    size, wanted = np.count_nonzero(lungs.mask), np.count_nonzero(tried.lungs)
    dice = 2 * np.count_nonzero(lungs.mask & tried.lungs) / (size + wanted)
    return dice, size / wanted, lungs.is_plausible


def main() -> None:
    """Print a line for every kind of change, over all scans."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--paths", type=int, default=200, help="trials with thin paths, in all")
    options = parser.parse_args()
    rows: dict[str, list[tuple[float, float, bool]]] = {name: [] for name in ATTACKS}
    places = list(scenes())
    trials: dict[Attack, int] = {
        thin_paths: -(-options.paths // len(places)),
        round_view: ROUND_VIEWS,
    }
    for number, (_, scene) in enumerate(places):
        for name, attack in ATTACKS.items():
            for trial in range(trials.get(attack, 1)):
                random = np.random.default_rng([number, trial])
                rows[name].append(compare_lungs(attack(scene, random), scene.step_mm))
    print("| what was done | trials | least Dice | median Dice | volume within 2 % | plausible |")
    print("|---|---|---|---|---|---|")
    for name, results in rows.items():
        dice, volume, plausible = map(np.array, zip(*results, strict=True))
        near = np.count_nonzero(np.abs(volume - 1) <= WITHIN)
        print(
            f"| {name} | {len(results)} | {dice.min():.3f} | {np.median(dice):.3f} | {near} | "
            f"{np.count_nonzero(plausible)} |"
        )


if __name__ == "__main__":
    main()
