"""Cases that readers are shown twice, to measure how far they agree with themselves."""

import hashlib
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import polars as pl

from nodulebench.annotation.readings import Reading
from nodulebench.core.errors import InputError


def draw_repeats(case_ids: Sequence[str], share: float, *, seed: int = 0) -> dict[str, str]:
    """Draw a share of cases, at least one: the name under which each is shown again -> the case."""
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
    ``key`` gives at least eight pseudo-random bytes for each name.
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
    by_case = {(reading.case_id, reading.reader_id): reading for reading in readings}
    pairs: dict[str, list[tuple[Reading, Reading]]] = {}
    for shown_as, case_id in repeats.items():
        for reader in sorted({reading.reader_id for reading in readings}):
            first, again = by_case.get((case_id, reader)), by_case.get((shown_as, reader))
            if first is not None and again is not None:
                same = again.model_copy(update={"case_id": case_id})
                pairs.setdefault(reader, []).append((first, same))
    return pairs
