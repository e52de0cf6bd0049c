"""Datasheet of a test set, from its tables and from people's statements; open questions are gaps.

The sections are those of Gebru et al. 2021 (Datasheets for Datasets). Each question also has its
stage in the life cycle that IEEE 2801-2022 requires records of.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import polars as pl
from pydantic import create_model

from nodulebench.core.config_model import ConfigModel, parse_config
from nodulebench.core.json_types import JsonObject
from nodulebench.core.tables import Reference
from nodulebench.core.text import counted
from nodulebench.custody.policy import FEEDBACK, CustodyPolicy
from nodulebench.io.bundle import PROVENANCE

SCHEMA = "nodulebench/datasheet@1"
MOST_VALUES = 12
SIZE_LIMITS_MM = (3.0, 6.0, 10.0, 20.0, 30.0)


@dataclass(frozen=True, slots=True)
class Question:
    """One line of a datasheet."""

    name: str
    section: str
    stage: str
    text: str


_TABLE = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
QUESTIONS = tuple(Question(*stated) for stated in _TABLE["questions"])

WrittenAnswers = create_model(  # type: ignore[call-overload]
    "WrittenAnswers", __base__=ConfigModel, **{question.name: (str, "") for question in QUESTIONS}
)


@dataclass(frozen=True, slots=True)
class Datasheet:
    """Every question with its answer; an empty answer is a gap."""

    title: str
    answers: dict[str, str]
    computed: frozenset[str]
    """Questions answered from the data."""

    @property
    def gaps(self) -> list[str]:
        return [question.name for question in QUESTIONS if not self.answers.get(question.name)]

    def to_json(self) -> JsonObject:
        return {
            "schema": SCHEMA,
            "title": self.title,
            "answers": {
                question.name: {
                    "section": question.section,
                    "life_cycle": question.stage,
                    "question": question.text,
                    "answer": self.answers.get(question.name) or None,
                    "source": "data" if question.name in self.computed else "stated",
                }
                for question in QUESTIONS
            },
            "gaps": self.gaps,
        }

    def to_markdown(self) -> str:
        lines = [f"# Datasheet: {self.title}", ""]
        section = ""
        for question in QUESTIONS:
            if question.section != section:
                section = question.section
                lines += [f"## {section}", ""]
            answer = self.answers.get(question.name) or "**Not stated.**"
            lines += [f"**{question.text}** ({question.stage})", "", answer, ""]
        lines += ["## Gaps", ""]
        lines += [f"- {question.text}" for question in QUESTIONS if question.name in self.gaps] or [
            "None."
        ]
        return "\n".join(lines) + "\n"


def parse_answers(text: str, source: str) -> dict[str, str]:
    answers = parse_config(WrittenAnswers, text, source)
    return {name: answer for name, answer in dict(answers).items() if answer}


def stated_answers(document: object) -> dict[str, str]:
    """Return what people stated in a datasheet.json, to be repeated in a later datasheet."""
    answers = document.get("answers") if isinstance(document, dict) else None
    return {
        name: answer["answer"]
        for name, answer in (answers if isinstance(answers, dict) else {}).items()
        if name in WrittenAnswers.model_fields
        and isinstance(answer, dict)
        and answer.get("source") == "stated"
        and isinstance(answer.get("answer"), str)
    }


def make_datasheet(
    reference: Reference,
    stated: dict[str, str],
    policy: CustodyPolicy | None = None,
    *,
    images: str = "",
    storage: str = "",
    evidence: Mapping[str, str] | None = None,
) -> Datasheet:
    """Return the datasheet of a test set; people's statements override computed answers."""
    computed = {
        "cases": _cases(reference),
        "nodules": _nodules(reference.nodules),
        "sizes": _sizes(reference.nodules),
        "equipment": _equipment(reference.cases),
        "public_share": _stated(reference.cases, "is_public", "cases"),
        "sources": _sources(reference.cases),
        "period": _period(reference.cases),
        "ethics": _stated(reference.cases, "ethics_approval", "cases"),
        "pathology": _stated(_storage_row(reference.nodules), "truth", "nodules"),
        "images": images,
        "storage": storage,
        "reference_rule": f"{reference.rule}." if reference.rule else "",
        **(evidence or {}),
        **({} if policy is None else _policy_answers(policy)),
    }
    answers = {name: answer for name, answer in computed.items() if answer} | stated
    own = frozenset(name for name, answer in computed.items() if answer and name not in stated)
    return Datasheet(reference.name, answers, own)


def _cases(reference: Reference) -> str:
    patients = int(reference.unit_of_case.max(initial=-1)) + 1
    return f"{reference.cases.height} cases of {patients} patients."


def _storage_row(nodules: pl.DataFrame) -> pl.DataFrame:
    return nodules.filter(~pl.col("is_ignored"))


def _nodules(nodules: pl.DataFrame) -> str:
    counted = _storage_row(nodules)
    text = (
        f"{counted.height} nodules, and {nodules.height - counted.height} findings to be ignored."
    )
    types = _shares(counted["type"])
    return f"{text} Types: {types}." if types else text


def _sizes(nodules: pl.DataFrame) -> str:
    measured = _storage_row(nodules)["diameter_mm"].drop_nulls()
    if not len(measured):
        return ""
    bounds = [0.0, *SIZE_LIMITS_MM, float("inf")]
    parts = []
    for low, high in pairwise(bounds):
        count = int(((measured >= low) & (measured < high)).sum())
        name = f"{low:g} to {high:g} mm" if high < float("inf") else f"{low:g} mm and more"
        parts.append(f"{name}: {count}")
    smallest, largest = measured.to_numpy().min(), measured.to_numpy().max()
    return f"Diameters {smallest:.1f} to {largest:.1f} mm; {'; '.join(parts)}."


