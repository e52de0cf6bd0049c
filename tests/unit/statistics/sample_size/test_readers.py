import pytest
from scipy import stats

from nodulebench.core.errors import InputError
from nodulebench.statistics.mrmc import Components
from nodulebench.statistics.sample_size.readers import reader_study_power, size_for_reader_study


def test_power_without_a_difference_is_the_error_rate() -> None:
    pilot = Components(8e-4, 3.5e-4, 3.4e-4, 2.4e-4, 4.8e-3, 5.5e-4)
    power = reader_study_power(pilot, pilot_cases=114, difference=1e-9, readers=5, cases=100)
    assert power == pytest.approx(0.05, abs=1e-6)


def test_a_reader_study_needs_two_readers() -> None:
    pilot = Components(8e-4, 3.5e-4, 3.4e-4, 2.4e-4, 4.8e-3, 5.5e-4)
    with pytest.raises(InputError, match="at least two readers and two cases"):
        reader_study_power(pilot, pilot_cases=114, difference=0.05, readers=1, cases=100)


def test_power_is_that_of_the_noncentral_f_of_hillis_and_others() -> None:
    # 5 readers, 228 cases instead of 114: error 0.3 + 0.5 (0.2 + 5 x 0.1), in 1e-3
    pilot = Components(8e-4, 5e-4, 3e-4, 2e-4, 4.8e-3, 5e-4)
    power = reader_study_power(pilot, pilot_cases=114, difference=0.05, readers=5, cases=228)
    error, own = 0.65e-3, 0.4e-3
    noncentrality = 5 * 0.05 * 0.05 / (2 * error)
    behind = 4 * (error / own) ** 2
    critical = stats.f.ppf(0.95, 1, behind)
    assert power == pytest.approx(1 - stats.ncf.cdf(critical, 1, behind, noncentrality), abs=1e-12)
    assert 0.3 < power < 0.9


def test_two_cases_are_the_fewest() -> None:
    pilot = Components(8e-4, 3.5e-4, 3.4e-4, 2.4e-4, 4.8e-3, 5.5e-4)
    with pytest.raises(InputError, match="at least two readers and two cases"):
        reader_study_power(pilot, pilot_cases=114, difference=0.05, readers=2, cases=1)
    power = reader_study_power(pilot, pilot_cases=114, difference=0.05, readers=2, cases=2)
    assert 0.05 < power < 0.1


def test_a_study_of_the_answer_s_size_reaches_the_power_and_one_case_less_does_not() -> None:
    pilot = Components(8e-4, 3.5e-4, 3.4e-4, 2.4e-4, 4.8e-3, 5.5e-4)
    asked = {"pilot_cases": 114, "difference": 0.05, "readers": 8}
    plan = size_for_reader_study(pilot, **asked)
    power = [reader_study_power(pilot, **asked, cases=cases) for cases in (231, 232)]
    assert plan.answer is not None
    assert reader_study_power(pilot, **asked, cases=plan.answer) >= 0.8
    assert reader_study_power(pilot, **asked, cases=plan.answer - 1) < 0.8
    assert power[0] < power[1]
    assert [assumption.code for assumption in plan.assumptions] == [
        "like_the_pilot_study", "all_read_all", "test_of_readers",
    ]  # fmt: skip
    assert plan.assumptions[2].values == {"alpha": 0.05}
    for setting in ("alpha", "power"):
        with pytest.raises(InputError, match=rf"{setting}: -7 is not above 0 and below 1\."):
            size_for_reader_study(pilot, **asked, **{setting: -7.0})


def test_components_below_nothing_count_as_none() -> None:
    # covariance 3 above 2, and an interaction below the readers' own share: .8 - .35 is left
    pilot = Components(8e-4, 3.5e-4, 2.4e-4, 3.4e-4, 4.8e-3, 1e-4)
    power = reader_study_power(pilot, pilot_cases=100, difference=0.02, readers=4, cases=200)
    away = 4 * 0.02**2 / 2 / (0.5 * 4.5e-4)
    critical = stats.f.isf(0.05, 1, 3)
    assert power == pytest.approx(stats.ncf.sf(critical, 1, 3, away))


def test_a_power_that_is_just_met_suffices() -> None:
    pilot = Components(8e-4, 3.5e-4, 3.4e-4, 2.4e-4, 4.8e-3, 5.5e-4)
    asked = {"pilot_cases": 114, "difference": 0.05, "readers": 8}
    met = reader_study_power(pilot, **asked, cases=232)
    assert size_for_reader_study(pilot, **asked, power=met).answer == 232
