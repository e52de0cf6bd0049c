"""METRICS and their facts -> the page of metrics."""

import inspect

from generate.markdown import code, docstring_body, table
from nodulebench import METRICS, TestProtocol
from nodulebench.metrics import Metric, info_of, meaning_of
from nodulebench.metrics.metric import Ratio

DIRECTION = {True: "higher", False: "lower", None: "neither"}


def metrics_page() -> str:
    """Every metric: meaning, direction, unit, term of the standard, settings."""
    return "\n\n".join(
        [
            "# Metrics",
            "A protocol names its metrics under `metrics`. Every one is computed on whole "
            "cohorts, resampled by the protocol's interval method, and answered with `null` and "
            "a reason where it is undefined. `f_beta` is named in results `f1` (or `f2`, ...). "
            "The term is the one of IEEE 2802-2022 where that standard has one.",
            table(
                ["metric", "meaning", "better", "unit", "IEEE 2802 term"],
                (
                    [
                        f"[{name}](#{name})",
                        meaning_of(metric),
                        DIRECTION[info_of(name).is_higher_better],
                        info_of(name).unit,
                        info_of(name).ieee_2802,
                    ]
                    for name, metric in METRICS.items()
                ),
            ),
            *(_section(name, metric) for name, metric in METRICS.items()),
            "",
        ]
    )


def _section(name: str, metric: Metric) -> str:
    facts, parts = info_of(name), [f"## {name}"]
    if isinstance(metric, Ratio):
        undefined = f"Undefined when {metric.undefined}."
        binomial = " Binomial and cluster intervals apply." if metric.is_proportion else ""
        parts.append(f"{meaning_of(metric)}. {undefined}{binomial}")
    else:
        parts.append(docstring_body(metric))
    asked = metric.sums if isinstance(metric, Ratio) else metric
    settings = [
        code(one)
        for one, parameter in inspect.signature(asked).parameters.items()
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY and one in TestProtocol.model_fields
    ]
    if settings:
        parts.append(f"Settings of the protocol that it uses: {', '.join(settings)}.")
    if facts.columns:
        parts.append(f"One value for each of `{facts.columns}`.")
    if facts.curve:
        parts.append("The curve behind it is in `curves.parquet`.")
    if facts.table:
        parts.append(f"Its table is in `evaluation.json` as `extras.{facts.table}`.")
    return "\n\n".join(parts)
