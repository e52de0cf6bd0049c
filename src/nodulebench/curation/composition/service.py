"""Test set x design -> coverage.json and coverage.html: composition, rules, thin strata."""

from dataclasses import asdict
from pathlib import Path
from typing import Any

from nodulebench import __version__
from nodulebench.core.json_types import JsonObject
from nodulebench.core.notices import Notice
from nodulebench.core.tables import Reference
from nodulebench.curation.composition.counts import (
    NOT_STATED,
    Composition,
    compare_sets,
    compose,
    thin_strata,
)
from nodulebench.curation.composition.coverage import RuleOutcome, check_coverage
from nodulebench.curation.composition.design import LARGEST_HALF_WIDTH, DesignInput, load_design
from nodulebench.curation.composition.sampling import Sample, draw_cases
from nodulebench.i18n.translator import LanguageName, translator
from nodulebench.io.atomic import staged_file
from nodulebench.io.formats import read_cases, read_reference
from nodulebench.io.json_files import write_json
from nodulebench.io.table_files import write_table
from nodulebench.report.coverage import render_coverage
from nodulebench.statistics.intervals import wilson_interval

SCHEMA = "nodulebench/coverage@1"
LEVEL = 0.95
NO_DESIGN = DesignInput(name="none")


def cover_files(
    test_set: Path,
    cases: Path | None,
    design: str | None,
    nodules: Path | None = None,
    against: Path | None = None,
) -> JsonObject:
    """The composition of a test set on disk; the design is a published one or a TOML file.

    With ``against``, another test set, the document states how far the two differ.

    Raises:
        InputError: if a file cannot be read.
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
        "design": {} if design is None else _input(design),
        "outcomes": [_outcome_json(outcome) for outcome in outcomes],
        "totals": composition.totals,
        "shares": [asdict(share) for share in composition.shares],
        "ranges": [asdict(range_) for range_ in composition.ranges],
        "thin": [asdict(stratum) for stratum in thin],
        "unknown_strata": _unknown_strata(reference, design),
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


def _in_english(content: Any) -> Any:
    """A document with its notices as text; those of a tuple are one statement."""
    if isinstance(content, Notice) or (isinstance(content, tuple) and _are_notices(content)):
        return translator("en").messages(content)
    if isinstance(content, dict):
        return {name: _in_english(part) for name, part in content.items()}
    return [_in_english(part) for part in content] if isinstance(content, list | tuple) else content


def _are_notices(parts: tuple[Any, ...]) -> bool:
    return all(isinstance(part, Notice) for part in parts)


def reach_to_one_side(share: float, trials: int) -> float:
    """How far a Wilson interval extends from the share to its wider side."""
    low, high = wilson_interval(share * trials, trials, LEVEL)
    return max(share - low, high - share)


def _input(design: DesignInput) -> dict[str, str]:
    names = ("name", "title", "purpose", "patients", "identification")
    return {name: getattr(design, name) for name in names}


def _unknown_strata(reference: Reference, design: DesignInput | None) -> list[str]:
    """Strata that a design names and no table has, so that it is unknown whether they are thin."""
    known = {"size", *reference.nodules.columns, *reference.cases.columns}
    named = () if design is None or "strata" not in design.model_fields_set else design.strata
    return [stratum for stratum in named if stratum not in known]


def _outcome_json(outcome: RuleOutcome) -> JsonObject:
    return {
        "name": outcome.rule.name,
        "source": outcome.rule.source,
        "required": outcome.required,
        "found": outcome.found,
        "answer": outcome.answer,
        "missing": list(outcome.missing),
    }


def _commission(
    composition: Composition, outcomes: tuple[RuleOutcome, ...], thin: int
) -> list[JsonObject]:
    """What the commission of experts inspects (sufficiency, heterogeneity, labels, ethics)."""
    shares = {share.column: share.counts for share in composition.shares}
    size = {
        **{name: composition.totals[name] for name in ("cases", "nodules")},
        **{
            "thin": thin,
            "met": sum(outcome.is_met for outcome in outcomes),
            "rules": len(outcomes),
        },
    }
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


DRAW_SCHEMA = "nodulebench/sampling@1"


def draw_files(pool: Path, design: str, count: int, seed: int, out: Path) -> Sample:
    """Draw cases from a pool and write their rows.

    A sidecar file records how they were drawn, so that the draw can be reported and repeated.

    Args:
        pool: a table of cases, or a folder that holds one.
        design: a published one, or a TOML file.
        count: how many cases.
        seed: the same seed draws the same cases.
        out: the table of the drawn cases.

    Raises:
        InputError: if the table or the design cannot be used.
    """
    cases, chosen = read_cases(pool), load_design(design)
    sample = draw_cases(cases, chosen.sampling, count, seed)
    write_table(cases.filter(cases["case_id"].is_in(sample.case_ids.to_list())), out)
    record = {
        "schema": DRAW_SCHEMA,
        "version": __version__,
        "design": chosen.name,
        "purpose": chosen.purpose,
        "seed": seed,
        "pool": cases.height,
        "planned": count,
        "drawn": len(sample.case_ids),
        "strata": [asdict(stratum) for stratum in sample.strata],
    }
    write_json(record, draw_record(out))
    return sample


def draw_record(drawn: Path) -> Path:
    """The sidecar file that records how the cases of a table were drawn."""
    return drawn.with_name(f"{drawn.name}.json")
