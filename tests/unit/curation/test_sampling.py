import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodulebench.curation.design import SamplingPlan
from nodulebench.curation.sampling import draw_cases


def scans_of_patients(kernels: list[set[str]]) -> pl.DataFrame:
    rows = [
        (f"{n}{kernel}", f"p{n}", kernel)
        for n, some in enumerate(kernels)
        for kernel in sorted(some)
    ]
    return pl.DataFrame(rows, schema=["case_id", "patient_id", "kernel"], orient="row")


@pytest.mark.parametrize("seed", range(8))
def test_a_patient_in_two_strata_goes_where_one_is_short(seed: int) -> None:
    plan = SamplingPlan(shares={"kernel": {"lung": 0.5, "bone": 0.5}})
    pool = scans_of_patients([{"lung", "bone"}, {"lung", "bone"}, {"lung"}, {"bone", "lung"}])
    sample = draw_cases(pool, plan, 4, seed)
    assert [(stratum.available, stratum.drawn) for stratum in sample.strata] == [(4, 2), (3, 2)]
    assert sorted(name[0] for name in sample.case_ids) == ["0", "1", "2", "3"]


@given(
    st.lists(st.sets(st.sampled_from("abc"), min_size=1), min_size=1, max_size=9),
    st.integers(1, 9),
    st.integers(0, 99),
)
def test_the_draw_is_as_large_as_pool_and_plan_allow(
    kernels: list[set[str]], count: int, seed: int
) -> None:
    # against scipy's maximum flow: source, strata, their patients, sink
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import maximum_flow

    plan = SamplingPlan(shares={"kernel": {"a": 0.5, "b": 0.25, "c": 0.25}})
    sample = draw_cases(scans_of_patients(kernels), plan, count, seed)
    patients = [name[0] for name in sample.case_ids]
    assert len(set(patients)) == len(patients)
    assert all(stratum.drawn <= stratum.planned for stratum in sample.strata)
    size = len(kernels) + 5
    graph = np.zeros((size, size), dtype=np.int32)
    for at, stratum in enumerate(sample.strata):
        graph[0, 1 + at] = stratum.planned
        for number, some in enumerate(kernels):
            graph[1 + at, 4 + number] = "abc"[at] in some
    graph[4:-1, -1] = 1
    assert len(patients) == maximum_flow(csr_array(graph), 0, size - 1).flow_value