def _equipment(cases: pl.DataFrame) -> str:
    parts = []
    names = ("vendor", "manufacturer", "model", "kernel", "slice_thickness_mm", "tube_voltage_kv")
    for name in names:
        if name in cases.columns and cases[name].null_count() < cases.height:
            parts.append(f"{name.replace('_', ' ')}: {_shares(cases[name])}")
    return ". ".join(parts) + "." if parts else ""


def _values(table: pl.DataFrame, column: str) -> pl.Series:
    if column not in table.columns:
        return pl.Series(column, [], dtype=pl.String)
    return table[column].cast(pl.String).str.strip_chars().replace("", None).drop_nulls()


def _stated(table: pl.DataFrame, column: str, rows: str) -> str:
    known = _values(table, column)
    return f"{len(known)} of {table.height} {rows}: {_shares(known)}." if len(known) else ""


def _sources(cases: pl.DataFrame) -> str:
    kinds = {"hospital": "hospitals", "province": "provinces", "country": "countries"}
    counts = {named: _values(cases, column).n_unique() for column, named in kinds.items()}
    summary = ", ".join(f"{count} {named}" for named, count in counts.items() if count)
    return f"{summary}." if summary else ""


def _period(cases: pl.DataFrame) -> str:
    years = _values(cases, "study_date").str.extract(r"^(\d{4})").drop_nulls().sort()
    return f"{years[0]} to {years[-1]}." if len(years) else ""


def _shares(column: pl.Series) -> str:
    counts = column.drop_nulls().value_counts(sort=True, name="count")
    rows = sorted(counts.iter_rows(), key=lambda row: (-row[1], str(row[0])))
    more = [f"and {len(rows) - MOST_VALUES} more"] if len(rows) > MOST_VALUES else []
    return ", ".join([*(f"{value} {count}" for value, count in rows[:MOST_VALUES]), *more])


def _policy_answers(policy: CustodyPolicy) -> dict[str, str]:
    reuse = policy.reuse
    limit = (
        "" if reuse.evaluations_in_total is None else f" and {reuse.evaluations_in_total} in all"
    )
    people = "; ".join(f"{person.name}: {', '.join(person.roles)}" for person in policy.people)
    return {
        "key_custodian": policy.key_custodian,
        "reuse": f"{counted(reuse.evaluations_per_developer, 'evaluation')} per developer{limit}. "
        f"An evaluation discloses: {FEEDBACK[reuse.feedback]}.",
        "access": people + ".",
        "retirement": ""
        if reuse.evaluations_in_total is None
        else f"After {reuse.evaluations_in_total} evaluations of all developers together.",
    }


CURATION, DRAW = "curation.json", "draw.json"
"""Files next to the tables of a set: series excluded by reason, and how cases were sampled."""
DOCUMENTS = (PROVENANCE, CURATION, DRAW)
_READING, _REVIEWING, _RULING = "read", ("review", "add", "finish"), "arbitrate"


def evidence_answers(documents: Mapping[str, object]) -> dict[str, str]:
    made, curated, drawn = (
        document if isinstance(document := documents.get(name), Mapping) else {}
        for name in DOCUMENTS
    )
    answers = {
        "purpose": drawn.get("purpose", ""),
        "sampling": _sampling(drawn),
        "reference_rule": _rule(made),
        "readers": _readers(made),
        "exclusions": _exclusions(curated),
    }
    return {name: answer for name, answer in answers.items() if isinstance(answer, str) and answer}


def _sampling(drawn: Mapping[str, object]) -> str:
    numbers = {name: drawn.get(name) for name in ("drawn", "pool", "seed")}
    if not all(isinstance(number, int) for number in numbers.values()):
        return ""
    strata = drawn.get("strata")
    cells = f" in {len(strata)} strata" if isinstance(strata, list) and len(strata) > 1 else ""
    return (
        f"{numbers['drawn']} of {numbers['pool']} admitted cases drawn at random{cells}, design "
        f"'{drawn.get('design')}', seed {numbers['seed']}."
    )


def _rule(made: Mapping[str, object]) -> str:
    rule, size = made.get("rule"), made.get("size_definition")
    if not isinstance(rule, str) or not rule:
        return ""
    sizes = f", sizes by {size}" if isinstance(size, str) else ""
    return f"{rule}{sizes}; provenance.json lists every setting."


def _readers(made: Mapping[str, object]) -> str:
    """Return the number of people in each part; provenance.json names them."""
    events = made.get("events")
    people: dict[str, set[str]] = {}
    for event in events if isinstance(events, list) else []:
        people.setdefault(str(event.get("step")), set()).add(str(event.get("actor_id")))
    reviewers = set().union(*(people.get(step, set()) for step in _REVIEWING))
    counts = {
        "reader": len(people.get(_READING, ())),
        "reviewer": len(reviewers),
        "arbitrator": len(people.get(_RULING, ())),
    }
    numbers = [
        f"{count} {who}{'' if count == 1 else 's'}" for who, count in counts.items() if count
    ]
    return f"{', '.join(numbers)}, blind to each other until all had read." if numbers else ""


def _exclusions(curated: Mapping[str, object]) -> str:
    series, admitted, codes = (curated.get(key) for key in ("series", "admitted", "excluded"))
    if not isinstance(series, int) or not isinstance(admitted, int):
        return ""
    listed = codes if isinstance(codes, Mapping) else {}
    why = ", ".join(f"{code} {count}" for code, count in listed.items())
    return f"{series} series found, {admitted} admitted{f'; excluded: {why}' if why else ''}."
