"""Reference + submissions + protocol -> Evaluation: every rule, figure, interval and stratum."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from itertools import combinations

import polars as pl

from nodulebench import __version__
from nodulebench.errors import InputError, Problem, UndefinedError
from nodulebench.formats.digest import table_digest
from nodulebench.match import label_marks, targets
from nodulebench.match.flips import flip_list, rule_difference
from nodulebench.model.cohort import LabelledCohort, labelled_cohort
from nodulebench.model.labels import LABEL_NAMES, Labels
from nodulebench.model.protocol import RuleChoice, TestProtocol
from nodulebench.model.results import AlgorithmResult, Estimate, Evaluation, RuleResult
from nodulebench.model.tables import Reference, Submission
from nodulebench.workflows.estimate import estimate_figures
from nodulebench.workflows.extras import rule_extras
from nodulebench.workflows.read_froc import read_froc
from nodulebench.workflows.strata import estimate_strata

FROC_FIGURES = ("sensitivity_at_fp_rate", "cpm")

Progress = Callable[[str], None]


def evaluate(
    reference: Reference,
    submissions: Iterable[Submission],
    protocol: TestProtocol,
    progress: Progress = lambda _: None,
) -> Evaluation:
    """Judge submissions against a reference under every rule of a protocol.

    Args:
        reference: the test set; its CASES table drives every loop and denominator.
        submissions: one per algorithm, names unique.
        protocol: everything that can change a number.
        progress: told what is being worked on.
    """
    results = []
    for submission in submissions:
        if any(submission.name == done.name for done in results):
            raise InputError(
                Problem(
                    f"submission '{submission.name}'",
                    "has the name of another submission.",
                    "Rename a file, or name the algorithm in its algorithm.toml.",
                )
            )
        progress(submission.name)
        results.append(_evaluate_algorithm(reference, submission, protocol))
    return Evaluation(
        version=__version__,
        protocol=protocol,
        digests={
            "protocol": protocol.digest,
            "reference": table_digest(reference.nodules, reference.slices),
            "cohort": table_digest(reference.cases),
        },
        reference={
            "name": reference.name,
            "cases": reference.cases.height,
            "patients": int(reference.unit_of_case.max(initial=-1)) + 1,
            "findings": reference.nodules.height,
            "ignored_findings": int(reference.nodules["is_ignored"].sum()),
        },
        algorithms=tuple(results),
        notices=reference.notices,
    )


def _evaluate_algorithm(
    reference: Reference, submission: Submission, protocol: TestProtocol
) -> AlgorithmResult:
    listed, notices = keep_listed(reference, submission, protocol)
    rules: dict[str, RuleResult] = {}
    labels: dict[str, Labels] = {}
    for choice in protocol.rules:
        try:
            labels[choice.name] = label_marks(reference, listed, protocol, choice)
        except UndefinedError as error:
            rules[choice.name] = RuleResult(
                choice.name, choice.parameters, {}, {}, undefined=str(error)
            )
            continue
        rules[choice.name] = _evaluate_rule(
            reference, listed, protocol, choice, labels[choice.name]
        )
    tables = [
        found.table(submission.name, rule, listed, reference) for rule, found in labels.items()
    ]
    pairs = list(combinations(labels, 2))
    flips = [
        flip_list(labels[base], labels[other], listed, reference).select(
            pl.lit(submission.name).alias("algorithm"),
            pl.lit(base).alias("base_rule"),
            pl.lit(other).alias("rule"),
            pl.all(),
        )
        for base, other in pairs
    ]
    return AlgorithmResult(
        name=submission.name,
        digest=submission.digest,
        rules=rules,
        labels=pl.concat(tables) if tables else pl.DataFrame(),
        flips=pl.concat(flips) if flips else None,
        rule_differences=[
            {"base_rule": base, "rule": other, **rule_difference(labels[base], labels[other])}
            for base, other in pairs
        ],
        facts={**submission.facts, "intended_types": submission.intended_types},
        notices=(*submission.notices, *notices),
    )


def keep_listed(
    reference: Reference, submission: Submission, protocol: TestProtocol
) -> tuple[Submission, tuple[str, ...]]:
    """The submission's marks on cases of the test set, and a word on the others.

    Raises:
        InputError: where the protocol does not allow marks of other cases.
    """
    is_listed = pl.Series(reference.rows_of(submission.marks["case_id"]) >= 0)
    if is_listed.all():
        return submission, ()
    others = submission.marks.filter(~is_listed)
    if protocol.unlisted_cases == "error":
        raise InputError(
            Problem(
                f"submission '{submission.name}' mark '{row['mark_id']}'",
                f"case '{row['case_id']}' is not in the test set '{reference.name}' "
                f"({reference.cases.height} cases).",
                "Remove the mark, or evaluate against the set it was made for.",
            )
            for row in others.iter_rows(named=True)
        )
    headers = int((others["case_id"] == "seriesuid").sum())
    names = others["case_id"].unique(maintain_order=True)
    shown = ", ".join(f"'{name}'" for name in names.head(3))
    notices = [
        f"{others.height - headers} mark(s) of {len(names) - bool(headers)} case(s) that are not "
        f"in the list were dropped, as the official program does without a word: {shown}"
        f"{', ...' if len(names) > 3 else ''}."
    ] if others.height > headers else []
    if headers:
        notices.append(f"{headers} repeated header row(s) were dropped.")
    return replace(submission, marks=submission.marks.filter(is_listed)), tuple(notices)


def _evaluate_rule(
    reference: Reference,
    submission: Submission,
    protocol: TestProtocol,
    choice: RuleChoice,
    labels: Labels,
) -> RuleResult:
    cohort = labelled_cohort(reference, submission, labels, targets(reference, submission, protocol))
    counts = _counts(cohort, labels)
    wanted = [name for name in protocol.figures if name not in FROC_FIGURES]
    others = estimate_figures(cohort, protocol, wanted)
    froc: dict[str, Estimate | dict[str, Estimate]] = {}
    curves = ()
    if any(name in protocol.figures for name in FROC_FIGURES):
        reading = read_froc(cohort, protocol)
        froc = {
            "cpm": reading.cpm,
            "sensitivity_at_fp_rate": reading.sensitivity,
            "threshold_at_fp_rate": reading.threshold,
        }
        curves = reading.curves
    named = {
        f"f{protocol.beta:g}" if name == "f_beta" else name: found for name, found in others.items()
    }
    notices = labels.notices
    if counts["over_cap"]:
        notices = (*notices, _cap_notice(counts["over_cap"], protocol))
    return RuleResult(
        rule=choice.name,
        parameters=dict(choice.parameters),
        counts=counts,
        figures={**froc, **named},
        strata=estimate_strata(cohort, protocol),
        curves=curves,
        extras=rule_extras(cohort, labels, protocol, choice),
        notices=notices,
    )


def _counts(cohort: LabelledCohort, labels: Labels) -> dict[str, int]:
    """Nodules hit and missed, and marks by label as the official program counts them."""
    return {
        "cases": cohort.case_count,
        "nodules": cohort.nodule_count,
        "hit": cohort.nodule_count - cohort.missed_count,
        "missed": cohort.missed_count,
        "marks": cohort.submission.marks.height,
        **{name: labels.count(number) for number, name in enumerate(LABEL_NAMES) if number},
    }


def _cap_notice(count: int, protocol: TestProtocol) -> str:
    ties = {
        "drop": "marks tied across the cut are all dropped",
        "keep": "marks tied across the cut are all kept",
        "file_order": "ties are cut in file order",
    }[protocol.ties]
    return (
        f"{count} mark(s) beyond the {protocol.mark_cap} best of their case were not judged "
        f"({ties})."
    )

