"""Labelled cohort -> Curve or figure of merit. ``FIGURES`` lists every figure by its name."""

from collections.abc import Callable

import polars as pl

from nodulebench.metrics.facts import FACTS, FACTS_OF_MODULE, FigureFacts, Guard
from nodulebench.metrics.figure import Ratio, first_line
from nodulebench.metrics.ratings import Ratings
from nodulebench.model.arrays import FloatArray
from nodulebench.model.cohort import LabelledCohort
from nodulebench.model.results import Curve
from nodulebench.registry import Registry, Thing

__all__ = [
    "CURVES",
    "FACTS",
    "FIGURES",
    "RATINGS",
    "TABLES",
    "Figure",
    "FigureFacts",
    "belongs_to",
    "facts_of",
    "guard_of",
    "meaning_of",
    "name_of",
]


Figure = Callable[..., FloatArray]
"""``figure(cohort, case_weight, **settings)``: one value, or row of values, per replicate."""

FIGURES: Registry[Figure] = Registry(
    "figure of merit",
    "figures",
    {
        figure: f"{__name__}.{module}"
        for module, figures in FACTS_OF_MODULE.items()
        for figure in figures
    },
)

RATINGS: Registry[Callable[[LabelledCohort], tuple[Ratings, Ratings]]] = Registry(
    "ratings behind an area",
    "ratings",
    {
        "case_roc_area": f"{__name__}.afroc:case_ratings",
        "malignancy_auc": f"{__name__}.roc:benign_and_malignant",
    },
)
"""Negatives and positives whose ROC an area is, by the figure's name."""

CURVES: Registry[Callable[[LabelledCohort], Curve]] = Registry(
    "curve",
    "curves",
    {
        "afroc_area": f"{__name__}.afroc:afroc_curve",
        "wafroc_area": f"{__name__}.afroc:wafroc_curve",
        "case_roc_area": f"{__name__}.afroc:case_roc_curve",
        "lroc_area": f"{__name__}.lroc:lroc_curve",
        "malignancy_auc": f"{__name__}.roc:malignancy_roc_curve",
        "average_precision": f"{__name__}.precision_recall:precision_recall_curve",
    },
)
"""The curve behind an area, by the figure's name."""

TABLES: Registry[Callable[[LabelledCohort], pl.DataFrame]] = Registry(
    "table",
    "tables",
    {
        "density_accuracy": f"{__name__}.characterisation:density_confusion",
        "expected_calibration_error": f"{__name__}.calibration:reliability_table",
        "malignancy_auc": f"{__name__}.graded:malignancy_cuts",
        "category_kappa_linear": f"{__name__}.graded:category_cuts",
        "category_kappa_quadratic": f"{__name__}.graded:category_cuts",
    },
)
"""The table that belongs to a figure, by the figure's name."""


def name_of(figure: Figure) -> str:
    """The name under which a figure is registered."""
    return figure.name if isinstance(figure, Ratio) else figure.__name__


def meaning_of(figure: Figure) -> str:
    """What a figure means, in one line."""
    return figure.meaning if isinstance(figure, Ratio) else first_line(figure)


def facts_of(name: str) -> FigureFacts:
    """What is known of a figure; one of another package has it as its attribute ``facts``."""
    if name in FACTS:
        return FACTS[name]
    found: FigureFacts | None = getattr(FIGURES[name], "facts", None)
    return found or FigureFacts(is_higher_better=True)


def guard_of(name: str) -> Guard:
    """How a figure's interval is guarded where hardly anything goes wrong."""
    figure = FIGURES[name]
    is_proportion = isinstance(figure, Ratio) and figure.is_proportion
    return facts_of(name).guard or ("trials" if is_proportion else "none")


def belongs_to(figure: str, registry: Registry[Thing]) -> Thing | None:
    """What a registry has for a figure: its curve, its table, its own way of being estimated.

    Other packages are asked only for figures of other packages.
    """
    is_asked = registry.is_built_in(figure) or not FIGURES.is_built_in(figure)
    return registry[figure] if is_asked and figure in registry else None


def is_lower_better(figure: str) -> bool:
    """Whether lower values of a figure, as results name it, are better."""
    return figure in FIGURES and facts_of(figure).is_higher_better is False
