"""Patient: a chest with its vessels and nodules, made from a seed; and the same one grown later."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from nodulebench.model.tables import NODULE_TYPES
from nodulebench.phantom.body.bronchovascular import LungTubes, grow_lung_tubes
from nodulebench.phantom.body.chest import Chest, random_chest
from nodulebench.phantom.nodules.kinds import KINDS, make_nodule, random_diameter
from nodulebench.phantom.nodules.nodule import ATTACHMENTS, Nodule
from nodulebench.phantom.nodules.placing import NoPlaceError, Surroundings

_ANATOMY, _NODULES, TEXTURE, NOISE, SCANNER, _GROWTH, BODY = range(7)
"""Streams of random numbers, so that one thing can change while the others stay."""


@dataclass(frozen=True, slots=True)
class NodulePlan:
    """What nodule a patient shall have; what is None is left to chance."""

    type: str
    surface: str | None = None
    attachment: str | None = None
    diameter_mm: float | None = None


@dataclass(frozen=True)
class Patient:
    """One synthetic person. The same seed and number make the same one."""

    patient_id: str
    seed: int
    number: int
    chest: Chest
    tubes: LungTubes
    nodules: tuple[Nodule, ...]
    age: int


def stream(seed: int, number: int, purpose: int) -> np.random.Generator:
    """The random numbers of one patient for one purpose."""
    return np.random.default_rng([seed, number, purpose])


def make_patient(seed: int, number: int, plans: Sequence[NodulePlan] | None = None) -> Patient:
    """A patient with the nodules planned, or with some of every type in turn.

    A nodule for which the lung has no room is left out.
    """
    random = stream(seed, number, _ANATOMY)
    chest = random_chest(random)
    tubes = grow_lung_tubes(chest, random)
    age = int(random.integers(50, 76))
    chance = stream(seed, number, _NODULES)
    wanted = _random_plans(number, chance) if plans is None else plans
    around = Surroundings(chest, tubes.vessels)
    nodules: list[Nodule] = []
    # large ones first, while there is room
    sized = [(plan, _diameter(plan, chance)) for plan in wanted]
    for place, (plan, diameter) in enumerate(sorted(sized, key=lambda pair: -pair[1]), start=1):
        try:
            nodule = make_nodule(
                around,
                nodule_id=f"n{place}",
                type=plan.type,
                surface=plan.surface or str(chance.choice(KINDS[plan.type].surfaces)),
                attachment=plan.attachment or str(chance.choice(ATTACHMENTS)),
                diameter_mm=diameter,
                random=chance,
            )
        except NoPlaceError:
            continue
        nodules.append(nodule)
        around = around.with_nodule(nodule.shape.center_mm, nodule.shape.largest_reach_mm)
    name = f"P{number:04d}"
    return Patient(name, seed, number, chest, tubes, tuple(nodules), age)


def _random_plans(number: int, random: np.random.Generator) -> list[NodulePlan]:
    """Up to six nodules; the types follow each other, so that a few patients have them all."""
    count = int(random.choice(7, p=(0.12, 0.18, 0.2, 0.2, 0.14, 0.1, 0.06)))
    return [NodulePlan(NODULE_TYPES[(number * 2 + place) % 6]) for place in range(count)]


def _diameter(plan: NodulePlan, random: np.random.Generator) -> float:
    drawn = random_diameter(KINDS[plan.type], random)
    return drawn if plan.diameter_mm is None else plan.diameter_mm


@dataclass(frozen=True, slots=True)
class Growth:
    """How one nodule changed between two scans."""

    nodule_id: str
    volume_ratio: float
    doubling_days: float | None
    """None: its volume did not change."""


def follow_up(patient: Patient, days: int) -> tuple[Patient, tuple[Growth, ...]]:
    """The same patient after some days: malignant nodules doubled, most benign ones stayed.

    Doubling times lie between 40 and 400 days, those of ground glass between 400 and 1200.
    """
    random = stream(patient.seed, patient.number, _GROWTH)
    nodules, growths = [], []
    for nodule in patient.nodules:
        low, high = (400.0, 1200.0) if nodule.is_see_through else (40.0, 400.0)
        drawn = float(np.exp(random.uniform(np.log(low), np.log(high))))
        doubling = drawn if nodule.is_malignant else None
        ratio = 1.0 if doubling is None else float(2 ** (days / doubling))
        # nodules stay within 30 mm, which is what makes them nodules
        ratio = min(ratio, (30.0 / max(nodule.shape.long_and_short_mm[0], 2.0)) ** 3)
        ratio = max(ratio, 1.0)
        nodules.append(nodule.grown(ratio))
        growths.append(Growth(nodule.nodule_id, ratio, doubling if ratio > 1 else None))
    return replace(patient, nodules=tuple(nodules)), tuple(growths)
