"""Test set x design input -> coverage.json and coverage.html: composition, rules, thin strata."""

from dataclasses import asdict
from pathlib import Path
from typing import Any

from nodulebench import __version__
from nodulebench.curate.composition.counts import Composition, compose, thin_strata
from nodulebench.curate.composition.coverage import RuleOutcome, check_coverage
from nodulebench.curate.composition.design import LARGEST_HALF_WIDTH, DesignInput, load_design
from nodulebench.formats import read_reference
from nodulebench.model.tables import Reference
from nodulebench.report.sections.results.composition import render_coverage
from nodulebench.statistics.intervals import wilson_interval
from nodulebench.storage.json_text import write_json
from nodulebench.storage.staging import staged_file

SCHEMA = "nodulebench/coverage@1"
LEVEL = 0.95
NO_DESIGN = DesignInput(name="none")


def cover_files(test_set: Path, cases: Path | None, design: str | None) -> dict[str, Any]:
    """What a test set on disk consists of; the design is a published one or a TOML file.

    Raises:
        InputError: if something cannot be read.
    """
    chosen = None if design is None else load_design(design)
    return cover(read_reference(test_set, cases), chosen)


def cover(reference: Reference, design: DesignInput | None) -> dict[str, Any]:
    """What a test set consists of and how it stands to its design, as coverage.json holds it."""
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
        "outcomes": [_told(one) for one in outcomes],
        "totals": composition.totals,
        "shares": [asdict(one) for one in composition.shares],
        "ranges": [asdict(one) for one in composition.ranges],
        "thin": [asdict(one) for one in thin],
        "unknown_strata": _unknown_strata(reference, design),
        "wanted": {
            "sensitivity": chosen.expected_sensitivity,
            "half_width": chosen.largest_half_width if design else LARGEST_HALF_WIDTH,
        },
        "commission": _commission(composition, outcomes, len(thin)),
    }


def write_coverage(document: dict[str, Any], folder: Path) -> list[Path]:
    """Write coverage.json and coverage.html into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    page, data = folder / "coverage.html", folder / "coverage.json"
    with staged_file(page) as stage:
        stage.write_text(render_coverage(document), encoding="utf-8")
    write_json(document, data)
    return [data, page]


def reach_to_one_side(share: float, trials: int) -> float:
    """How far a Wilson interval reaches from the share to its wider side."""
    low, high = wilson_interval(share * trials, trials, LEVEL)
    return max(share - low, high - share)


def _input(design: DesignInput) -> dict[str, str]:
    """What a design says in words, and its name."""
    names = ("name", "title", "purpose", "patients", "identification")
    return {name: getattr(design, name) for name in names}


def _unknown_strata(reference: Reference, design: DesignInput | None) -> list[str]:
    """Strata that a design names and no table has, so that nobody can say whether they are thin."""
    known = {"size", *reference.nodules.columns, *reference.cases.columns}
    named = () if design is None or "strata" not in design.model_fields_set else design.strata
    return [one for one in named if one not in known]


def _told(outcome: RuleOutcome) -> dict[str, Any]:
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
) -> list[dict[str, str]]:
    """What the commission of experts inspects (sufficiency, heterogeneity, labels, ethics)."""
    shares = {one.column: one.counts for one in composition.shares}
    totals = composition.totals
    met = sum(one.is_met for one in outcomes)
    different = [
        f"{len(shares[column])} {named}"
        for column, named in (("hospital", "hospitals"), ("country", "countries"))
        if column in shares
    ]
    different += [f"vendors {', '.join(shares['vendor'])}"] if "vendor" in shares else []

    def listed(column: str, what: str) -> str:
        if column not in shares:
            return f"{what} not stated"
        return ", ".join(f"{name} {count:,}" for name, count in shares[column].items())

    return [
        {
            "topic": "Sufficiency",
            "evidence": f"{totals['cases']:,} cases, {totals['nodules']:,} nodules; "
            f"{thin} thin strata; {met} of {len(outcomes)} rules met",
        },
        {"topic": "Heterogeneity", "evidence": "; ".join(different) or "not stated"},
        {
            "topic": "Quality of labels",
            "evidence": f"readers who agree: {listed('agreement', 'agreement')}; "
            f"truth of nodules: {listed('truth', 'pathology or follow-up')}",
        },
        {
            "topic": "Ethics and law",
            "evidence": f"approvals: {listed('ethics_approval', 'ethics approval')}; "
            f"public: {listed('is_public', 'whether cases are public')}",
        },
    ]
