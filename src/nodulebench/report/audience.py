"""Document and curves -> what an algorithm's developer may see: aggregates of the own algorithm.

What is left out here cannot be shown by anything that draws the report afterwards. A whole curve
with its thresholds would say of every single mark whether it is a hit, so curves are thinned to
fixed places and lose their thresholds.
"""

from dataclasses import fields, is_dataclass, replace
from typing import Any, cast

import numpy as np
import polars as pl

from nodulebench.language.audience import WITHHELD, for_developers
from nodulebench.model.documents.comparison import ComparisonDocument
from nodulebench.model.documents.evaluation import Document
from nodulebench.model.documents.summaries import AlgorithmSummary, Extras, RuleSummary
from nodulebench.model.notice import Notice, is_notice, read_notice
from nodulebench.model.results import Estimate, Stratum
from nodulebench.report.sections.comparison.groups import CROSSED

SECRET_EXTRAS = ("worst_cases",)
SECRET_FIGURES = ("threshold_at_fp_rate",)
SHOWN_DIGESTS = ("protocol", "plan")
GRID = {
    "froc": 2.0 ** np.linspace(-6, 6, 97),
    "other": np.linspace(0.0, 1.0, 51),
}
"""Where curves are read for the developer: false positives per case, and fractions."""


def developers_document(document: Document) -> Document:
    """The document without anything that tells single cases, nodules or marks."""
    minimum = document.protocol.minimum_stratum
    shown = replace(
        document,
        reference=replace(document.reference, diameters=None),
        digests={name: one for name, one in document.digests.items() if name in SHOWN_DIGESTS},
        notices=(),  # what is noticed of the test set itself is the laboratory's
        algorithms=tuple(_algorithm(one, minimum) for one in document.algorithms),
        plan=None if document.plan is None else replace(document.plan, differences=()),
        comparisons=tuple(_comparison(one) for one in document.comparisons),
    )
    allowed: Document = _allowed(shown)
    return allowed


def _comparison(found: ComparisonDocument) -> ComparisonDocument:
    """A comparison that counts the nodules which tell two algorithms apart, and names none."""
    return replace(
        found, detection=tuple(replace(one, missed_alone=None) for one in found.detection)
    )


def _allowed(value: Any) -> Any:
    """A part of the document with those notices, and those of their values, that may be told.

    A reason that may not be told is withheld; of several notices it is left out.
    """
    if isinstance(value, Notice) or is_notice(value):
        return for_developers(read_notice(value)) or WITHHELD
    if isinstance(value, list | tuple):
        found = [_allowed(one) for one in value]
        return type(value)(one for one in found if one is not WITHHELD)
    if isinstance(value, dict):
        return {key: _allowed(one) for key, one in value.items()}
    if is_dataclass(value) and not isinstance(value, type):
        names = [field.name for field in fields(value)]
        return replace(value, **{name: _allowed(getattr(value, name)) for name in names})
    return value


def only_algorithm(document: Document, name: str) -> Document:
    """The document of one algorithm alone; results of others are not its developer's concern."""
    plan = document.plan
    if plan is not None:
        plan = replace(
            plan,
            criteria=tuple(one for one in plan.criteria if one.algorithm == name),
            verdict=plan.verdicts.get(name, plan.verdict),
            verdicts={key: one for key, one in plan.verdicts.items() if key == name},
        )
    return replace(
        document,
        algorithms=tuple(one for one in document.algorithms if one.name == name),
        comparisons=(),
        plan=plan,
    )


def developers_curves(curves: pl.DataFrame) -> pl.DataFrame:
    """Every curve at fixed places, without thresholds."""
    parts = [
        _thinned(part)
        for part in curves.partition_by("algorithm", "rule", "curve", maintain_order=True)
    ]
    return pl.concat([curves.clear(), *parts])


def _thinned(curve: pl.DataFrame) -> pl.DataFrame:
    x, y = curve["x"].to_numpy(), curve["y"].to_numpy()
    grid = GRID["froc" if curve["curve"][0].startswith("froc") else "other"]
    grid = grid[(grid >= x[0]) & (grid <= x[-1])]
    places = np.unique(np.concatenate([[x[0]], grid])) if len(x) else grid
    return pl.DataFrame(
        {
            "algorithm": curve["algorithm"][0],
            "rule": curve["rule"][0],
            "curve": curve["curve"][0],
            "x": places,
            "y": np.interp(places, x, y),
            "threshold": np.full(len(places), np.nan),
        },
        schema=curve.schema,
    )


def _algorithm(algorithm: AlgorithmSummary, minimum: int) -> AlgorithmSummary:
    return replace(
        algorithm,
        rules={rule: _result(one, minimum) for rule, one in algorithm.rules.items()},
    )


def _result(result: RuleSummary, minimum: int) -> RuleSummary:
    if result.undefined:
        return result
    extras = {name: one for name, one in result.extras.items() if name not in SECRET_EXTRAS}
    if crossed := result.extras.get("misses_by_type_and_size"):
        extras[CROSSED] = [row for row in crossed if row["nodules"] >= minimum]
    return replace(
        result,
        figures={name: one for name, one in result.figures.items() if name not in SECRET_FIGURES},
        strata={
            division: {name: _stratum(one) for name, one in strata.items()}
            for division, strata in result.strata.items()
        },
        extras=cast("Extras", extras),
        remarks=(),
        operating_point=result.operating_point and replace(result.operating_point, threshold=None),
    )


def _stratum(stratum: Stratum) -> Stratum:
    """A stratum of a few nodules would tell of single ones, so nothing shows its misses."""
    if not stratum.is_too_few:
        return stratum
    untold = Estimate(None, reason=Notice("too_few_to_tell"))
    figures = dict.fromkeys(stratum.figures, untold)
    return replace(stratum, missed=None, miss_rate=untold, figures=figures)
