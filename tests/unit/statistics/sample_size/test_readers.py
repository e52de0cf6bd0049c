import pytest

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
