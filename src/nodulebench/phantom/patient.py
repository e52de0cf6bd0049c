"""Patient: a chest with its vessels and nodules, made from a seed; and the same one grown later."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from nodulebench.core.tables import NODULE_TYPES
from nodulebench.phantom.bulges import grow_bulges
from nodulebench.phantom.chest import Chest, random_breath, random_chest
from nodulebench.phantom.disease import Condition, random_condition
from nodulebench.phantom.nodule import (
    ATTACHMENTS,
    KINDS,
    Nodule,
    make_nodule,
    random_diameter,
    with_random_contrast,
)
from nodulebench.phantom.nodule_placement import NoPlaceError, Surroundings
from nodulebench.phantom.tubes import Tubes
from nodulebench.phantom.vessels import SPARSE, USUAL, LungTubes, grow_lung_tubes, hilar_vessels

_ANATOMY, _NODULES, TEXTURE, NOISE, SCANNER, _GROWTH, BODY, _CLINIC, DISEASE, STREAKS = range(10)
"""Streams of random numbers, so that one property can change while the others stay."""

People = Literal["healthy", "clinical"]
"""Whom patients are drawn from: people without any disease but nodules, at rest; or people as
clinics see them."""


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
    condition: Condition | None = None
    """None: nothing but nodules."""
    bulges: Tubes | None = None
    """What reaches from outside into the lungs."""


def stream(seed: int, number: int, purpose: int) -> np.random.Generator:
    return np.random.default_rng([seed, number, purpose])


def make_patient(
    seed: int, number: int, plans: Sequence[NodulePlan] | None = None, *, people: People = "healthy"
) -> Patient:
    """A patient with the nodules planned, or with some of every type in turn.

    A nodule that the lung has no position for is left out.
    """
    random, clinic = stream(seed, number, _ANATOMY), stream(seed, number, _CLINIC)
    is_clinical = people == "clinical"
    chest = random_chest(random)
    chest = random_breath(chest, clinic) if is_clinical else chest
    tubes = grow_lung_tubes(chest, random, SPARSE if is_clinical else USUAL)
    age = int(random.integers(50, 76))
    chance = stream(seed, number, _NODULES)
    if plans is None:
        # up to six nodules; the types follow each other, so that a few patients have them all
        count = int(chance.choice(7, p=(0.12, 0.18, 0.2, 0.2, 0.14, 0.1, 0.06)))
        plans = [NodulePlan(NODULE_TYPES[(number * 2 + place) % 6]) for place in range(count)]
    around = Surroundings(chest, tubes.vessels)
    nodules: list[Nodule] = []
    # large ones first, while there is space
    drawn = [random_diameter(KINDS[plan.type], chance) for plan in plans]
    sized = [
        (plan, diameter if plan.diameter_mm is None else plan.diameter_mm)
        for plan, diameter in zip(plans, drawn, strict=True)
    ]
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
    patient = Patient(f"P{number:04d}", seed, number, chest, tubes, tuple(nodules), age)
    return _with_condition(patient, clinic) if is_clinical else patient


def _with_condition(patient: Patient, random: np.random.Generator) -> Patient:
    chest, tubes = patient.chest, patient.tubes
    condition = random_condition(chest, random)
    vessels = Tubes.joined(tubes.vessels, hilar_vessels(chest, random))
    around = Surroundings(chest, vessels)
    nodules = tuple(with_random_contrast(chest, nodule, random) for nodule in patient.nodules)
    return replace(
        patient,
        condition=condition,
        tubes=replace(tubes, vessels=vessels),
        nodules=nodules,
        bulges=grow_bulges(around, nodules, random),
    )


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
