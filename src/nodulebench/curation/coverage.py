"""Design x tables of a test set -> whether each rule is met; written as coverage.json and .html."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

import polars as pl

from nodulebench import __version__
from nodulebench.core.json_types import JsonObject
from nodulebench.core.notices import Notice
from nodulebench.core.tables import Reference
from nodulebench.curation.composition import (
    NOT_STATED,
    Composition,
    compare_sets,
    compose,
    thin_strata,
)
from nodulebench.curation.design import (
    LARGEST_HALF_WIDTH,
    CoverageRule,
    DesignInput,
    RowFilter,
    Span,
    load_design,
)
from nodulebench.i18n.translator import LanguageName, translator
from nodulebench.io.atomic import staged_file
from nodulebench.io.formats import read_reference
from nodulebench.io.json_files import write_json
from nodulebench.report.coverage import render_coverage
from nodulebench.statistics.intervals import wilson_interval

Answer = Literal["met", "not met", "preferred, not met"]


@dataclass(frozen=True, slots=True)
class RuleOutcome:
    """One rule on one test set."""

    rule: CoverageRule
    is_met: bool
    required: tuple[Notice, ...]
    found: tuple[Notice, ...]
    missing: tuple[Notice, ...] = ()
    """What would have to be added."""

    @property
    def answer(self) -> Answer:
        if self.is_met:
            return "met"
        return "preferred, not met" if self.rule.is_preferred else "not met"


def check_coverage(design: DesignInput, reference: Reference) -> tuple[RuleOutcome, ...]:
    tables = {"cases": _stated(reference.cases), "nodules": _stated(_counted(reference.nodules))}
    return tuple(_outcome(rule, tables[rule.table]) for rule in design.all_rules)


def _stated(table: pl.DataFrame) -> pl.DataFrame:
    """A table in which empty texts are null, even if they contain spaces."""
    return table.with_columns(pl.col(pl.String).str.strip_chars().replace("", None))


def _counted(nodules: pl.DataFrame) -> pl.DataFrame:
    """Nodules that have to be found; the plan does not count ignored findings."""
    is_ignored = pl.col("is_ignored").fill_null(False)
    return nodules.filter(~is_ignored) if "is_ignored" in nodules.columns else nodules


def _outcome(rule: CoverageRule, table: pl.DataFrame) -> RuleOutcome:
    named = [rule.column] if rule.column is not None else []
    named += [where.column for where in rule.where]
    absent = [name for name in dict.fromkeys(named) if name not in table.columns]
    required = tuple(_required(rule))
    if absent:
        columns = [f"'{name}'" for name in absent]
        absence = Notice("columns_absent", {"table": rule.table, "columns": columns})
        lack = Notice("lacks_columns", {"columns": columns})
        return RuleOutcome(rule, False, required, (absence,), (lack,))
    rows = table.filter(_is_in(where) for where in rule.where) if rule.where else table
    parts = list(_parts(rule, rows, table.height))
    present = tuple(part for part, _ in parts)
    missing = tuple(lack for _, lacks in parts for lack in lacks)
    return RuleOutcome(rule, not missing, required, present, missing)


def _required(rule: CoverageRule) -> Iterator[Notice]:
    where = [
        Notice("where_values", {"column": chosen.column, "values": chosen.values})
        if chosen.values
        else Notice("where_range", chosen.model_dump(exclude={"values"}))
        for chosen in rule.where
    ] or None
    of = {"table": rule.table, "column": rule.column, "where": where}
    if rule.minimum_rows:
        yield Notice("asks_rows", {"count": rule.minimum_rows, **of})
    if rule.minimum_distinct:
        yield Notice("asks_different", {"count": rule.minimum_distinct, **of})
    wanted = [*rule.values, *(bin_.name for bin_ in rule.bins)]
    if wanted and not rule.shares:
        each = None if rule.rows_each == 1 else rule.rows_each
        yield Notice("asks_values", {"wanted": wanted, "each": each, **of})
    if rule.shares:
        points = 100 * rule.tolerance
        yield Notice("asks_shares", {"planned": rule.shares, "points": points})
    if rule.minimum_share is not None:
        yield Notice("asks_share", {"share": rule.minimum_share, **of})
    if rule.is_complete:
        yield Notice("asks_all_stated", of)


def _is_in(where: RowFilter) -> pl.Expr:
    """Whether rows are in a selection; an empty value is in none."""
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


Part = tuple[Notice, list[Notice]]
"""What is there, and what is missing."""


def _parts(rule: CoverageRule, rows: pl.DataFrame, total: int) -> Iterator[Part]:
    table, column, height = rule.table, rule.column, rows.height
    if rule.minimum_rows:
        lack = max(0, rule.minimum_rows - height)
        lacks = Notice("lacks_rows", {"count": lack, "table": table})
        yield Notice("rows_found", {"count": height}), [lacks] if lack else []
    if rule.minimum_share is not None:
        share = height / total if total else 0.0
        is_met = total > 0 and share >= rule.minimum_share
        lacks = Notice("lacks_share", {"share": rule.minimum_share - share, "table": table})
        present = Notice("share_found", {"count": height, "total": total, "share": share})
        yield present, [] if is_met else [lacks]
    if column is None:
        return
    values = rows[column]
    if rule.minimum_distinct:
        count = values.drop_nulls().n_unique()
        lack = max(0, rule.minimum_distinct - count)
        lacks = Notice("lacks_different", {"count": lack, "column": column})
        yield Notice("different_found", {"count": count}), [lacks] if lack else []
    if rule.is_complete:
        empty = values.null_count()
        lacks = Notice("lacks_stated", {"column": column, "count": empty, "table": table})
        present = Notice("stated_found", {"count": height - empty, "total": height})
        yield present, [lacks] if empty else []
    if rule.shares:
        yield _shares(rule, rows)
    elif rule.values or rule.bins:
        counts = _counts(rule, rows)
        yield (
            Notice("each_found", {"found": counts}),
            [
                Notice(
                    "lacks_value", {"count": rule.rows_each - count, "table": table, "name": name}
                )
                for name, count in counts.items()
                if count < rule.rows_each
            ],
        )


def _counts(rule: CoverageRule, rows: pl.DataFrame) -> dict[str, int]:
    column = str(rule.column)
    if rule.bins:
        return {bin_.name: rows.filter(_is_between(column, bin_)).height for bin_ in rule.bins}
    texts = rows[column].cast(pl.String)
    wanted = rule.values or tuple(rule.shares)
    return {name: int((texts == name).sum()) for name in wanted}


def _shares(rule: CoverageRule, rows: pl.DataFrame) -> Part:
    counts, total = _counts(rule, rows), rows.height
    shares = {name: (count / total if total else 0.0) for name, count in counts.items()}
    # a share is met up to rounding of the tolerance, so that 0.05 off by 0.05 is met
    off = {
        name: share - rule.shares[name]
        for name, share in shares.items()
        if name in rule.shares and abs(share - rule.shares[name]) > rule.tolerance + 1e-9
    }
    lacks = [
        Notice("share_off", {"name": name, "gap": abs(gap), "is_more": gap > 0})
        for name, gap in off.items()
    ]
    none = [] if total else [Notice("lacks_any", {"table": rule.table})]
    return Notice("each_found", {"found": shares}), lacks + none


SCHEMA = "nodulebench/coverage@1"
LEVEL = 0.95
NO_DESIGN = DesignInput(name="none")
_INPUT = ("name", "title", "purpose", "patients", "identification")


def cover_files(
    test_set: Path,
    cases: Path | None,
    design: str | None,
    nodules: Path | None = None,
    against: Path | None = None,
) -> JsonObject:
    """The composition of a test set on disk; the design is a published one or a TOML file.

    With ``against``, another test set, the document states how far the two differ.
    """
    chosen = None if design is None else load_design(design)
    reference = read_reference(test_set, cases, nodules=nodules)
    document = cover(reference, chosen)
    if against is not None:
        other = read_reference(against)
        document["against"] = {"name": other.name, **asdict(compare_sets(reference, other))}
    return document


def cover(reference: Reference, design: DesignInput | None) -> JsonObject:
    """The composition of a test set and the rules of its design: coverage.json, with notices."""
    chosen = design or NO_DESIGN
    composition = compose(reference)
    outcomes = check_coverage(chosen, reference)
    known = {"size", *reference.nodules.columns, *reference.cases.columns}
    named = () if design is None or "strata" not in design.model_fields_set else design.strata
    thin = thin_strata(
        reference,
        chosen.strata,
        reach_to_one_side,
        expected=chosen.expected_sensitivity,
        largest=chosen.largest_half_width,
    )
    return {
        "schema": SCHEMA,
        "version": __version__,
        "name": reference.name,
        "design": {name: getattr(design, name) for name in _INPUT} if design else {},
        "outcomes": [
            {
                "name": outcome.rule.name,
                "source": outcome.rule.source,
                "required": outcome.required,
                "found": outcome.found,
                "answer": outcome.answer,
                "missing": list(outcome.missing),
            }
            for outcome in outcomes
        ],
        "totals": composition.totals,
        "shares": [asdict(share) for share in composition.shares],
        "ranges": [asdict(range_) for range_ in composition.ranges],
        "thin": [asdict(stratum) for stratum in thin],
        # named by the design, and in no table: it is unknown whether they are thin
        "unknown_strata": [stratum for stratum in named if stratum not in known],
        "wanted": {
            "sensitivity": chosen.expected_sensitivity,
            "half_width": chosen.largest_half_width if design else LARGEST_HALF_WIDTH,
        },
        "commission": _commission(composition, outcomes, len(thin)),
    }


def write_coverage(document: JsonObject, folder: Path, name: LanguageName = "en") -> list[Path]:
    """Write coverage.json, in English, and coverage.html, in a language, into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    page, data = folder / "coverage.html", folder / "coverage.json"
    with staged_file(page) as stage:
        stage.write_text(render_coverage(document, name), encoding="utf-8")
    write_json(_in_english(document), data)
    return [data, page]


