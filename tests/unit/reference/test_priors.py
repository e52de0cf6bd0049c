"""Earlier scans tell whether nodules are new, growing or stable."""

from datetime import date, timedelta

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders.tables import case, nodule, reference
from nodulebench.core.errors import InputError
from nodulebench.reference.priors import PRIORS, change_of, changes

NOW = date(2026, 1, 1)


def ago(days: int, size: float | None) -> tuple[date, date, float | None]:
    return NOW, NOW - timedelta(days=days), size


@pytest.mark.parametrize(
    ("now", "then", "change", "growth"),
    [
        (6.0, [ago(180, None)], "new", None),
        (8.0, [ago(180, 6.0)], "growing", 2.0),
        (7.5, [ago(180, 6.0)], "stable", 1.5),  # not more than 1.5 mm
        (5.0, [ago(180, 6.0)], "stable", -1.0),
        (8.0, [ago(730, 6.0)], "slowly_growing", 2.0),  # 1 mm a year
        (10.0, [ago(730, 6.0)], "growing", 4.0),
        (8.0, [ago(1000, 6.0), ago(300, 7.0)], "slowly_growing", 1.0),
        (8.0, [ago(1000, 6.0), ago(300, 6.2)], "growing", 1.8),
        (8.0, [ago(1000, 8.0), ago(300, None)], "stable", 0.0),
        (None, [ago(180, 6.0)], None, None),
    ],
)
def test_change_is_classified_by_lung_rads_2022(now, then, change, growth) -> None:
    result = change_of(now, then)
    assert result.change == change
    assert result.growth_mm == (None if growth is None else pytest.approx(growth))
    assert result.prior_days == (then[-1][0] - then[-1][1]).days


@given(st.floats(2, 30), st.floats(2, 30), st.integers(1, 2000))
def test_faster_growth_is_never_classified_lower(then: float, now: float, days: int) -> None:
    rank = ("stable", "slowly_growing", "growing")
    slower, faster = (change_of(size, [ago(days, then)]).change for size in (now, now + 1))
    assert rank.index(str(slower)) <= rank.index(str(faster))


def test_sizes_come_from_the_table_or_from_the_earlier_scan_of_the_set() -> None:
    truth = reference(
        case("now", nodule(8, nodule_id="n"), nodule(5, (50, 0, 0), nodule_id="m")),
        case("then", nodule(6, nodule_id="k")),
    )
    names = truth.nodules["nodule_id"].to_list()
    rows = {
        "case_id": ["now", "now"],
        "nodule_id": names[:2],
        "date": ["2026-01-01"] * 2,
        "prior_date": ["2025-07-01"] * 2,
        "prior_case_id": ["then", None],
        "prior_nodule_id": [names[2], None],
    }
    table = changes(truth, PRIORS.conform(pl.DataFrame(rows), "priors"))
    assert table.select("change", "growth_mm", "prior_days").rows() == [
        ("growing", 2.0, 184),
        ("new", None, 184),
    ]
    wrong = pl.DataFrame({**rows, "prior_date": ["2026-01-01", "2025-07-01"]})
    with pytest.raises(InputError, match="2026-01-01 is not before 2026-01-01"):
        changes(truth, PRIORS.conform(wrong, "priors"))
    strange = pl.DataFrame({**rows, "prior_nodule_id": ["q", None]})
    with pytest.raises(InputError, match="the size of 'q' in 'then' is not known"):
        changes(truth, PRIORS.conform(strange, "priors"))
    stranger = pl.DataFrame({**rows, "nodule_id": ["q", names[1]]})
    with pytest.raises(InputError, match="nodule 'q': is not in the reference"):
        changes(truth, PRIORS.conform(stranger, "priors"))
