"""How far readers differ in size, and what the reference leaves open."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders.annotation import drawn, reading, small_cases
from nodulebench.annotation.readings import findings_of
from nodulebench.reference.agreement import size_error
from nodulebench.reference.panel import measure_findings

PLACES = ((20, 20), (70, 20), (20, 70), (70, 70))


def panel(*nodules: tuple[float, ...]):
    """Readers 1, 2, ... draw boxes of these sides around the same places; 0: not drawn."""
    readers = max(map(len, nodules))
    read = [
        reading(
            f"r{reader}",
            "a",
            *(
                drawn(f"f{at}", (3, *PLACES[at], sides[reader]))
                for at, sides in enumerate(nodules)
                if reader < len(sides) and sides[reader]
            ),
        )
        for reader in range(readers)
    ]
    return measure_findings(findings_of("panel", small_cases("a"), read))


def test_differences_of_two_readers_by_hand() -> None:
    error = size_error(panel((8.0, 10.0), (6.0, 6.0), (5.0,)))
    assert error is not None
    assert (error.nodules, error.readings) == (2, 4)
    assert error.difference_mm == pytest.approx(1.0)  # 2 and 0
    assert error.relative_difference == pytest.approx((2 / 9) / 2)
    # variances 2 and 0 with one degree of freedom each
    assert error.reader_sd_mm == pytest.approx(1.0)
    assert error.reference_error_mm == pytest.approx(1 / math.sqrt(2))


def test_without_two_readers_of_a_nodule_there_is_no_error() -> None:
    assert size_error(panel((8.0,), (6.0,))) is None


@pytest.mark.slow
@given(
    st.lists(
        st.tuples(*[st.floats(7.0, 10.0)] * 3),
        min_size=1,
        max_size=4,
    )
)
def test_it_is_the_root_of_the_mean_square_within_of_an_analysis_of_variance(nodules) -> None:
    error = size_error(panel(*nodules))
    table = np.array(nodules)
    within = ((table - table.mean(axis=1, keepdims=True)) ** 2).sum() / (2 * len(nodules))
    assert error is not None
    assert error.reader_sd_mm == pytest.approx(math.sqrt(within), abs=1e-9)
    assert error.reference_error_mm == pytest.approx(math.sqrt(within / 3), abs=1e-9)
    assert error.nodules == len(nodules)