def _in_english(content: object) -> object:
    """A document with its notices as text; those of a tuple are one statement."""
    is_statement = isinstance(content, tuple) and all(isinstance(part, Notice) for part in content)
    if isinstance(content, Notice) or is_statement:
        return translator("en").messages(content)
    if isinstance(content, dict):
        return {name: _in_english(part) for name, part in content.items()}
    return [_in_english(part) for part in content] if isinstance(content, list | tuple) else content


def reach_to_one_side(share: float, trials: int) -> float:
    """How far a Wilson interval extends from the share to its wider side."""
    low, high = wilson_interval(share * trials, trials, LEVEL)
    return max(share - low, high - share)


def _commission(
    composition: Composition, outcomes: tuple[RuleOutcome, ...], thin: int
) -> list[JsonObject]:
    """What the commission of experts inspects (sufficiency, heterogeneity, labels, ethics)."""
    shares = {share.column: share.counts for share in composition.shares}
    size = {name: composition.totals[name] for name in ("cases", "nodules")}
    size |= {"thin": thin, "met": sum(outcome.is_met for outcome in outcomes)}
    size["rules"] = len(outcomes)
    stated = {column: len(counts.keys() - {NOT_STATED}) for column, counts in shares.items()}
    sources = {
        "hospital": Notice("different_hospitals", {"count": stated.get("hospital")}),
        "country": Notice("different_countries", {"count": stated.get("country")}),
        "vendor": Notice("different_vendors", {"vendors": [*shares.get("vendor", ())]}),
    }
    different = tuple(notice for column, notice in sources.items() if column in shares)
    labels = {"agreement": shares.get("agreement"), "truth": shares.get("truth")}
    law = {"approvals": shares.get("ethics_approval"), "public": shares.get("is_public")}
    return [
        {"topic": Notice("sufficiency"), "evidence": Notice("size_of_set", size)},
        {"topic": Notice("heterogeneity"), "evidence": different or Notice("not_stated")},
        {"topic": Notice("label_quality"), "evidence": Notice("labels_stated", labels)},
        {"topic": Notice("ethics_and_law"), "evidence": Notice("approvals_stated", law)},
    ]
