import pytest
from scipy import stats

from nodulebench.errors import InputError
from nodulebench.statistics.mrmc import Components
from nodulebench.statistics.sample_size.readers import reader_study_power


def test_power_without_a_difference_is_the_error_rate() -> None:
    pilot = Components(8e-4, 3.5e-4, 3.4e-4, 2.4e-4, 4.8e-3, 5.5e-4)
    found = reader_study_power(pilot, pilot_cases=114, difference=1e-9, readers=5, cases=100)
    assert found == pytest.approx(0.05, abs=1e-6)


def test_a_reader_study_needs_two_readers() -> None:
    pilot = Components(8e-4, 3.5e-4, 3.4e-4, 2.4e-4, 4.8e-3, 5.5e-4)
    with pytest.raises(InputError, match="at least two readers and two cases"):
        reader_study_power(pilot, pilot_cases=114, difference=0.05, readers=1, cases=100)


def test_power_is_that_of_the_noncentral_f_of_hillis_and_others() -> None:
    # 5 readers, 228 cases instead of 114: error 0.3 + 0.5 (0.2 + 5 x 0.1), in 1e-3
    pilot = Components(8e-4, 5e-4, 3e-4, 2e-4, 4.8e-3, 5e-4)
    found = reader_study_power(pilot, pilot_cases=114, difference=0.05, readers=5, cases=228)
    error, own = 0.65e-3, 0.4e-3
    noncentrality = 5 * 0.05 * 0.05 / (2 * error)
    behind = 4 * (error / own) ** 2
    critical = stats.f.ppf(0.95, 1, behind)
    assert found == pytest.approx(1 - stats.ncf.cdf(critical, 1, behind, noncentrality), abs=1e-12)
    assert 0.3 < found < 0.9
