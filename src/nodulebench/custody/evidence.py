"""What curation, draw and annotation wrote down of themselves -> answers of a datasheet."""

from collections.abc import Mapping
from typing import Any

from nodulebench.io.bundle import PROVENANCE

CURATION, DRAW = "curation.json", "draw.json"
"""How many series fell out where, and how cases were drawn; beside the tables of a set."""
DOCUMENTS = (PROVENANCE, CURATION, DRAW)
_READING, _REVIEWING, _RULING = "read", ("review", "add", "finish"), "arbitrate"


def evidence_answers(documents: Mapping[str, Any]) -> dict[str, str]:
    """Answers from the documents of how a set came about, by their names; only those they give."""
    made, curated, drawn = (
        one if isinstance(one := documents.get(name), Mapping) else {} for name in DOCUMENTS
    )
    answers = {
        "purpose": drawn.get("purpose", ""),
        "sampling": _sampling(drawn),
        "reference_rule": _rule(made),
        "readers": _readers(made),
        "exclusions": _exclusions(curated),
    }
    return {name: one for name, one in answers.items() if isinstance(one, str) and one}


def _sampling(drawn: Mapping[str, Any]) -> str:
    numbers = {name: drawn.get(name) for name in ("drawn", "pool", "seed")}
    if not all(isinstance(one, int) for one in numbers.values()):
        return ""
    strata = drawn.get("strata")
    cells = f" in {len(strata)} strata" if isinstance(strata, list) and len(strata) > 1 else ""
    return (
        f"{numbers['drawn']} of {numbers['pool']} admitted cases drawn at random{cells}, design "
        f"'{drawn.get('design')}', seed {numbers['seed']}."
    )


def _rule(made: Mapping[str, Any]) -> str:
    rule, size = made.get("rule"), made.get("size_definition")
    if not isinstance(rule, str) or not rule:
        return ""
    sizes = f", sizes by {size}" if isinstance(size, str) else ""
    return f"{rule}{sizes}; every setting stands in provenance.json."


def _readers(made: Mapping[str, Any]) -> str:
    """How many people took which part; their names are in provenance.json."""
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
    told = [f"{count} {who}{'' if count == 1 else 's'}" for who, count in counts.items() if count]
    return f"{', '.join(told)}, blind to each other until all had read." if told else ""


def _exclusions(curated: Mapping[str, Any]) -> str:
    series, admitted, codes = (curated.get(one) for one in ("series", "admitted", "excluded"))
    if not isinstance(series, int) or not isinstance(admitted, int):
        return ""
    listed = codes if isinstance(codes, Mapping) else {}
    why = ", ".join(f"{code} {count}" for code, count in listed.items())
    return f"{series} series found, {admitted} admitted{f'; excluded: {why}' if why else ''}."
