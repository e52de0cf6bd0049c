"""Checked cases -> how well readers agree: in pairs, as a group, with the others, over time.

A detection has no countable true negatives, so positive agreement measures two readers: twice
what both drew, divided by all that each drew. What several readers drew is one candidate.
"""

import hashlib
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import NormalDist

import numpy as np
import polars as pl

from nodulebench.annotation.readings.consistency import (
    CaseCheck,
    ConsistencyRule,
    check_consistency,
)
from nodulebench.annotation.readings.reading import Reading
from nodulebench.core.errors import InputError, UndefinedError

_RULE = ConsistencyRule()


def detections(checks: Iterable[CaseCheck]) -> pl.DataFrame:
    """Whether each reader of a case drew each of its candidates, one row per pair."""
    rows = [
        (check.case_id, candidate.candidate_id, reader, reader in candidate.reader_ids)
        for check in checks
        for candidate in check.candidates
        for reader in check.reader_ids
    ]
    names = ("case_id", "candidate_id", "reader_id")
    schema = dict.fromkeys(names, pl.String) | {"is_drawn": pl.Boolean}
    return pl.DataFrame(rows, schema=schema, orient="row")


def positive_agreement(both: int, first_only: int, second_only: int) -> float:
    """Twice what both drew, divided by all that each drew.

    Raises:
        UndefinedError: if neither drew anything.
    """
    total = 2 * both + first_only + second_only
    if not total:
        raise UndefinedError("nothing_drawn_by_two")
    return 2 * both / total


@dataclass(frozen=True, slots=True)
class PairAgreement:
    """Two readers on the cases both have read."""

    first: str
    second: str
    cases: int
    both: int
    first_only: int
    second_only: int
    agreement: float | None
    """Positive agreement; None where neither drew anything."""


def pairwise_agreement(checks: Sequence[CaseCheck]) -> list[PairAgreement]:
    """Every pair of readers who have read a case in common."""
    readers = sorted({reader for check in checks for reader in check.reader_ids})
    pairs = []
    for first, second in combinations(readers, 2):
        common = [check for check in checks if {first, second} <= set(check.reader_ids)]
        if not common:
            continue
        drew = [
            (first in candidate.reader_ids, second in candidate.reader_ids)
            for check in common
            for candidate in check.candidates
        ]
        both, first_only, other = (
            drew.count(pattern) for pattern in ((True, True), (True, False), (False, True))
        )
        agreement = _agreement_or_none(both, first_only, other)
        pairs.append(PairAgreement(first, second, len(common), both, first_only, other, agreement))
    return pairs


def _agreement_or_none(both: int, first_only: int, second_only: int) -> float | None:
    try:
        return positive_agreement(both, first_only, second_only)
    except UndefinedError:
        return None


@dataclass(frozen=True, slots=True)
class GroupAgreement:
    """All readers together."""

    candidates: int
    by_readers: tuple[int, ...]
    """Candidates drawn by exactly 1, 2, ... readers."""
    unanimous: float
    """Share of the candidates that all readers of the case drew."""
    mean_agreement: float
    """Mean positive agreement of all pairs."""


def group_agreement(checks: Sequence[CaseCheck]) -> GroupAgreement:
    """How far all readers agree.

    Raises:
        UndefinedError: if no reader drew anything, or no case has two readers.
    """
    drawn_by = [
        (len(candidate.reader_ids), len(check.reader_ids))
        for check in checks
        for candidate in check.candidates
    ]
    if not drawn_by:
        raise UndefinedError("nothing_drawn")
    pairs = [pair.agreement for pair in pairwise_agreement(checks) if pair.agreement is not None]
    if not pairs:
        raise UndefinedError("no_case_with_two_readers")
    most = max(readers for _, readers in drawn_by)
    counts = [sum(count == number for count, _ in drawn_by) for number in range(1, most + 1)]
    unanimous = sum(count == readers for count, readers in drawn_by) / len(drawn_by)
    return GroupAgreement(len(drawn_by), tuple(counts), unanimous, float(np.mean(pairs)))


