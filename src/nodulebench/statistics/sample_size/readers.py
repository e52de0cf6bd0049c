"""Components of a pilot reader study -> power of a study with more readers or cases."""

from nodulebench.core.errors import InputError
from nodulebench.core.notices import Notice
from nodulebench.statistics.mrmc import Components
from nodulebench.statistics.sample_size.result import (
    Plan,
    check_between,
    curve_around,
    smallest_size,
)


def reader_study_power(
    pilot: Components,
    *,
    pilot_cases: int,
    difference: float,
    readers: int,
    cases: int,
    alpha: float = 0.05,
) -> float:
    """Power for two treatments, random readers and cases (Hillis, Obuchowski and Berbaum 2011)."""
    from scipy import stats

    if readers < 2 or cases < 2:
        raise InputError.at("reader study", "needs at least two readers and two cases.")
    shrink = pilot_cases / cases
    shared = max(pilot.covariance_2 - pilot.covariance_3, 0.0)
    own = pilot.variance - pilot.covariance_1 - shared
    # the variance of the interaction of treatments and readers without the cases' share
    interaction = max(pilot.treatment_reader_square - own, 0.0)
    error = interaction + shrink * (own + readers * shared)
    behind = error**2 / ((interaction + shrink * own) ** 2 / (readers - 1))
    away = readers * difference**2 / 2 / error
    critical = stats.f.isf(alpha, 1, behind)
    return float(stats.ncf.sf(critical, 1, behind, away))


def size_for_reader_study(
    pilot: Components,
    *,
    pilot_cases: int,
    difference: float,
    readers: int,
    alpha: float = 0.05,
    power: float = 0.8,
) -> Plan:
    """Cases that a given number of readers has to read with and without CAD.

    The planned set has the same share of abnormal cases as the pilot.
    """
    check_between("power", power)
    check_between("alpha", alpha)

    def power_at(cases: int) -> float:
        sizes = {"pilot_cases": pilot_cases, "readers": readers, "cases": cases}
        return reader_study_power(pilot, difference=difference, alpha=alpha, **sizes)

    answer = smallest_size(lambda cases: power_at(cases) >= power)
    return Plan(
        question=Notice("ask_readers", {"readers": readers, "difference": difference}),
        answer=answer,
        unit="cases",
        assumptions=(
            Notice("like_the_pilot_study", {"cases": pilot_cases}),
            Notice("all_read_all", {"readers": readers}),
            Notice("test_of_readers", {"alpha": alpha}),
        ),
        method=Notice("obuchowski_rockette_power"),
        curve_name="power",
        curve=curve_around(answer, power_at),
    )
