"""A batch and a person -> the candidates of a case as they may see them, with outlines.

Who drew what is told to nobody: readers are letters, in an order that follows from the batch.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from nodulebench.annotation.readings.consistency import Box
from nodulebench.annotation.readings.reading import DrawnFinding, DrawnSlice, Reading
from nodulebench.annotation.release import accepted_of
from nodulebench.annotation.tasks import waiting
from nodulebench.annotation.unite_readings import unite
from nodulebench.annotation.workflow.batch import Batch, Key
from nodulebench.annotation.workflow.letters import letter_of
from nodulebench.annotation.workflow.workflow import SeenCandidate, Workflow
from nodulebench.core.notices import Notice


@dataclass(frozen=True, slots=True)
class Shown:
    """A candidate as somebody is shown it."""

    name: str
    """To who sees all of it that of the candidate; to a reader one that tells of no others."""
    slices: tuple[DrawnSlice, ...]
    """As it stands: the union of readers, or how it was drawn anew; to a reader the own."""
    readers: Mapping[str, tuple[DrawnSlice, ...]]
    """Letter -> what that reader drew; nothing where these may not be seen."""
    of_readers: int
    """How many could have drawn it; 0: that is not told."""
    inconsistent_slices: tuple[int, ...]
    type: str | None
    """As it stands; to a reader as they said when they drew it."""
    types: tuple[str, ...]
    """All that were said, where they differ."""
    why: tuple[Notice, ...]
    """Why it is in dispute."""
    comment: str
    """What the reviewer said of it."""
    is_asked: bool
    """Whether the person has something to say of it now."""
    is_nodule: bool | None = None
    """What became of it; None: that is not settled, or not told."""
    note: str = ""
    """What the arbitrator said of it."""


def shown_candidates(workflow: Workflow, batch: Batch, actor_id: str, case_id: str) -> list[Shown]:
    """The candidates of a case that somebody may see now; see ``Workflow.seen_candidates``.

    Before readings were compared there are none, and a reader sees what they handed in.
    """
    if batch.checks is None:
        own = batch.last_readings.get((case_id, actor_id))
        return [_as_drawn(one) for one in ([] if own is None else own.findings)]
    seen = [one for one in workflow.seen_candidates(batch, actor_id) if one.case_id == case_id]
    drawn = {
        one.reader_id: one
        for one in workflow.seen_readings(batch, actor_id)
        if one.case_id == case_id
    }
    asked = set(waiting(workflow, batch, actor_id, case_id))
    names = shown_names(workflow, batch, actor_id, case_id)
    found = {one.candidate_id: one for one in seen}
    return [
        _shown(workflow, batch, actor_id, found[candidate_id], name, drawn, asked)
        for candidate_id, name in names.items()
    ]


def shown_names(workflow: Workflow, batch: Batch, actor_id: str, case_id: str) -> dict[str, str]:
    """Candidate -> by what name somebody is shown it, in the order in which they are.

    Numbers of candidates, and gaps between them, tell how many others drew what. What a reader sees
    as the own is numbered by what they drew themselves.
    """
    seen = [one for one in workflow.seen_candidates(batch, actor_id) if one.case_id == case_id]
    whole = {one.candidate_id: one.candidate_id for one in seen if one.is_whole}
    reading = batch.last_readings.get((case_id, actor_id))
    place = {one.finding_id: at for at, one in enumerate(reading.findings if reading else ())}
    firsts = {
        one.candidate_id: min(
            place[name]
            for who, name in batch.candidates[case_id, one.candidate_id].findings
            if who == actor_id
        )
        for one in seen
        if not one.is_whole
    }
    own = sorted(firsts, key=firsts.__getitem__)
    return whole | {one: f"own-{number}" for number, one in enumerate(own, start=1)}


def _as_drawn(one: DrawnFinding) -> Shown:
    return Shown(one.finding_id, one.slices, {}, 0, (), one.type, (), (), "", is_asked=False)


def drawn_by_others(
    workflow: Workflow, batch: Batch, actor_id: str, case_id: str
) -> dict[str, list[Shown]]:
    """Letter -> what that reader drew in a case, where who revises it may see that."""
    return {
        one.reader_id: [_as_drawn(finding) for finding in one.findings]
        for one in workflow.seen_of_others(batch, actor_id)
        if one.case_id == case_id
    }


def _shown(
    workflow: Workflow,
    batch: Batch,
    actor_id: str,
    seen: SeenCandidate,
    name: str,
    drawn: Mapping[str, Reading],
    asked: set[Key],
) -> Shown:
    key = (seen.case_id, seen.candidate_id)
    members = batch.candidates[key].findings
    if not seen.is_whole:
        own = [_finding(drawn[actor_id], one) for who, one in members if who == actor_id]
        slices = tuple(one for each in own for one in each.slices)
        told = next((one.type for one in own if one.type), None)
        return Shown(name, slices, {}, 0, (), told, (), (), "", key in asked)
    review = batch.reviews.get(key)
    types = sorted(set(batch.typings.get(key, {}).values()))
    sees_readers = {who for who, _ in members if who in batch.reader_ids} <= drawn.keys()
    return Shown(
        name,
        _united(workflow, batch, key) if sees_readers else _boxed(seen.boxes),
        _by_letter(batch, members, drawn) if sees_readers else {},
        len(batch.reader_ids) if sees_readers else 0,
        seen.inconsistent_slices,
        batch.nodule_type(key),
        tuple(types) if len(types) > 1 else (),
        batch.dispute(key),
        "" if review is None else review.comment,
        key in asked,
        _outcome(batch, key),
        batch.rulings[key].comment if key in batch.rulings else "",
    )


def _outcome(batch: Batch, key: Key) -> bool | None:
    if batch.is_released:
        return key in batch.nodules
    return batch.rulings[key].is_nodule if key in batch.rulings else None


def _by_letter(
    batch: Batch, members: Sequence[tuple[str, str]], drawn: Mapping[str, Reading]
) -> dict[str, tuple[DrawnSlice, ...]]:
    found: dict[str, tuple[DrawnSlice, ...]] = {}
    for who, name in members:
        if who in batch.reader_ids:
            letter = letter_of(batch, who)
            found[letter] = (*found.get(letter, ()), *_finding(drawn[who], name).slices)
    return dict(sorted(found.items()))


def _finding(reading: Reading, name: str) -> DrawnFinding:
    return next(one for one in reading.findings if one.finding_id == name)


def _boxed(boxes: tuple[Box, ...]) -> tuple[DrawnSlice, ...]:
    """Boxes alone, one a slice: what an arbitrator sees who has read the batch."""
    largest: dict[int, Box] = {}
    for box in sorted(boxes, key=lambda one: one.length_mm * one.width_mm):
        largest[box.slice_index] = box
    return tuple(
        DrawnSlice(
            slice_index=number,
            center_x_mm=box.center_x_mm,
            center_y_mm=box.center_y_mm,
            length_mm=box.length_mm,
            width_mm=box.width_mm,
        )
        for number, box in sorted(largest.items())
    )


def _united(workflow: Workflow, batch: Batch, key: Key) -> tuple[DrawnSlice, ...]:
    """What a candidate would be in the reference as it stands."""
    cases = workflow.cases.filter(pl.col("case_id") == key[0])
    drawn = [one for one in batch.drawn if one.case_id == key[0]]
    slices = unite("", cases, drawn, [accepted_of(batch, key)]).slices
    if slices is None:
        return ()
    columns = [name for name in DrawnSlice.model_fields if name in slices.columns]
    return tuple(
        DrawnSlice(**{**row, "contour": row["contour"] or ""})
        for row in slices.select(columns).sort("slice_index").iter_rows(named=True)
    )
