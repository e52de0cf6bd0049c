"""Kept results of several looks -> one study, as if they had been evaluated together."""

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
from nodulebench.custody.audit import Event
from nodulebench.custody.stored_results import StoredResult
from nodulebench.evaluation.comparison.compare import (
    AlgorithmComparison,
    ComparisonChoice,
    compare_algorithms,
)
from nodulebench.evaluation.comparison.service import comparison_document
from nodulebench.evaluation.errors import false_positive_table, miss_table
from nodulebench.evaluation.recompute import Evaluated
from nodulebench.evaluation.result_folder import (
    CURVE_FILE,
    FALSE_FILE,
    FLIP_FILE,
    LABEL_FILE,
    MISS_FILE,
    PLAN,
)

AGAIN = "Evaluate the same submissions again: that is the same look, and costs nothing."


@dataclass(frozen=True, eq=False)
class Study:
    """Several algorithms beside each other, from what was kept of their looks."""

    evaluated: Evaluated
    curves: pl.DataFrame
    flips: pl.DataFrame | None
    plan: JsonObject | None
    """The plan of the test, as plan.json holds it."""

    @property
    def document(self) -> Document:
        """What evaluation.json holds."""
        return self.evaluated.document

    def tables(self) -> dict[str, pl.DataFrame]:
        """The tables beside it, by their files, as an evaluation writes them."""
        cohorts = {rule: cohort for rule, cohort in self.evaluated.cohorts.items() if cohort}
        return {
            LABEL_FILE: self.evaluated.labels,
            CURVE_FILE: self.curves,
            **({} if self.flips is None else {FLIP_FILE: self.flips}),
            MISS_FILE: miss_table(cohorts, self.evaluated.protocol),
            FALSE_FILE: false_positive_table(cohorts),
        }


def chosen_evaluations(events: Sequence[Event], wanted: Sequence[str] = ()) -> list[Event]:
    """The events of the results that are wanted, in the order of their aliases.

    Args:
        events: the log.
        wanted: aliases (names of algorithms that have none) or numbers of looks; none: the last
            result of every algorithm.

    Raises:
        InputError: if there is none of a name or number, or several, which may be different
            developers'; or if there is nothing at all.
    """
    called = _called(events)
    last = {called[event.number]: event for event in events if event.number in called}
    meant = {
        word: [
            event
            for event in events
            if (key := called.get(event.number)) is not None
            if str(event.facts["look"]) == word
            or (key[1].casefold() == word.casefold() and last[key] is event)
        ]
        for word in wanted
    }
    raise_problems(
        Problem(f"look '{word}'", "is not kept.", f"Kept: {_listed(last.values(), called)}.")
        if not ones
        else Problem(
            f"'{word}'", "stands for several results.", f"Choose by look: {_listed(ones, called)}."
        )
        for word, ones in meant.items()
        if len(ones) != 1
    )
    found = [one for (one,) in meant.values()] or list(last.values())
    if not found:
        raise InputError.at("sealed set", "keeps no result.", "Evaluate submissions on it first.")
    names = Counter(called[one.number][1].casefold() for one in found)
    raise_problems(
        Problem(f"'{name}'", "is the name of several algorithms.", "Name them in a roster.")
        for name, count in names.items()
        if count > 1
    )
    return sorted(found, key=lambda one: _in_turn(called[one.number][1]))


def _called(events: Sequence[Event]) -> dict[int, tuple[str, str]]:
    """For each event that keeps a result, whose algorithm it is, and its alias or its name."""
    names = {
        event.number: str(event.facts.get("alias") or event.facts.get("algorithm"))
        for event in events
        if event.step == "look"
    }
    return {
        event.number: (str(event.facts["developer"]), names[look])
        for event in events
        if event.step == "evaluated" and isinstance(look := event.facts.get("look"), int)
        if look in names
    }


def _listed(events: Iterable[Event], called: Mapping[int, tuple[str, str]]) -> str:
    told = [f"{called[event.number][1]} (look {event.facts['look']})" for event in events]
    return ", ".join(told) or "none"


def _in_turn(name: str) -> list[tuple[int, str]]:
    """So that A2 stands before A10."""
    parts = re.split(r"(\d+)", name.casefold())
    return [(int(part), "") if part.isdigit() else (0, part) for part in parts]


def study_of(kept: Sequence[StoredResult], names: Mapping[str, str] | None = None) -> Study:
    """One study of several kept results.

    Args:
        kept: the results, in the order in which the algorithms stand.
        names: for algorithms that are not called by their alias, what they are called.

    Raises:
        InputError: if they were not made alike.
    """
    named = names or {}
    parts = [_named(one, named) for one in kept]
    documents = [part.evaluated.document for part in parts]
    raise_problems(_unlike(documents))
    first = parts[0].evaluated
    flips = [part.flips for part in parts if part.flips is not None]
    return Study(
        Evaluated(
            first.folder,
            joined(documents),
            first.reference,
            {
                name: submission
                for part in parts
                for name, submission in part.evaluated.submissions.items()
            },
            pl.concat([part.evaluated.labels for part in parts]),
        ),
        pl.concat([part.curves for part in parts]),
        pl.concat(flips) if flips else None,
        parts[0].plan,
    )


def compared(
    study: Study, choice: ComparisonChoice
) -> tuple[AlgorithmComparison, ComparisonDocument]:
    """The algorithms of a study compared with one of them, and what comparison.json holds of it."""
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
            what = f"were not evaluated alike: {', '.join(differing)} differ."
            yield Problem(pair, what, f"Choose with --evaluation. {AGAIN}")


def _named(kept: StoredResult, names: Mapping[str, str]) -> Study:
    """The study of one look, its algorithm called as is wanted."""
    evaluated = kept.evaluated()
    content = kept.contents.get(PLAN)
    plan = None if content is None else json.loads(content)
    study = Study(evaluated, kept.curves, kept.flips, plan)
    (old,) = evaluated.submissions
    return study if names.get(old, old) == old else _renamed(study, names[old])


def _renamed(study: Study, new: str) -> Study:
    evaluated = study.evaluated
    ((_, submission),) = evaluated.submissions.items()
    column = pl.lit(new).alias("algorithm")
    return replace(
        study,
        evaluated=replace(
            evaluated,
            document=renamed_document(study.document, new),
            submissions={new: replace(submission, name=new)},
            labels=evaluated.labels.with_columns(column),
        ),
        curves=study.curves.with_columns(column),
        flips=None if study.flips is None else study.flips.with_columns(column),
    )


def renamed_document(document: Document, new: str) -> Document:
    """The document of one algorithm under another name."""
    plan = document.plan
    if plan is not None:
        plan = replace(
            plan,
            criteria=tuple(replace(criterion, algorithm=new) for criterion in plan.criteria),
            verdicts=dict.fromkeys([new], plan.verdict) if plan.verdicts else {},
        )
    algorithms = tuple(replace(algorithm, name=new) for algorithm in document.algorithms)
    return replace(document, algorithms=algorithms, plan=plan)


def joined(documents: Sequence[Document]) -> Document:
    """The documents of several algorithms that were evaluated alike, as one."""
    return replace(
        documents[0],
        algorithms=tuple(algorithm for document in documents for algorithm in document.algorithms),
        plan=_plan([document.plan for document in documents if document.plan is not None]),
    )


def _plan(plans: Sequence[PlanSummary]) -> PlanSummary | None:
    """What came of a plan for all algorithms together."""
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
    """Failed if one is, passed if all are."""
    if "failed" in verdicts:
        return "failed"
    return "undecided" if "undecided" in verdicts else "passed"