@dataclass(frozen=True, slots=True)
class ReaderSkill:
    """One reader compared with the others who read the same cases."""

    reader_id: str
    cases: int
    backed: int
    """Candidates that enough of the others drew."""
    found: int
    """How many of these the reader drew too."""
    lone: int
    """Candidates that only this reader drew."""

    @property
    def sensitivity(self) -> float | None:
        """``found`` divided by ``backed``; None where nothing was backed."""
        return self.found / self.backed if self.backed else None

    @property
    def lone_per_case(self) -> float:
        """Candidates per case that no other reader drew."""
        return self.lone / self.cases


def skills(checks: Sequence[CaseCheck], *, others_needed: int = 0) -> list[ReaderSkill]:
    """Compare each reader with the others.

    Args:
        checks: the cases.
        others_needed: how many others must have drawn a candidate; 0: more than half of them.
    """
    readers = sorted({reader for check in checks for reader in check.reader_ids})
    reader_skills = []
    for reader in readers:
        own = [check for check in checks if reader in check.reader_ids]
        backed = hits = lone = 0
        for check in own:
            needed = others_needed or (len(check.reader_ids) - 1) // 2 + 1
            for candidate in check.candidates:
                others = len(set(candidate.reader_ids) - {reader})
                is_drawn = reader in candidate.reader_ids
                lone += is_drawn and not others
                backed += others >= needed
                hits += is_drawn and others >= needed
        reader_skills.append(ReaderSkill(reader, len(own), backed, hits, lone))
    return reader_skills


def repeat_agreement(
    pairs: Iterable[tuple[Reading, Reading]], rule: ConsistencyRule = _RULE
) -> PairAgreement:
    """One reader's agreement with their earlier readings of the same cases.

    Args:
        pairs: first and repeated reading of each case that was shown twice.
        rule: when boxes count as the same finding.

    Raises:
        InputError: if a pair has two different cases or readers.
    """
    both = first_only = second_only = cases = 0
    reader = ""
    for first, second in pairs:
        if (first.case_id, first.reader_id) != (second.case_id, second.reader_id) or (
            reader and first.reader_id != reader
        ):
            raise InputError.at(
                f"reader '{second.reader_id}' case '{second.case_id}'",
                f"does not repeat the reading of '{first.reader_id}' of case '{first.case_id}'.",
            )
        reader, cases = first.reader_id, cases + 1
        named = [
            reading.model_copy(update={"reader_id": name})
            for reading, name in ((first, "first"), (second, "second"))
        ]
        for candidate in check_consistency(named, rule).candidates:
            both += len(candidate.reader_ids) == 2
            first_only += candidate.reader_ids == ("first",)
            second_only += candidate.reader_ids == ("second",)
    agreement = _agreement_or_none(both, first_only, second_only)
    return PairAgreement(reader, f"{reader} again", cases, both, first_only, second_only, agreement)


@dataclass(frozen=True, slots=True)
class Drift:
    """A reader's sensitivity relative to the others, period by period."""

    reader_id: str
    backed: tuple[int, ...]
    found: tuple[int, ...]
    z: float
    """Statistic of the Cochran-Armitage test for a trend; negative: fewer found over time."""
    p_value: float


def drift(periods: Sequence[Sequence[CaseCheck]], reader_id: str) -> Drift:
    """Whether a reader finds fewer, or more, of what the others find, over time.

    Args:
        periods: the cases in the order they were read, in groups.
        reader_id: the reader.

    Raises:
        UndefinedError: if a trend cannot be tested: nothing or everything was found, or all
            within one period.
    """
    each = [skill for period in periods for skill in skills(period) if skill.reader_id == reader_id]
    backed, found_counts = (
        np.array([getattr(skill, name) for skill in each]) for name in ("backed", "found")
    )
    total, hits = int(backed.sum()), int(found_counts.sum())
    if not 0 < hits < total or np.count_nonzero(backed) < 2:
        raise UndefinedError("no_trend")
    share = hits / total
    time = np.arange(len(backed))
    score = float(time @ (found_counts - backed * share))
    spread = float(backed @ time**2 - (backed @ time) ** 2 / total)
    z = score / math.sqrt(share * (1 - share) * spread)
    p_value = 2 * NormalDist().cdf(-abs(z))
    return Drift(reader_id, tuple(backed.tolist()), tuple(found_counts.tolist()), z, p_value)


