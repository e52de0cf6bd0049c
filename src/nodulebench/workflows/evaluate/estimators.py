"""Labelled cohort x protocol -> every figure with its interval, each estimated in its own way."""

from collections.abc import Callable
from dataclasses import dataclass

from nodulebench.metrics import belongs_to
from nodulebench.model.cohort import LabelledCohort
from nodulebench.model.protocol import TestProtocol
from nodulebench.model.results import Curve, Estimate
from nodulebench.registry import Registry
from nodulebench.workflows.evaluate.estimate import estimate_figures, shown_name


@dataclass(frozen=True, slots=True)
class Estimated:
    """Figures that were estimated together, and the curves that they are read from."""

    figures: dict[str, Estimate | dict[str, Estimate]]
    curves: tuple[Curve, ...] = ()


Estimator = Callable[[LabelledCohort, TestProtocol], Estimated]

ESTIMATORS: Registry[Estimator] = Registry(
    "way to estimate a figure",
    "estimators",
    dict.fromkeys(
        ("sensitivity_at_fp_rate", "cpm"), "nodulebench.workflows.evaluate.read_froc:read_froc"
    ),
)
"""How figures that one curve gives are estimated together; any other figure is estimated alone."""


def estimate_all(cohort: LabelledCohort, protocol: TestProtocol) -> Estimated:
    """Every figure of a protocol with its interval, those read from a curve first."""
    ways = {name: belongs_to(name, ESTIMATORS) for name in protocol.figures}
    together = [way(cohort, protocol) for way in dict.fromkeys(ways.values()) if way is not None]
    alone = estimate_figures(cohort, protocol, [name for name, way in ways.items() if way is None])
    figures = {name: one for found in together for name, one in found.figures.items()}
    for name, one in alone.items():
        figures[shown_name(name, protocol)] = one
    return Estimated(figures, tuple(curve for found in together for curve in found.curves))
