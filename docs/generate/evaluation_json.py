"""A real evaluation -> the page of evaluation.json. A key that nobody explained stops the build."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from builders.made_up import SKILLS, made_up_protocol, made_up_reference, made_up_submission
from generate.markdown import code, field_meanings, table
from nodulebench import Estimate, Evaluation, evaluate, load_protocol
from nodulebench.model.document import evaluation_document
from nodulebench.model.notice import is_notice
from nodulebench.model.plan import AcceptanceCriteria, Criterion, TestPlan
from nodulebench.protocols import NAMES
from nodulebench.workflows.evaluate.files import with_options
from nodulebench.workflows.plan.freeze import freeze_plan
from nodulebench.workflows.plan.judge import evaluated_under

MEANINGS = {
    "schema": "name and version of this layout",
    "version": "version of NoduleBench",
    "digests.protocol": "SHA-256 of the protocol's effective values",
    "digests.reference": "SHA-256 of the findings and their slices",
    "digests.cohort": "SHA-256 of the table of cases",
    "digests.plan": "SHA-256 of the frozen test plan, where there was one",
    "protocol": "every field of the protocol as it was applied, options included",
    "reference.name": "name of the test set",
    "reference.cases": "cases tested",
    "reference.patients": "patients; a case without one is its own",
    "reference.findings": "rows of NODULES, ignored ones included",
    "reference.ignored_findings": "findings on which a mark counts neither way",
    "reference.diameters.from_mm": "where the first size of the histogram starts",
    "reference.diameters.width_mm": "width of each of its bins",
    "reference.diameters.counts": "nodules to find in each bin",
    "reference.diameters.peak_mm": "upper edge of the fullest bin",
    "reference.diameters.expected": "nodules in each bin by the exponential that fits those above "
    "the peak; empty with too few",
    "notices": "what a reader must know about how the reference was read",
    "algorithms[].name": "name of the algorithm",
    "algorithms[].digest": "SHA-256 of the submission as received",
    "algorithms[].facts": "what the submission's manifest states",
    "algorithms[].notices": "what was noticed on reading the submission",
    "algorithms[].rules.<rule>.undefined": "why the rule could not be applied; then nothing else",
    "algorithms[].rules.<rule>.parameters": "parameters that differ from the rule's defaults",
    "algorithms[].rules.<rule>.counts.cases": "cases: all of the test set",
    "algorithms[].rules.<rule>.counts.nodules": "nodules to find",
    "algorithms[].rules.<rule>.counts.hit": "nodules hit",
    "algorithms[].rules.<rule>.counts.missed": "nodules without a hit",
    "algorithms[].rules.<rule>.counts.marks": "marks on cases of the test set",
    "algorithms[].rules.<rule>.counts.false_positive": "marks that hit nothing and count",
    "algorithms[].rules.<rule>.counts.duplicate": "further marks on a nodule that do not count",
    "algorithms[].rules.<rule>.counts.ignored": "marks on ignored findings",
    "algorithms[].rules.<rule>.counts.over_cap": "marks beyond the cap of their case",
    "algorithms[].rules.<rule>.counts.uncounted": "marks below the score threshold, or in a cell "
    "of the size table that does not count",
    "algorithms[].rules.<rule>.counts.fp_oe": "false positives by over-estimated size (with a "
    "size limit)",
    "algorithms[].rules.<rule>.counts.fn_ue": "nodules lost by under-estimated size (with a size "
    "limit)",
    "algorithms[].rules.<rule>.figures.<figure>": "an estimate",
    "algorithms[].rules.<rule>.figures.<figure>.<point>": "an estimate for each operating point",
    "algorithms[].rules.<rule>.strata.<division>.<stratum>.nodules": "nodules of the stratum",
    "algorithms[].rules.<rule>.strata.<division>.<stratum>.missed": "of these missed",
    "algorithms[].rules.<rule>.strata.<division>.<stratum>.miss_rate": "an estimate",
    "algorithms[].rules.<rule>.strata.<division>.<stratum>.too_few": "whether it has fewer "
    "nodules than the protocol's `minimum_stratum`",
    "algorithms[].rules.<rule>.strata.<division>.<stratum>.cases": "cases, in a division of cases",
    "algorithms[].rules.<rule>.strata.<division>.<stratum>.figures.<figure>": "an estimate on "
    "these cases alone",
    "algorithms[].rules.<rule>.extras.order_sensitivity": "hits when nodules are matched in the "
    "reference's order, in reverse, and as many as possible",
    "algorithms[].rules.<rule>.extras.size_tolerance": "counts, sensitivity and false positives "
    "for each tolerance of the sweep, and the tolerances beyond which they no longer change",
    "algorithms[].rules.<rule>.extras.density_confusion": "said against true density class",
    "algorithms[].rules.<rule>.extras.reliability": "said probability against observed share of "
    "malignant nodules",
    "algorithms[].rules.<rule>.extras.malignancy_cuts": "sensitivity and specificity at each cut "
    "of the malignancy grades",
    "algorithms[].rules.<rule>.extras.category_cuts": "nodules above and below each cut of the "
    "Lung-RADS categories, truly and as said",
    "algorithms[].rules.<rule>.extras.misses_by_type_and_size": "nodules and misses for each type "
    "and size, where the protocol asks for both",
    "algorithms[].rules.<rule>.extras.worst_cases": "the ten cases with most misses, and with most "
    "false positives",
    "algorithms[].rules.<rule>.notices": "what a reader must know before the rule's numbers",
    "algorithms[].rules.<rule>.remarks": "how the rule was applied: regions, overlap of the hits",
    "algorithms[].rule_differences[].base_rule": "the rule that the comparison starts from",
    "algorithms[].rule_differences[].rule": "the rule compared with it",
    "algorithms[].rule_differences[].base_hit": "nodules hit under the base rule",
    "algorithms[].rule_differences[].hit": "nodules hit under the other",
    "algorithms[].rule_differences[].gained": "hit under the other only",
    "algorithms[].rule_differences[].lost": "hit under the base rule only",
    "algorithms[].rule_differences[].base_false_positive": "false positives under the base rule",
    "algorithms[].rule_differences[].false_positive": "false positives under the other",
    "algorithms[].rule_differences[].marks_changed": "marks whose label changes",
    "algorithms[].rule_differences[].relative_difference": "(hit - base_hit) / base_hit, null "
    "without base hits",
    "comparisons": "what `nodulebench compare` found, one for each baseline, as in "
    "[comparison.json](../../how-to/compare/compare-algorithms.md#where-the-numbers-go)",
    "plan.digest": "SHA-256 of everything that the plan fixes",
    "plan.name": "name of the plan",
    "plan.author": "who stated the criteria",
    "plan.frozen_at": "when it was frozen, UTC",
    "plan.matches": "whether protocol, cases and reference standard are the planned ones",
    "plan.differences": "where they are not; then there is no verdict",
    "plan.criteria[]": "for each algorithm each criterion as stated (`figure`, `rule`, `stratum`, "
    "`bound`, `comparison`, `limit`), the figure found (`value`, `low`, `high`), and whether it "
    "is `met`: true, false, or null with the `reason`",
    "plan.verdict": "`passed` if every algorithm meets every criterion, `failed` if one does not, "
    "`undecided` if it cannot be said",
    "plan.verdicts": "the same for each algorithm alone",
}

NAMED = {"rules": "<rule>", "figures": "<figure>", "strata": "<division>"}
"""Keys whose own keys are names."""
WHOLE = ("protocol", "facts", "parameters", "comparisons", "verdicts")
"""Keys that are explained as a whole."""


def evaluation_json_page() -> str:
    """Every key of evaluation.json, from real evaluations."""
    found = dict.fromkeys(place for document in documents() for place in places(document))
    unexplained = [place for place in found if place not in MEANINGS]
    if unexplained:
        raise ValueError(f"say in {__file__} what these keys mean: {', '.join(unexplained)}")
    estimate = field_meanings(Estimate)
    return "\n\n".join(
        [
            "# evaluation.json",
            "`nodulebench evaluate --out DIR` writes `DIR/evaluation.json`. Keys stand in a fixed "
            "order and equal inputs give equal files. `<rule>`, `<figure>`, `<division>`, "
            "`<stratum>` and `<point>` stand for names; points are written as `0.125` or `8`. "
            "JSON has no infinity: it is the text `inf`.",
            *_key_tables(),
            "## An estimate",
            "A figure of merit is an object. Undefined is `value: null` with a `reason`, never 0; "
            "what is empty is left out.",
            table(
                ["key", "what it holds"],
                ([code(name), ESTIMATE.get(name) or meaning] for name, meaning in estimate.items()),
            ),
            "## A notice",
            "Notices, remarks and reasons are objects: a `code`, and the `values` that its "
            "sentence names (numbers, names, lists, or another notice). The words are made where "
            "they are read, in English and Chinese. Results of version 0.1 hold English sentences "
            "instead, and are still read.",
            "## The files beside it",
            table(["file", "what it holds"], FILES),
            "",
        ]
    )


PARTS = {
    "## The document": "",
    "## Each algorithm: `algorithms[]`": "algorithms[].",
    "## Each algorithm under each rule: `algorithms[].rules.<rule>`": "algorithms[].rules.<rule>.",
    "## Under a test plan: `plan`": "plan.",
}
"""Heading -> how the keys of that part begin; a key belongs to the last part that it fits."""


def _key_tables() -> Iterator[str]:
    for heading, start in PARTS.items():
        yield heading
        longer = [other for other in PARTS.values() if len(other) > len(start)]
        yield table(
            ["key", "what it holds"],
            (
                [code(place.removeprefix(start)), meaning]
                for place, meaning in MEANINGS.items()
                if place.startswith(start) and not place.startswith(tuple(longer))
            ),
        )


ESTIMATE = {
    "value": "the figure on all cases, or null",
    "low": "lower bound of the interval",
    "high": "upper bound",
    "level": "confidence level",
    "method": "how the interval was made, in words",
    "reason": "why there is no value or no interval, or how many replicates were left out",
    "others": "intervals by other methods: name, then low and high",
}

FILES = (
    ("`labels.parquet`", "table [LABELS](tables.md#labels): what each rule says of each mark"),
    (
        "`curves.parquet`",
        "`algorithm`, `rule`, `curve`, `x`, `y`, `threshold`: every point of every curve; "
        "`froc_low` and `froc_high` are the bootstrap band",
    ),
    (
        "`flips.parquet`",
        "with several rules: nodules hit under one rule only, and marks whose label changes",
    ),
    (
        "`inputs/`",
        "the tables that were judged (CASES, NODULES, MARKS, and slices and runs where there are "
        "any), so that every number can be recomputed from the folder alone; it holds the "
        "reference standard, so keep it where the test set is kept",
    ),
    (
        "`comparison.json`",
        "after `nodulebench compare`: the "
        "[latest comparison](../../how-to/compare/compare-algorithms.md#where-the-numbers-go)",
    ),
    ("`report.html`", "the report; one file, no network needed"),
    (
        "`report*.html`, `report*.pdf`, `tables*/`",
        "after [`nodulebench report`](../../how-to/evaluate/report-for-others.md): copies for "
        "others, and the report's tables as CSV",
    ),
    ("`plan.json`", "the frozen test plan, where the test was made under one"),
    (
        "`manifest.json`",
        "SHA-256 of every file of the folder; "
        "[verify](../../how-to/custody/verify-and-sign.md) checks it",
    ),
    ("`manifest.sig`", "where the folder is signed: the Ed25519 signature of `manifest.json`"),
)


def documents() -> Iterator[dict[str, Any]]:
    """Small evaluations under every published protocol and under one of several rules."""
    reference = made_up_reference(12, 60, 1)
    submission = made_up_submission(reference, SKILLS[0], 1)
    for protocol in (*(load_protocol(name) for name in NAMES), made_up_protocol()):
        evaluation = evaluate(reference, [submission], with_options(protocol, bootstraps=5))
        yield evaluation_document(evaluation)
    criterion = Criterion(figure="recall", rule="center_hit", comparison=">=", limit=0.5)
    stated = AcceptanceCriteria(name="plan", criteria=(criterion,))
    plan = freeze_plan(stated, reference, evaluation.protocol)
    for judged in (evaluated_under(plan, evaluation), _with_another_cohort(plan, evaluation)):
        yield evaluation_document(judged)


def _with_another_cohort(plan: TestPlan, evaluation: Evaluation) -> Evaluation:
    digests = evaluation.digests | {"cohort": "sha256:" + "0" * 64}
    return evaluated_under(plan, replace(evaluation, digests=digests))


def places(value: Any, place: str = "", key: str = "") -> Iterator[str]:
    """The keys of a document down to its estimates, names replaced by what they name."""
    if value in ({}, []):
        return
    is_leaf = not isinstance(value, dict | list) or "value" in value or is_notice(value)
    if is_leaf or key in WHOLE or ".extras." in place:
        yield place
    elif isinstance(value, list):
        is_plain = not isinstance(value[0], dict) or is_notice(value[0])
        for item in value[:1] if is_plain else value:
            yield from places(item, place if is_plain else f"{place}[]", key)
    else:
        name = NAMED.get(key) or {"<division>": "<stratum>", "<figure>": "<point>"}.get(key)
        for below, item in value.items():
            shown = name or below
            yield from places(item, f"{place}.{shown}" if place else shown, shown)
