"""Document and curves -> what an algorithm's developer may see: aggregates of the own algorithm.

What is left out here cannot be shown by anything that draws the report afterwards. A whole curve
with its thresholds would say of every single mark whether it is a hit, so curves are thinned to
fixed places and lose their thresholds.
"""

import re
from dataclasses import replace
from typing import cast

import numpy as np
import polars as pl

from nodulebench.model.document import AlgorithmSummary, Document, Extras, RuleSummary
from nodulebench.model.notice import Told
from nodulebench.model.results import Estimate, Stratum
from nodulebench.report.sections.comparison.groups import CROSSED

SECRET_EXTRAS = ("worst_cases",)
SECRET_FIGURES = ("threshold_at_fp_rate",)
SHOWN_NOTICE = "The test set is small for its intervals"
SHOWN_DIGESTS = ("protocol", "plan")
GRID = {
    "froc": 2.0 ** np.linspace(-6, 6, 97),
    "other": np.linspace(0.0, 1.0, 51),
}
"""Where curves are read for the developer: false positives per case, and fractions."""
NAMED = re.compile(r"[:,]?\s*(first )?((mark|case|nodule)s? )?'[^']*'(, (\.\.\.|'[^']*'))*")
"""Names in quotes, as messages give them."""


def developers_document(document: Document) -> Document:
    """The document without anything that tells single cases, nodules or marks."""
    minimum = document.protocol.minimum_stratum
    return replace(
        document,
        reference=replace(document.reference, diameters=None),
        digests={name: one for name, one in document.digests.items() if name in SHOWN_DIGESTS},
        notices=tuple(text for text in document.notices if str(text).startswith(SHOWN_NOTICE)),
        algorithms=tuple(_algorithm(one, minimum) for one in document.algorithms),
        plan=None if document.plan is None else replace(document.plan, differences=()),
    )


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
        notices=tuple(without_names(text) for text in algorithm.notices),
        rules={rule: _result(one, minimum) for rule, one in algorithm.rules.items()},
    )


def _result(result: RuleSummary, minimum: int) -> RuleSummary:
    if result.undefined:
        return RuleSummary(undefined=without_names(result.undefined))
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
        notices=tuple(without_names(text) for text in result.notices),
        remarks=(),
    )


def _stratum(stratum: Stratum) -> Stratum:
    """A stratum of a few nodules would tell of single ones, so nothing shows its misses."""
    if not stratum.is_too_few:
        return stratum
    untold = Estimate(None, reason="too few to be told")
    figures = dict.fromkeys(stratum.figures, untold)
    return replace(stratum, missed=None, miss_rate=untold, figures=figures)


def without_names(text: Told) -> str:
    """A message without the names of cases, nodules and marks that it quotes."""
    return NAMED.sub("", str(text))