def draw_repeats(case_ids: Sequence[str], share: float, *, seed: int = 0) -> dict[str, str]:
    """Draw cases to be shown again: the name under which each is shown -> the case.

    Args:
        case_ids: all cases.
        share: the share of them, above 0 and up to 1; rounded to at least one case.
        seed: of the draw and of the names.

    Raises:
        InputError: if the share is out of range.
    """
    if not 0 < share <= 1:
        raise InputError.at(
            "repeats", f"a share of {share:g} cannot be drawn.", "Give more than 0, up to 1."
        )
    ordered = sorted(case_ids)
    count = max(1, round(share * len(ordered)))
    drawn = np.random.default_rng(seed).choice(len(ordered), size=count, replace=False)
    return {_name(ordered[place], seed): ordered[place] for place in sorted(drawn.tolist())}


def _name(case_id: str, seed: int) -> str:
    return "case-" + hashlib.sha256(f"{seed} {case_id}".encode()).hexdigest()[:12]


def in_turn(
    case_ids: Sequence[str], repeats: Mapping[str, str], key: Callable[[str], bytes]
) -> list[str]:
    """Cases in the order in which a reader sees them, which reveals nothing about them.

    Between a case and its repeat there are at least all others that are shown twice, once each, and
    about half of the cases that are shown once. Repeats are spread among these, not at the end.

    Args:
        case_ids: what is to be read.
        repeats: the name under which a case is shown the second time -> the case.
        key: at least eight pseudo-random bytes for each name.
    """
    given = set(case_ids)
    again = {case: name for name, case in repeats.items() if name in given and case in given}
    twice = sorted(again, key=key)
    pairs = {*again, *again.values()}
    once = sorted((name for name in case_ids if name not in pairs), key=key)

    def part(rank: int, name: str, count: int) -> float:
        return (rank + int.from_bytes(key(name)[:8]) / 2**64) / count

    place = {name: 2 * part(rank, name, len(once)) for rank, name in enumerate(once)}
    for rank, name in enumerate(twice):
        place[name] = part(rank, name, len(twice))
        place[again[name]] = place[name] + 1
    return sorted(place, key=place.__getitem__)


def with_repeats(cases: pl.DataFrame, repeats: Mapping[str, str]) -> pl.DataFrame:
    """CASES with an additional row for each case that is shown again."""
    shown = pl.DataFrame(
        {"shown_as": list(repeats), "case_id": list(repeats.values())},
        schema={"shown_as": pl.String, "case_id": pl.String},
    )
    again = shown.join(cases, on="case_id", how="left", maintain_order="left")
    named = again.drop("case_id").rename({"shown_as": "case_id"}).select(cases.columns)
    return pl.concat([cases, named])


def repeated_readings(
    readings: Sequence[Reading], repeats: Mapping[str, str]
) -> dict[str, list[tuple[Reading, Reading]]]:
    """For each reader the first and the repeated reading of every case read twice."""
    by_case = {(reading.case_id, reading.reader_id): reading for reading in readings}
    pairs: dict[str, list[tuple[Reading, Reading]]] = {}
    for shown_as, case_id in repeats.items():
        for reader in sorted({reading.reader_id for reading in readings}):
            first, again = by_case.get((case_id, reader)), by_case.get((shown_as, reader))
            if first is not None and again is not None:
                same = again.model_copy(update={"case_id": case_id})
                pairs.setdefault(reader, []).append((first, same))
    return pairs
