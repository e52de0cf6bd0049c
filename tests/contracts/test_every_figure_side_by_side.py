"""Two cohorts side by side: every figure reads either of them through weights alone.

This is what permutation tests of two algorithms rest on.
"""

import numpy as np
import pytest

from builders.random_cohorts import random_cases
from builders.tables import cohort
from nodulebench.metrics import FIGURES
from nodulebench.statistics.permutation import side_by_side

FIRST, SECOND = cohort(*random_cases(1)), cohort(*random_cases(2))
every_figure = pytest.mark.parametrize("name", list(FIGURES))


@every_figure
@pytest.mark.parametrize("is_on_common_scale", [True, False])
def test_weights_pick_one_cohort_out_of_two(name: str, is_on_common_scale: bool) -> None:
    joined = side_by_side(FIRST, SECOND, is_on_common_scale=is_on_common_scale)
    weights = np.zeros((2, joined.case_count), dtype=np.int32)
    weights[0, : FIRST.case_count] = 1
    weights[1, FIRST.case_count :] = 1
    alone = [
        FIGURES[name](one, np.ones((1, one.case_count), dtype=np.int32))[0]
        for one in (FIRST, SECOND)
    ]
    np.testing.assert_allclose(FIGURES[name](joined, weights), alone, rtol=1e-12)
