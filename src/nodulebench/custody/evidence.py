"""What curation and annotation wrote down of themselves -> answers of a datasheet."""

from collections.abc import Mapping
from typing import Any

CURATION = "curation.json"
"""How many series were found, admitted and excluded, and why; beside the tables of a set."""
_READING, _REVIEWING, _RULING = "read", ("review", "add", "finish"), "arbitrate"


def evidence_answers(provenance: Any, curation: Any) -> dict[str, str]:
    """Answers from provenance.json and curation.json; empty where they do not say.

    Args:
        provenance: who made the reference, how and of what; None: not known.
        curation: how many series fell out where; None: not known.
    """
    made = provenance if isinstance(provenance, Mapping) else {}
    curated = curation if isinstance(curation, Mapping) else {}
    answers = {
        "reference_rule": _rule(made),
        "readers": _readers(made),
        "exclusions": _exclusions(curated),
    }
    return {name: answer for name, answer in answers.items() if answer}


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
