from dataclasses import replace

import numpy as np
import pytest

from nodulebench.phantom.chest import PARENCHYMA_HU, Chest, random_breath, random_chest
from nodulebench.phantom.disease import Condition, random_condition
from nodulebench.phantom.nodule import FAINT_HU, with_random_contrast
from nodulebench.phantom.patient import make_patient
from nodulebench.phantom.scan import scan_patient
from nodulebench.phantom.scanner import Scanner

COARSE = Scanner(4.0, 4.0, 5.4, 64, "standard", 300.0)


def test_people_differ_in_density_and_in_what_they_have():
    random = np.random.default_rng(1)
    chests = [random_breath(random_chest(random), random) for _ in range(200)]
    density = np.array([chest.parenchyma_hu for chest in chests])
    low, high = PARENCHYMA_HU
    assert low <= density.min() < low + 8
    assert high - 8 < density.max() <= high
    conditions = [random_condition(chest, random) for chest in chests]
    for name, share in (
        ("emphysema", 0.3),
        ("fibrosis", 0.2),
        ("ground_glass", 0.25),
        ("breath_mm", 0.25),
    ):
        has_it = np.mean([getattr(condition, name) > 0 for condition in conditions])
        assert has_it == pytest.approx(share, abs=0.1), name
    assert any(condition.arm for condition in conditions)
    plain = [
        condition
        for condition, chest in zip(conditions, chests, strict=True)
        if not chest.is_enhanced
    ]
    assert all(condition.arm is None for condition in plain)  # no contrast medium, no streaks


def test_lungs_with_less_air_are_denser_and_smaller():
    airy, dense = (random_breath(Chest(), _Always(share)) for share in (0.0, 1.0))
    assert (airy.parenchyma_hu, dense.parenchyma_hu) == PARENCHYMA_HU
    assert dense.right_dome_z > airy.right_dome_z
    assert dense.gravity_hu > airy.gravity_hu


class _Always:
    """Chance that always gives the same share of a range."""

    def __init__(self, share):
        self.share = share

    def uniform(self, low, high):
        return low + self.share * (high - low)

    def random(self):
        return self.share


def test_ground_glass_is_faint_or_denser_but_never_hidden(patient):
    chest = replace(patient.chest, parenchyma_hu=-790.0)
    glass = next(n for n in patient.nodules if n.type == "pure_ground_glass")
    solid = next(n for n in patient.nodules if n.type == "solid")
    low, high = FAINT_HU
    assert with_random_contrast(chest, glass, _Always(0.0)).hu == -790.0 + low
    assert (
        with_random_contrast(chest, replace(glass, hu=-780.0), _Always(1.0)).hu == -790.0 + 2 * high
    )
    assert with_random_contrast(chest, replace(glass, hu=-300.0), _Always(1.0)).hu == -300.0
    assert with_random_contrast(chest, solid, _Always(0.0)) is solid


def test_what_a_table_says_of_a_condition():
    columns = Condition(emphysema=0.456, breath_mm=3.21, arm=-1).columns()
    assert columns == {
        "emphysema": 0.46,
        "fibrosis": 0.0,
        "ground_glass": 0.0,
        "breath_mm": 3.2,
        "has_streaks": True,
    }


@pytest.mark.slow
def test_a_clinical_patient_is_made_again_by_the_seed_and_differs_from_the_healthy_one():
    patient, again = (make_patient(3, 1, people="clinical") for _ in range(2))
    healthy = make_patient(3, 1)
    assert patient.condition == again.condition is not None
    assert healthy.condition is None
    assert np.array_equal(patient.bulges.start, again.bulges.start)
    first, second = (scan_patient(each, COARSE, slices=6).volume.hu for each in (patient, again))
    assert np.array_equal(first, second)
    assert patient.chest.parenchyma_hu != healthy.chest.parenchyma_hu
