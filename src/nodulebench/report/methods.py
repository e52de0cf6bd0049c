"""Document -> how the test was done: everything that another lab needs to get the same numbers."""

from typing import Any

from nodulebench.report.cells import Cell, code, head, words
from nodulebench.report.numbers import percent, rate, significant, whole
from nodulebench.report.tables import Table
from nodulebench.report.words import RULES, RULES_FOR_USES, in_words

INTERPOLATIONS = {
    "linear": "straight lines between neighbouring points of the curve",
    "step": "the best sensitivity reached with no more false positives than allowed",
    "luna16": "as the official LUNA16 program reads it, rounding included",
}
METHODS = {
    "percentile": "percentile bootstrap",
    "bca": "bias-corrected and accelerated bootstrap (BCa)",
    "jackknife": "jackknife with normal bounds",
    "luna16": "bootstrap of the official LUNA16 program, bounds by sorted index",
}
TIES = {
    "drop": "marks tied across the cap are dropped",
    "keep": "marks tied across the cap are kept",
    "file_order": "ties are cut in file order",
}


def rules_table(document: dict[str, Any]) -> Table:
    """The rules in words, with the parameters that differ from the published ones."""
    rows = [
        [
            head(in_words(rule["name"])),
            words(RULES.get(rule["name"], "")),
            words(
                ", ".join(
                    f"{in_words(name)} = {value}" for name, value in rule["parameters"].items()
                )
                or "as published"
            ),
        ]
        for rule in document["protocol"]["rules"]
    ]
    return Table(
        "Rules: what counts as a hit", [words("Rule"), words("A hit"), words("Parameters")], rows
    )


def uses_table(document: dict[str, Any]) -> Table | None:
    """Which rule suits which intended use, where the report has several."""
    named = [rule["name"] for rule in document["protocol"]["rules"]]
    rows = [[head(in_words(rule)), words(use)] for rule, use in RULES_FOR_USES if rule in named]
    if len(rows) < 2:
        return None
    return Table(
        "Which rule for which use", [words("Rule"), words("Suits")], rows,
        remark="After Wang et al., Frontiers in Public Health 10 (2022).",
    )  # fmt: skip


def protocol_table(document: dict[str, Any]) -> Table:
    """The protocol's effective values."""
    protocol, reference = document["protocol"], document["reference"]
    points = ", ".join(rate(point) for point in protocol["operating_points"])
    facts = [
        ("Protocol", protocol["name"] + (f": {protocol['title']}" if protocol["title"] else "")),
        ("Source", protocol["citation"]),
        ("Test set", _reference(reference)),
        ("Rule of the reference standard", in_words(protocol["reference_rule"])),
        ("Intended use", _scope(protocol)),
        ("Size limit", _size_limit(protocol["size_limit"])),
        ("Assignment of marks to nodules", protocol["assignment"]),
        ("Further marks on a nodule", in_words(protocol["duplicates"])),
        ("Marks judged", _cap(protocol)),
        ("Score threshold", "none" if protocol["score_threshold"] is None
         else significant(protocol["score_threshold"])),
        ("Operating points", f"{points} false positives per case"),
        ("Reading of the curve", INTERPOLATIONS[protocol["interpolation"]]),
        ("Size bins", ", ".join(f"{cut:g}" for cut in protocol["size_bins_mm"]) + " mm, half-open"),
        ("Smallest stratum with a rate", f"{protocol['minimum_stratum']} nodules"),
        ("Intervals", _interval(protocol["interval"])),
        ("Seed", str(protocol["seed"])),
    ]  # fmt: skip
    rows = [[head(name), words(fact)] for name, fact in facts if fact]
    return Table("Protocol, effective values", [], rows)


def identity_table(document: dict[str, Any]) -> Table:
    """Version and digests that tie the numbers to their inputs."""
    rows = [[head("NoduleBench"), code(document["version"])]]
    rows += [
        [head(in_words(name).capitalize()), code(digest)]
        for name, digest in document["digests"].items()
    ]
    rows += [
        [head(f"Submission {one['name']}"), code(one["digest"] or "none: not read from a file")]
        for one in document["algorithms"]
    ]
    return Table("Identity", [], rows)


def facts_table(document: dict[str, Any]) -> Table | None:
    """What is known of the algorithms beyond their marks."""
    rows: list[list[Cell]] = [
        [head(algorithm["name"]), words(in_words(name)), words(_listed(fact))]
        for algorithm in document["algorithms"]
        for name, fact in algorithm["facts"].items()
    ]
    if not rows:
        return None
    return Table("Declared by the developers", [], rows)


def _listed(fact: Any) -> str:
    return ", ".join(in_words(str(item)) for item in fact) if isinstance(fact, list) else str(fact)


def _reference(reference: dict[str, Any]) -> str:
    counted = [
        f"{whole(value)} {in_words(name)}"
        for name, value in reference.items()
        if isinstance(value, int)
    ]
    return f"{reference.get('name', '')}: {', '.join(counted)}"


def _scope(protocol: dict[str, Any]) -> str:
    types = protocol["scope"]["types"]
    told = f"nodules of type {_listed(types)}" if types else "nodules of every type"
    if protocol["scope"]["uses_declaration"]:
        told += ", narrowed to the types each algorithm is declared for"
    return f"{told}; others are ignore regions" if types or "narrowed" in told else told


def _size_limit(limit: dict[str, Any] | None) -> str:
    if limit is None:
        return ""
    tolerance = "∞" if limit["tolerance_mm"] == "inf" else f"{limit['tolerance_mm']:g}"
    return (
        f"nodules of {limit['minimum_mm']:g} mm or more, tolerance {tolerance} mm for size error, "
        f"reading '{in_words(limit['reading'])}'"
    )


def _cap(protocol: dict[str, Any]) -> str:
    if protocol["mark_cap"] is None:
        return "all"
    return f"the best {protocol['mark_cap']} of each case; {TIES[protocol['ties']]}"


def _interval(choice: dict[str, Any]) -> str:
    told = f"{percent(choice['level'])}, {METHODS[choice['method']]} over {choice['unit']}s"
    if choice["method"] != "jackknife":
        if not choice["bootstraps"]:
            return "none (no bootstrap replicates)"
        told += f", {whole(choice['bootstraps'])} replicates"
    return f"{told}; further: {_listed(choice['others'])}" if choice["others"] else told
