"""A seeded few of the simulation: what it is about happens, and guarded intervals hold."""

import numpy as np
from benchmarks.intervals import People, coverage, declared, draw, recall_coverage, truth


def test_guarded_intervals_hold_where_percentiles_do_not() -> None:
    before, after = recall_coverage(People(0.99), 300, 60)
    assert after.held >= 57
    assert before.held <= after.held
    few = recall_coverage(People(0.997, patient_spread=1.6), 20, 60)[1]
    assert few.held >= 57
    assert few.without_width == 0


def test_a_loss_at_the_margin_is_called_non_inferior_only_by_percentiles() -> None:
    before, after = declared(People(0.99), 0.97, 0.02, 20, 60)
    assert before > 0.2
    assert after == 0


def test_curves_of_rare_errors_have_width() -> None:
    covered = coverage(People(0.99, falses=0.05), 20, 12)
    assert covered["cpm"][0].without_width > 0
    assert all(after.without_width == 0 for _, after in covered.values())
    assert all(after.held >= 10 for _, after in covered.values())


def test_the_population_is_the_one_that_was_asked_for() -> None:
    people = People(0.95)
    assert abs(truth(people)["recall"] - 0.95) < 0.004
    patients = draw(people, 4000, np.random.default_rng(0))
    nodules = np.bincount(patients.unit_of_scan[patients.nodule_scan], minlength=4000)
    assert np.corrcoef(nodules, patients.effect)[0, 1] > 0.2  # who has more is harder
    assert len(patients.unit_of_scan) > 4000  # some have two scans
