"""Design x tables of a test set -> for every rule whether it is met, and what is missing."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import polars as pl

from nodulebench.curate.composition.design import CoverageRule, DesignInput, Span, Where
from nodulebench.model.tables import Reference

Answer = Literal["met", "not met", "preferred, not met"]


@dataclass(frozen=True, slots=True)
class RuleOutcome:
    """One rule on one test set."""

    rule: CoverageRule
    is_met: bool
    required: str
    found: str
    missing: tuple[str, ...] = ()
    """What would have to be added."""

    @property
    def answer(self) -> Answer:
        """Met, not met, or not met where it was only preferred."""
        if self.is_met:
            return "met"
        return "preferred, not met" if self.rule.is_preferred else "not met"


def check_coverage(design: DesignInput, reference: Reference) -> tuple[RuleOutcome, ...]:
    """Every rule of the design on the tables of a test set."""
    tables = {"cases": _stated(reference.cases), "nodules": _stated(_counted(reference.nodules))}
    return tuple(_outcome(rule, tables[rule.table]) for rule in design.all_rules)


def _stated(table: pl.DataFrame) -> pl.DataFrame:
    """A table whose empty texts are no values, however many spaces they have."""
    return table.with_columns(pl.col(pl.String).str.strip_chars().replace("", None))


def _counted(nodules: pl.DataFrame) -> pl.DataFrame:
    """Nodules that have to be found; ignored findings are no part of the plan."""
    is_ignored = pl.col("is_ignored").fill_null(False)
    return nodules.filter(~is_ignored) if "is_ignored" in nodules.columns else nodules


def _outcome(rule: CoverageRule, table: pl.DataFrame) -> RuleOutcome:
    named = [rule.column] if rule.column is not None else []
    named += [where.column for where in rule.where]
    absent = [name for name in dict.fromkeys(named) if name not in table.columns]
    required = _required(rule)
    if absent:
        columns = ", ".join(f"'{name}'" for name in absent)
        found = f"the {rule.table} have no column {columns}"
        return RuleOutcome(rule, False, required, found, (f"the column {columns}",))
    rows = table.filter(_is_in(where) for where in rule.where) if rule.where else table
    parts = list(_parts(rule, rows, table.height))
    found = "; ".join(part for part, _ in parts)
    missing = tuple(lack for _, lacks in parts for lack in lacks)
    return RuleOutcome(rule, not missing, required, found, missing)


def _required(rule: CoverageRule) -> str:
    """The demand in words."""
    of = f" with {' and '.join(_told(where) for where in rule.where)}" if rule.where else ""
    parts = []
    if rule.minimum_rows:
        parts.append(f"at least {rule.minimum_rows:,} {rule.table}{of}")
    if rule.minimum_distinct:
        parts.append(f"at least {rule.minimum_distinct} different {rule.column}{of}")
    wanted = [*rule.values, *(one.name for one in rule.bins)]
    if wanted and not rule.shares:
        each = "" if rule.rows_each == 1 else f", at least {rule.rows_each:,} {rule.table} each"
        parts.append(f"{rule.column}: {', '.join(wanted)}{each}")
    if rule.shares:
        planned = ", ".join(f"{name} {share:.1%}" for name, share in rule.shares.items())
        parts.append(f"{planned}, each within {100 * rule.tolerance:g} points")
    if rule.minimum_share is not None:
        parts.append(f"at least {rule.minimum_share:.0%} of the {rule.table}{of}")
    if rule.is_complete:
        parts.append(f"a value of {rule.column} for each of the {rule.table}{of}")
    return "; ".join(parts)


def _told(where: Where) -> str:
    if where.values:
        return f"{where.column} {' or '.join(where.values)}"
    low = "" if where.at_least is None else f" from {where.at_least:g}"
    high = "" if where.below is None else f" below {where.below:g}"
    most = "" if where.at_most is None else f" to {where.at_most:g}"
    return f"{where.column}{low}{high}{most}"


def _is_in(where: Where) -> pl.Expr:
    """Whether rows lie in a selection; an empty value lies in none."""
    if where.values:
        return pl.col(where.column).cast(pl.String).is_in(where.values).fill_null(False)
    return _is_between(where.column, where)


def _is_between(column: str, span: Span) -> pl.Expr:
    number = pl.col(column).cast(pl.Float64, strict=False)
    inside = number.is_not_null()
    if span.at_least is not None:
        inside &= number >= span.at_least
    if span.below is not None:
        inside &= number < span.below
    if span.at_most is not None:
        inside &= number <= span.at_most
    return inside.fill_null(False)


Part = tuple[str, list[str]]
"""What was found, and what is missing."""


def _parts(rule: CoverageRule, rows: pl.DataFrame, total: int) -> Iterator[Part]:
    if rule.minimum_rows:
        lack = max(0, rule.minimum_rows - rows.height)
        yield f"{rows.height:,}", [f"{lack:,} more {rule.table}"] if lack else []
    if rule.minimum_share is not None:
        share = rows.height / total if total else 0.0
        text = f"{rows.height:,} of {total:,} ({share:.1%})"
        is_met = total > 0 and share >= rule.minimum_share
        yield text, [] if is_met else [f"{rule.minimum_share - share:.1%} of the {rule.table}"]
    if rule.column is None:
        return
    values = rows[rule.column]
    if rule.minimum_distinct:
        count = values.drop_nulls().n_unique()
        lack = max(0, rule.minimum_distinct - count)
        yield f"{count}", [f"{lack} more {rule.column}"] if lack else []
    if rule.is_complete:
        empty = values.null_count()
        told = f"{rows.height - empty:,} of {rows.height:,} stated"
        yield told, [f"{rule.column} of {empty:,} {rule.table}"] if empty else []
    if rule.shares:
        yield _shares(rule, rows)
    elif rule.values or rule.bins:
        yield _each(rule, rows)


def _counts(rule: CoverageRule, rows: pl.DataFrame) -> dict[str, int]:
    """Rows of each wanted value or bin."""
    column = str(rule.column)
    if rule.bins:
        return {one.name: rows.filter(_is_between(column, one)).height for one in rule.bins}
    texts = rows[column].cast(pl.String)
    wanted = rule.values or tuple(rule.shares)
    return {name: int((texts == name).sum()) for name in wanted}


def _each(rule: CoverageRule, rows: pl.DataFrame) -> Part:
    counts = _counts(rule, rows)
    lacks = {
        name: rule.rows_each - count for name, count in counts.items() if count < rule.rows_each
    }
    found = ", ".join(f"{name} {count:,}" for name, count in counts.items())
    return found, [f"{lack:,} {rule.table} of {name}" for name, lack in lacks.items()]


def _shares(rule: CoverageRule, rows: pl.DataFrame) -> Part:
    counts, total = _counts(rule, rows), rows.height
    found = {name: (count / total if total else 0.0) for name, count in counts.items()}
    # a share is met up to rounding of the tolerance, so that 0.05 off by 0.05 is met
    off = {
        name: share - rule.shares[name]
        for name, share in found.items()
        if name in rule.shares and abs(share - rule.shares[name]) > rule.tolerance + 1e-9
    }
    told = ", ".join(f"{name} {share:.1%}" for name, share in found.items())
    lacks = [
        f"{name}: {abs(gap):.1%} too {'many' if gap > 0 else 'few'}" for name, gap in off.items()
    ]
    return told, lacks if total else [*lacks, f"any of the {rule.table}"]
