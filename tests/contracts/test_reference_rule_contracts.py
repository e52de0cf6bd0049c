"""What every reference rule and every way of grouping must fulfil."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders.readings import ReadCase, block, point, read, readings
from nodulebench.core.readings import Readings
from nodulebench.core.tables import NODULE_SLICES, NODULES
from nodulebench.reference.build import build_reference
from nodulebench.reference.grouping import GROUPINGS
from nodulebench.reference.rules import RULES
from nodulebench.testing.reference_rules import (
    REFERENCE_RULE_CHECKS,
    Parameters,
    check_reference_rule,
)

NEEDED: dict[str, dict[str, Any]] = {"arbitrated": {"arbitrator": "1"}}
READERS = ("1", "2", "3")
places = st.integers(0, 12)
drawings = st.one_of(
    st.builds(
        lambda reader, i, j, size, k: block(reader, (i, j), (i + size, j + size), slices=(k,)),
        st.sampled_from(READERS),
        places,
        places,
        st.integers(0, 5),
        st.integers(0, 3),
    ),
    st.builds(
        lambda reader, x, y, kind: point(reader, x, y, 0.0, kind),
        st.sampled_from(READERS),
        places.map(float),
        places.map(float),
        st.sampled_from(["small_nodule", "non_nodule"]),
    ),
)
cases = st.lists(drawings, max_size=8).map(lambda drawn: read("a", *drawn, readers=READERS))


def built(
    rule: str, drawn: Readings, *, has_slices: bool = False, **parameters: Any
) -> pl.DataFrame:
    chosen = {**NEEDED.get(rule, {}), **parameters}
    reference = build_reference(drawn, rule, chosen, has_slices=has_slices)
    NODULES.conform(reference.nodules, "NODULES")
    if reference.slices is not None:
        NODULE_SLICES.conform(reference.slices, "NODULE_SLICES")
    return reference.nodules


@pytest.mark.slow
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("check", REFERENCE_RULE_CHECKS, ids=lambda check: check.__name__)
@settings(max_examples=8)
@given(case=cases, other=cases)
def test_it_keeps_to_the_contract(
    rule: str,
    check: Callable[[str, Readings, Parameters], None],
    case: ReadCase,
    other: ReadCase,
) -> None:
    drawn = readings(replace(case, name="x"), replace(other, name="y"))
    check(rule, drawn, NEEDED.get(rule, {}))


@pytest.mark.slow
@pytest.mark.parametrize("rule", RULES)
def test_it_keeps_to_the_contract_as_other_packages_run_it(rule: str) -> None:
    check_reference_rule(rule, **NEEDED.get(rule, {}))


@pytest.mark.parametrize("rule", RULES)
@settings(max_examples=6)
@given(case=cases, shift=st.tuples(st.integers(0, 40), st.integers(0, 40)))
def test_shifting_everything_shifts_the_nodules_only(
    rule: str, case: ReadCase, shift: tuple[int, int]
) -> None:
    moved = replace(case, drawings=tuple(_moved(drawing, *shift) for drawing in case.drawings))
    before, after = built(rule, readings(case)), built(rule, readings(moved))
    step = np.array([*shift, 0])
    places_before, places_after = (
        table.select("x_mm", "y_mm", "z_mm").to_numpy() for table in (before, after)
    )
    np.testing.assert_allclose(places_before + step, places_after, atol=1e-9)
    np.testing.assert_allclose(before["diameter_mm"], after["diameter_mm"], atol=1e-9)
    assert before["findings"].to_list() == after["findings"].to_list()


def _moved(drawing: Any, di: int, dj: int) -> Any:
    outlines = tuple(
        (number, tuple((i + di, j + dj) for i, j in pixels), is_hole)
        for number, pixels, is_hole in drawing.outlines
    )
    x, y, z = drawing.point or (0.0, 0.0, 0.0)
    place = (x + di, y + dj, z) if drawing.point else None
    return replace(drawing, outlines=outlines, point=place)


@pytest.mark.parametrize("grouping", GROUPINGS)
@settings(max_examples=10)
@given(case=cases)
def test_grouping_puts_every_nodule_finding_into_one_group(grouping: str, case: ReadCase) -> None:
    table = built("majority", readings(case), grouping=grouping)
    named = " ".join(table.filter(pl.col("kind") == "nodule")["findings"].to_list()).split()
    wanted = [f"f{at}" for at, drawing in enumerate(case.drawings) if drawing.kind == "nodule"]
    assert sorted(named) == sorted(wanted)


@pytest.mark.slow
@settings(max_examples=10)
@given(case=cases)
def test_more_agreement_never_makes_more_nodules(case: ReadCase) -> None:
    counts = [
        int((~built("majority", readings(case), minimum_agreement=level)["is_ignored"]).sum())
        for level in (1, 2, 3)
    ]
    assert counts == sorted(counts, reverse=True)
    everything = built("union", readings(case), grouping="recursive")
    assert int((~everything["is_ignored"]).sum()) == counts[0]
    everyone = built("unanimous", readings(case))
    assert int((~everyone["is_ignored"]).sum()) == counts[2]
