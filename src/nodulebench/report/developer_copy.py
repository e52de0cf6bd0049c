"""Document and curves -> what the developer of an algorithm may see: its aggregates.

What is left out here cannot be shown by any later part of the report. A whole curve with its
thresholds would reveal for every mark whether it is a hit, so curves lose their thresholds and all
points but a few. A FROC passes the points that the document discloses as
numbers: its readings, and the operating point or, without one, its end. These points disclose
nothing new, and the line agrees with the markers. Between them the curve is read at every tenth
step, but not within ten steps of such a point.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from typing import Any, cast

import numpy as np
import polars as pl

from nodulebench.core.arrays import FloatArray
from nodulebench.core.documents.comparison import ComparisonDocument
from nodulebench.core.documents.evaluation import Document
from nodulebench.core.documents.records import CrossedCount, Extras, PlanSummary, RuleSummary
from nodulebench.core.notices import Notice, is_notice, read_notice
from nodulebench.core.results import Estimate, Stratum
from nodulebench.report.disclosure import (
    WITHHELD,
    Divisions,
    StratumName,
    for_developers,
    hidden_strata,
    members_by_name,
)
from nodulebench.report.groups import CROSSED

SECRET_EXTRAS = ("worst_cases",)
SECRET_METRICS = ("threshold_at_fp_rate",)
SHOWN_DIGESTS = ("protocol", "plan")
GRID = {
    "froc": 2.0 ** np.linspace(-6, 6, 97),
    "other": np.linspace(0.0, 1.0, 51),
}
"""Where curves are read for the developer: false positives per case, and fractions."""
LEAST_STEPS = 10
"""The fewest steps of a curve, one or more marks each, that are disclosed together. Single steps
would show a developer, who knows the order of the marks, which of them are hits."""
BANDS = ("froc_low", "froc_high")
DECIMALS = 3
"""Decimals of a band, and at least those of the document. The ends of a band are sums over cases
with known weights: all their digits would disclose which nodules were hit."""
TINY = 1e-9
"""More than the rounding error of a rate."""


def developers_document(
    document: Document,
    minimum: int = 1,
    hidden: Mapping[str, Collection[StratumName]] | None = None,
) -> Document:
    """The document without anything about single cases, nodules or marks.

    Args:
        document: the results.
        minimum: the fewest nodules of a disclosed group, if the protocol allows fewer.
        hidden: rule -> further strata that are withheld, from ``disclosure.hidden_strata``.
    """
    fewest = max(minimum, document.protocol.minimum_stratum)
    withheld = {
        (algorithm.name, rule): _without_undisclosed(result, fewest).union(
            (hidden or {}).get(rule, ())
        )
        for algorithm, rule, result in document.results
    }
    shown = replace(
        document,
        reference=replace(document.reference, diameters=None),
        digests={
            name: digest for name, digest in document.digests.items() if name in SHOWN_DIGESTS
        },
        notices=(),  # what is noticed of the test set itself is the laboratory's
        algorithms=tuple(
            replace(
                algorithm,
                rules={
                    rule: _result(result, withheld[algorithm.name, rule])
                    for rule, result in algorithm.rules.items()
                },
            )
            for algorithm in document.algorithms
        ),
        plan=None if document.plan is None else _plan(document.plan, withheld),
        comparisons=tuple(_comparison(comparison) for comparison in document.comparisons),
    )
    allowed: Document = _allowed(shown)
    return allowed


def _comparison(comparison: ComparisonDocument) -> ComparisonDocument:
    """A comparison that counts the nodules which only one algorithm found, and names none."""
    return replace(
        comparison,
        digests={
            name: digest for name, digest in comparison.digests.items() if name in SHOWN_DIGESTS
        },
        detection=tuple(replace(test, missed_by_one=None) for test in comparison.detection),
    )


def _allowed(value: Any) -> Any:
    """A part of the document with only the notices, and the values in them, that may be disclosed.

    A single reason that may not be disclosed becomes ``withheld``; in a list it is left out.
    """
    if isinstance(value, Notice) or is_notice(value):
        return for_developers(read_notice(value)) or WITHHELD
    if isinstance(value, list | tuple):
        elements = [_allowed(element) for element in value]
        return type(value)(element for element in elements if element is not WITHHELD)
    if isinstance(value, dict):
        return {key: _allowed(element) for key, element in value.items()}
    if is_dataclass(value) and not isinstance(value, type):
        names = [field.name for field in fields(value)]
        return replace(value, **{name: _allowed(getattr(value, name)) for name in names})
    return value


def only_algorithm(document: Document, name: str) -> Document:
    """The document of one algorithm, without the results of others."""
    plan = document.plan
    if plan is not None:
        plan = replace(
            plan,
            criteria=tuple(criterion for criterion in plan.criteria if criterion.algorithm == name),
            verdict=plan.verdicts.get(name, plan.verdict),
            verdicts={key: verdict for key, verdict in plan.verdicts.items() if key == name},
        )
    return replace(
        document,
        algorithms=tuple(algorithm for algorithm in document.algorithms if algorithm.name == name),
        comparisons=(),
        plan=plan,
    )


def developers_curves(curves: pl.DataFrame, document: Document | None = None) -> pl.DataFrame:
    """A few points of every curve, without thresholds.

    A curve that was thinned before stays as it is: its thresholds are null.

    Args:
        curves: the table in curves.parquet.
        document: what the developer sees; a FROC passes the points that it discloses. None: no
            point is disclosed.
    """
    known = () if document is None else document.results
    results = {(algorithm.name, rule): result for algorithm, rule, result in known}
    parts = curves.partition_by("algorithm", "rule", "curve", maintain_order=True, as_dict=True)
    thinned = [
        part
        if part["threshold"].null_count() == part.height
        else _thinned(part, str(name), results.get((str(algorithm), str(rule)), RuleSummary()))
        for (algorithm, rule, name), part in parts.items()
    ]
    return pl.concat([curves.clear(), *thinned])


def _thinned(curve: pl.DataFrame, name: str, result: RuleSummary) -> pl.DataFrame:
    """Those points of a curve that a developer may see who sees these numbers."""
    x, y = curve["x"].to_numpy(), curve["y"].to_numpy()
    readings = _readings(result)
    if name in BANDS:
        places = np.array([rate for rate, _ in readings if x[0] <= rate <= x[-1]])
        return _points(curve, places, np.interp(places, x, y).round(DECIMALS))
    disclosed = [*readings, *_operating_point(result)] if name == "froc" else []
    rates, heights = np.array(disclosed, dtype=np.float64).reshape(-1, 2).T
    is_froc, last = name.startswith("froc"), curve.height - 1
    steps = np.append(np.arange(LEAST_STEPS, last, LEAST_STEPS), last)
    if not is_froc and curve["threshold"][0] == np.inf:  # no mark is above the first point
        steps = np.append(0, steps)
    passed = [
        np.count_nonzero((x <= rate + TINY) & (y <= height + 0.5 * 10**-DECIMALS)) - 1
        for rate, height in disclosed
    ]
    distance = np.abs(np.subtract.outer(steps, passed)).min(axis=1, initial=LEAST_STEPS)
    steps = steps[distance >= LEAST_STEPS]
    rates = np.minimum(rates, x[-1])  # beyond its end a curve keeps its last value
    known_x, known_y = np.append(rates, x[steps]), np.append(heights, y[steps])
    if len(rates):
        order = np.lexsort((known_y, known_x))
        known_x, known_y = known_x[order], known_y[order]
    grid = GRID["froc" if is_froc else "other"]
    grid = grid[(grid > known_x[0]) & (grid < known_x[-1])]
    places = np.unique(np.concatenate([known_x[[0, -1]], rates, grid]))
    return _points(curve, places, np.interp(places, known_x, known_y))


def _readings(result: RuleSummary) -> list[tuple[float, float]]:
    readings = result.readings("sensitivity_at_fp_rate")
    return sorted(
        (float(rate), reading.value)
        for rate, reading in readings.items()
        if reading.value is not None
    )


def _operating_point(result: RuleSummary) -> list[tuple[float, float]]:
    """The point of a FROC at which a document counts: its end if every mark counts."""
    counts = result.counts
    if not counts.get("cases") or not counts.get("nodules"):
        return []
    rate = counts["false_positive"] / counts["cases"]
    return [(rate, counts["hit"] / counts["nodules"])]


def _points(curve: pl.DataFrame, x: FloatArray, y: FloatArray) -> pl.DataFrame:
    """A curve through other points, without thresholds."""
    names = {column: curve[column][0] for column in ("algorithm", "rule", "curve")}
    return pl.DataFrame({**names, "x": x, "y": y, "threshold": None}, schema=curve.schema)


def _plan(plan: PlanSummary, withheld: Mapping[tuple[str, str], set[StratumName]]) -> PlanSummary:
    """A plan without the values of criteria on a withheld stratum."""
    criteria = tuple(
        replace(
            criterion,
            value=None,
            low=None,
            high=None,
            p_value=None,
            adjusted_p_value=None,
            reason=Notice("tells_few"),
        )
        if _named(criterion.stratum) in withheld.get((criterion.algorithm, criterion.rule), ())
        else criterion
        for criterion in plan.criteria
    )
    return replace(plan, differences=(), criteria=criteria)


def _named(stratum: str) -> StratumName:
    """The stratum that is written ``type=solid``."""
    division, _, name = stratum.partition("=")
    return division, name


def _without_undisclosed(result: RuleSummary, minimum: int) -> set[StratumName]:
    few = {
        (division, name)
        for division, strata in result.strata.items()
        for name, stratum in strata.items()
        if stratum.is_too_few
    }
    parts = _known_members(result)
    return few.union(*(hidden_strata(divisions, minimum) for divisions in parts))


def _result(result: RuleSummary, withheld: set[StratumName]) -> RuleSummary:
    if result.undefined:
        return result
    extras = {name: extra for name, extra in result.extras.items() if name not in SECRET_EXTRAS}
    if crossed := result.extras.get("misses_by_type_and_size"):
        extras[CROSSED] = [
            row
            for row in crossed
            if row["nodules"] and (CROSSED, crossed_name(row["type"], row["size"])) not in withheld
        ]
    return replace(
        result,
        metrics={
            name: metric for name, metric in result.metrics.items() if name not in SECRET_METRICS
        },
        strata={
            division: {
                name: _stratum(stratum, is_hidden=(division, name) in withheld)
                for name, stratum in strata.items()
            }
            for division, strata in result.strata.items()
        },
        extras=cast("Extras", extras),
        remarks=(),
        operating_point=result.operating_point and replace(result.operating_point, threshold=None),
    )


def crossed_name(kind: str, size: str) -> str:
    """The name of the nodules of one type and size, as a stratum."""
    return f"{kind}, {size}"


def _known_members(result: RuleSummary) -> Iterator[Divisions]:
    """The divisions as sets of nodules, with types and sizes crossed if the document has that.

    Which nodules of one division are in which stratum of another is not known from a document.
    """
    whole = result.counts.get("nodules", 0)
    numbers = {
        division: {name: stratum.nodules for name, stratum in strata.items()}
        for division, strata in result.strata.items()
    }
    if crossed := result.extras.get("misses_by_type_and_size"):
        yield _crossed_members(crossed, numbers.pop("type", {}), numbers.pop("size", {}), whole)
    for division, strata in numbers.items():
        of_nodule = [name for name, count in strata.items() for _ in range(count)]
        yield {division: members_by_name(of_nodule, strata, whole)}


def _crossed_members(
    crossed: Sequence[CrossedCount], types: Mapping[str, int], sizes: Mapping[str, int], whole: int
) -> Divisions:
    pairs = [(row["type"], row["size"]) for row in crossed for _ in range(row["nodules"])]
    for name, count in types.items():
        pairs += [(name, "")] * (count - sum(kind == name for kind, _ in pairs))
    for name, count in sizes.items():
        pairs += [("", name)] * (count - sum(size == name for _, size in pairs))
    cells = {crossed_name(row["type"], row["size"]) for row in crossed}
    return {
        "type": members_by_name([kind for kind, _ in pairs], types, whole),
        "size": members_by_name([size for _, size in pairs], sizes, whole),
        CROSSED: members_by_name([crossed_name(*pair) for pair in pairs], cells, whole),
    }


def _stratum(stratum: Stratum, *, is_hidden: bool) -> Stratum:
    """A stratum without its misses if they would reveal single nodules.

    That is so for a stratum of few nodules, and for one from which such a stratum follows.
    """
    if not stratum.is_too_few and not is_hidden:
        return stratum
    withheld = Estimate(
        None, reason=Notice("too_few_to_tell" if stratum.is_too_few else "tells_few")
    )
    metrics = dict.fromkeys(stratum.metrics, withheld)
    return replace(stratum, missed=None, miss_rate=withheld, metrics=metrics)
