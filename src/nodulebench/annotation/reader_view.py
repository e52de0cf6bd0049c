"""A batch and a person -> the candidates of a case as the person may see them, with outlines.

Readers stay anonymous: they are shown as letters, in an order that depends on the batch.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field

import polars as pl

from nodulebench.annotation.batch import Batch, Key
from nodulebench.annotation.readings import Box, DrawnFinding, DrawnSlice, Reading, drawn_slice
from nodulebench.annotation.release import accepted_of, unite
from nodulebench.annotation.tasks import waiting
from nodulebench.annotation.workflow import SeenCandidate, Workflow, letter_of
from nodulebench.core.notices import Notice


@dataclass(frozen=True, slots=True)
class ShownCandidate:
    """A candidate as a person sees it."""

    name: str
    """The candidate's name; for a reader, a name that reveals nothing about other candidates."""
    slices: tuple[DrawnSlice, ...]
    """The current outline: the readers' union, or its correction; for a reader, their own."""
    type: str | None
    """The current type; for a reader, the type that they gave when they drew it."""
    is_asked: bool = False
    readers: Mapping[str, tuple[DrawnSlice, ...]] = field(default_factory=dict)
    """Letter -> what that reader drew; empty where the person may not see this."""
    reader_count: int = 0
    """How many readers could have drawn it; 0: not disclosed."""
    inconsistent_slices: tuple[int, ...] = ()
    types: tuple[str, ...] = ()
    """All types that readers gave, where they differ."""
    why: tuple[Notice, ...] = ()
    comment: str = ""
    is_nodule: bool | None = None
    """The decision; None: not decided yet, or not disclosed."""
    note: str = ""


def shown_candidates(
    workflow: Workflow, batch: Batch, actor_id: str, case_id: str
) -> list[ShownCandidate]:
    """The candidates of a case that a person may see now; see ``Workflow.seen_candidates``.

    Before the readings are compared there are none, and readers see what they submitted.
    """
    if batch.checks is None:
        own = batch.last_readings.get((case_id, actor_id))
        return [] if own is None else _as_drawn(own)
    seen = [
        candidate
        for candidate in workflow.seen_candidates(batch, actor_id)
        if candidate.case_id == case_id
    ]
    drawn = {
        reading.reader_id: reading
        for reading in workflow.seen_readings(batch, actor_id)
        if reading.case_id == case_id
    }
    asked = set(waiting(workflow, batch, actor_id))
    names = shown_names(workflow, batch, actor_id, case_id)
    by_id = {candidate.candidate_id: candidate for candidate in seen}
    return [
        _shown(workflow, batch, actor_id, by_id[candidate_id], name, drawn, asked)
        for candidate_id, name in names.items()
    ]


def shown_names(workflow: Workflow, batch: Batch, actor_id: str, case_id: str) -> dict[str, str]:
    """Candidate -> the name that the person sees, in the order in which candidates are shown.

    Numbers of candidates, and gaps between them, reveal how much others drew. So a reader's own
    candidates are numbered in the order in which the reader drew them.
    """
    seen = [
        candidate
        for candidate in workflow.seen_candidates(batch, actor_id)
        if candidate.case_id == case_id
    ]
    whole = {
        candidate.candidate_id: candidate.candidate_id for candidate in seen if candidate.is_whole
    }
    reading = batch.last_readings.get((case_id, actor_id))
    place = {
        finding.finding_id: at for at, finding in enumerate(reading.findings if reading else ())
    }
    firsts = {
        candidate.candidate_id: min(
            place[name]
            for who, name in batch.candidates[case_id, candidate.candidate_id].findings
            if who == actor_id
        )
        for candidate in seen
        if not candidate.is_whole
    }
    own = sorted(firsts, key=firsts.__getitem__)
    return whole | {
        candidate_id: f"own-{number}" for number, candidate_id in enumerate(own, start=1)
    }


def _as_drawn(reading: Reading) -> list[ShownCandidate]:
    return [
        ShownCandidate(finding.finding_id, finding.slices, finding.type)
        for finding in reading.findings
    ]


def drawn_by_others(
    workflow: Workflow, batch: Batch, actor_id: str, case_id: str
) -> dict[str, list[ShownCandidate]]:
    return {
        reading.reader_id: _as_drawn(reading)
        for reading in workflow.seen_of_others(batch, actor_id)
        if reading.case_id == case_id
    }


def _shown(
    workflow: Workflow,
    batch: Batch,
    actor_id: str,
    seen: SeenCandidate,
    name: str,
    drawn: Mapping[str, Reading],
    asked: set[Key],
) -> ShownCandidate:
    key = (seen.case_id, seen.candidate_id)
    members = batch.candidates[key].findings
    if not seen.is_whole:
        own = [
            _finding(drawn[actor_id], finding_id) for who, finding_id in members if who == actor_id
        ]
        slices = tuple(slice_ for each in own for slice_ in each.slices)
        own_type = next((finding.type for finding in own if finding.type), None)
        return ShownCandidate(name, slices, own_type, key in asked)
    review = batch.reviews.get(key)
    types = sorted(set(batch.typings.get(key, {}).values()))
    sees_readers = {who for who, _ in members if who in batch.reader_ids} <= drawn.keys()
    ruling = batch.rulings.get(key)
    is_nodule = None if ruling is None else ruling.is_nodule
    if batch.is_released:
        is_nodule = key in batch.nodules
    return ShownCandidate(
        name,
        _united(workflow, batch, key) if sees_readers else _boxed(seen.boxes),
        batch.nodule_type(key),
        key in asked,
        readers=_by_letter(batch, members, drawn) if sees_readers else {},
        reader_count=len(batch.reader_ids) if sees_readers else 0,
        inconsistent_slices=seen.inconsistent_slices,
        types=tuple(types) if len(types) > 1 else (),
        why=batch.dispute(key),
        comment="" if review is None else review.comment,
        is_nodule=is_nodule,
        note="" if ruling is None else ruling.comment,
    )


def _by_letter(
    batch: Batch, members: Sequence[tuple[str, str]], drawn: Mapping[str, Reading]
) -> dict[str, tuple[DrawnSlice, ...]]:
    slices: dict[str, tuple[DrawnSlice, ...]] = {}
    for who, name in members:
        if who in batch.reader_ids:
            letter = letter_of(batch, who)
            slices[letter] = (*slices.get(letter, ()), *_finding(drawn[who], name).slices)
    return dict(sorted(slices.items()))


def _finding(reading: Reading, name: str) -> DrawnFinding:
    return next(finding for finding in reading.findings if finding.finding_id == name)


def _boxed(boxes: tuple[Box, ...]) -> tuple[DrawnSlice, ...]:
    """One box per slice and no outlines, for an arbitrator who has read the batch."""
    largest: dict[int, Box] = {}
    for box in sorted(boxes, key=lambda box_: box_.length_mm * box_.width_mm):
        largest[box.slice_index] = box
    return tuple(DrawnSlice(**asdict(box)) for _, box in sorted(largest.items()))


def _united(workflow: Workflow, batch: Batch, key: Key) -> tuple[DrawnSlice, ...]:
    cases = workflow.cases.filter(pl.col("case_id") == key[0])
    drawn = [reading for reading in batch.drawn if reading.case_id == key[0]]
    slices = unite("", cases, drawn, [accepted_of(batch, key)]).slices
    if slices is None:
        return ()
    return tuple(map(drawn_slice, slices.sort("slice_index").to_dicts()))
