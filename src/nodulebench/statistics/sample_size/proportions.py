"""Expected sensitivity and wanted precision -> nodules and patients."""

import math
from statistics import NormalDist

from nodulebench.core.notices import Notice
from nodulebench.statistics.sample_size.clusters import ASSUMED_CORRELATION, clustering
from nodulebench.statistics.sample_size.result import Plan, check_between, curve_around


def size_for_sensitivity(
    *,
    sensitivity: float,
    half_width: float,
    nodules_per_patient: float = 1.0,
    nodules_sd: float | None = None,
    correlation: float | None = None,
    level: float = 0.95,
) -> Plan:
    """Nodules needed to know a sensitivity within ± ``half_width``.

    n = z^2 p (1 - p) / d^2, times the design effect.

    Args:
        sensitivity: the sensitivity expected.
        half_width: half the width of the confidence interval.
        nodules_per_patient: mean number of nodules in a patient that has any.
        nodules_sd: their standard deviation; None: that of geometric numbers.
        correlation: within patients, of being found; None: a cautious one.
        level: confidence level.
    """
    check_between("sensitivity", sensitivity)
    check_between("half-width", half_width)
    check_between("level", level)
    patients = clustering(
        nodules_per_patient, nodules_sd, correlation, assumed_correlation=ASSUMED_CORRELATION
    )
    effect = patients.effect
    z = NormalDist().inv_cdf((1 + level) / 2)
    independent = z**2 * sensitivity * (1 - sensitivity) / half_width**2
    answer = math.ceil(independent * effect - 1e-9)

    def width(nodules: int) -> float:
        return z * math.sqrt(sensitivity * (1 - sensitivity) * effect / nodules)

    return Plan(
        question=Notice("ask_sensitivity", {"sensitivity": sensitivity, "half_width": half_width}),
        answer=answer,
        unit="nodules",
        assumptions=(
            Notice("assume_near", {"what": "sensitivity", "value": sensitivity}),
            patients.told,
            Notice("interval_normal", {"of": "sensitivity", "level": level}),
        ),
        method=Notice("normal_interval_of_proportion"),
        curve_name="half_width",
        curve=curve_around(answer, width),
        details={
            "design_effect": effect,
            "independent_nodules": math.ceil(independent - 1e-9),
            "patients": math.ceil(answer / nodules_per_patient - 1e-9),
        },
    )
