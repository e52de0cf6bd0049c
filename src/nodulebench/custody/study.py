"""Combine stored results into one study, as if they had been evaluated together."""

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import polars as pl

from nodulebench.core.documents.comparison import ComparisonDocument
from nodulebench.core.documents.evaluation import Document
from nodulebench.core.documents.records import PlanSummary, Verdict
from nodulebench.core.errors import InputError, Problem, raise_problems
from nodulebench.core.json_types import JsonObject
from nodulebench.custody.events import Event
from nodulebench.custody.stored_results import StoredResult
from nodulebench.evaluation.comparison.compare import (
    AlgorithmComparison,
    ComparisonChoice,
    compare_algorithms,
)
from nodulebench.evaluation.comparison.service import comparison_document
from nodulebench.evaluation.errors import false_positive_table, miss_table
from nodulebench.evaluation.recompute import Evaluated, joined_results, renamed_result
from nodulebench.evaluation.result_folder import (
    CURVE_FILE,
    FALSE_FILE,
    FLIP_FILE,
    LABEL_FILE,
    MISS_FILE,
    PLAN,
)

AGAIN = "Evaluate the same submissions again: that is the same evaluation and is not charged."


@dataclass(frozen=True, eq=False)
class Study:
    """Several algorithms, from their stored results."""

    evaluated: Evaluated
    curves: pl.DataFrame
    flips: pl.DataFrame | None
    plan: JsonObject | None

    @property
    def document(self) -> Document:
        return self.evaluated.document

    def tables(self) -> dict[str, pl.DataFrame]:
        cohorts = {rule: cohort for rule, cohort in self.evaluated.cohorts.items() if cohort}
        return {
            LABEL_FILE: self.evaluated.labels,
            CURVE_FILE: self.curves,
            **({} if self.flips is None else {FLIP_FILE: self.flips}),
            MISS_FILE: miss_table(cohorts, self.evaluated.protocol),
            FALSE_FILE: false_positive_table(cohorts),
        }


def chosen_evaluations(events: Sequence[Event], wanted: Sequence[str] = ()) -> list[Event]:
    """Return the events of the wanted results, in the order of their aliases.

    ``wanted`` are aliases (names of algorithms without one) or numbers of evaluations, each of one
    result and developer; empty: the last result of every algorithm.
    """
    called = _called(events)
    last = {called[event.number]: event for event in events if event.number in called}
    meant = {
        word: [
            event
            for event in events
            if (key := called.get(event.number)) is not None
            if str(event.facts["evaluation"]) == word
            or (key[1].casefold() == word.casefold() and last[key] is event)
        ]
        for word in wanted
    }
    raise_problems(
        Problem(
            f"evaluation '{word}'",
            "has no stored result.",
            f"Stored: {_listed(last.values(), called)}.",
        )
        if not matches
        else Problem(
            f"'{word}'", "names several results.", f"Choose by number: {_listed(matches, called)}."
        )
        for word, matches in meant.items()
        if len(matches) != 1
    )
    chosen = [event for (event,) in meant.values()] or list(last.values())
    if not chosen:
        what = "has no stored results."
        raise InputError.at("sealed set", what, "Evaluate submissions on it first.")
    names = Counter(called[event.number][1].casefold() for event in chosen)
    raise_problems(
        Problem(f"'{name}'", "is the name of several algorithms.", "Name them in a roster.")
        for name, count in names.items()
        if count > 1
    )
    return sorted(chosen, key=lambda event: _in_turn(called[event.number][1]))


def _called(events: Sequence[Event]) -> dict[int, tuple[str, str]]:
    """Return the developer, and the alias or name, for each event with a stored result."""
    names = {
        event.number: str(event.facts.get("alias") or event.facts.get("algorithm"))
        for event in events
        if event.step == "evaluation_charged"
    }
    return {
        event.number: (str(event.facts["developer"]), names[charged])
        for event in events
        if event.step == "evaluated" and isinstance(charged := event.facts.get("evaluation"), int)
        if charged in names
    }


def _listed(events: Iterable[Event], called: Mapping[int, tuple[str, str]]) -> str:
    names = [
        f"{called[event.number][1]} (evaluation {event.facts['evaluation']})" for event in events
    ]
    return ", ".join(names) or "none"


def _in_turn(name: str) -> list[tuple[int, str]]:
    """Sort key that puts A2 before A10."""
    parts = re.split(r"(\d+)", name.casefold())
    return [(int(part), "") if part.isdigit() else (0, part) for part in parts]


def study_of(results: Sequence[StoredResult], names: Mapping[str, str] | None = None) -> Study:
    named = names or {}
    parts = [_named(result, named) for result in results]
    documents = [part.evaluated.document for part in parts]
    raise_problems(_unlike(documents))
    flips = [part.flips for part in parts if part.flips is not None]
    return Study(
        replace(joined_results([part.evaluated for part in parts]), document=joined(documents)),
        pl.concat([part.curves for part in parts]),
        pl.concat(flips) if flips else None,
        parts[0].plan,
    )


def compared(
    study: Study, choice: ComparisonChoice
) -> tuple[AlgorithmComparison, ComparisonDocument]:
    evaluated = study.evaluated
    comparison = compare_algorithms(evaluated.cohorts, evaluated.protocol, choice)
    return comparison, comparison_document(comparison, evaluated)


def _unlike(documents: Sequence[Document]) -> Iterable[Problem]:
    first = documents[0]
    for document in documents[1:]:
        differing = [
            *(name for name in first.digests if document.digests.get(name) != first.digests[name]),
            *(name for name in document.digests if name not in first.digests),
            *(["version"] if document.version != first.version else []),
        ]
        if differing:
            pair = f"'{document.algorithms[0].name}' and '{first.algorithms[0].name}'"
            what = f"were not evaluated in the same way: {', '.join(differing)} differ."
            yield Problem(pair, what, f"Choose with --evaluation. {AGAIN}")


def _named(result: StoredResult, names: Mapping[str, str]) -> Study:
    evaluated = result.evaluated()
    content = result.contents.get(PLAN)
    plan = None if content is None else json.loads(content)
    study = Study(evaluated, result.curves, result.flips, plan)
    (old,) = evaluated.submissions
    return study if names.get(old, old) == old else _renamed(study, names[old])


def _renamed(study: Study, new: str) -> Study:
    column = pl.lit(new).alias("algorithm")
    return replace(
        study,
        evaluated=renamed_result(study.evaluated, new),
        curves=study.curves.with_columns(column),
        flips=None if study.flips is None else study.flips.with_columns(column),
    )


def joined(documents: Sequence[Document]) -> Document:
    return replace(
        documents[0],
        algorithms=tuple(algorithm for document in documents for algorithm in document.algorithms),
        plan=_plan([document.plan for document in documents if document.plan is not None]),
    )


def _plan(plans: Sequence[PlanSummary]) -> PlanSummary | None:
    if not plans:
        return None
    verdicts = {name: verdict for plan in plans for name, verdict in plan.verdicts.items()}
    return replace(
        plans[0],
        criteria=tuple(criterion for plan in plans for criterion in plan.criteria),
        verdict=_verdict([plan.verdict for plan in plans]),
        verdicts=verdicts,
    )


def _verdict(verdicts: Sequence[Verdict]) -> Verdict:
    if "failed" in verdicts:
        return "failed"
    return "undecided" if "undecided" in verdicts else "passed"
