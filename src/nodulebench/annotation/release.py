"""Released batches of an annotation project -> a bundle with its provenance, and FINDINGS tables.

The bundle holds what the workflow decided: for every accepted nodule the union of what readers
drew, or its corrected outline, and what the reviewer added and an arbitrator accepted. The tables
hold what each reader drew, so that ``nodulebench reference build`` can apply any other rule to the
same readings.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import polars as pl

from nodulebench import __version__
from nodulebench.annotation.actions import steps_of
from nodulebench.annotation.batch import Batch, Key
from nodulebench.annotation.consistency import Candidate, CaseCheck
from nodulebench.annotation.project import ProjectHandle, step_problems
from nodulebench.annotation.readings import Box, DrawnSlice, Reading, finding_name, findings_of
from nodulebench.core.errors import Problem, raise_problems
from nodulebench.core.json_types import JsonObject
from nodulebench.core.readings import FINDINGS, Readings
from nodulebench.core.tables import NODULE_SLICES, NODULES, Reference
from nodulebench.imaging.geometry import Geometry, geometries
from nodulebench.imaging.outlines import outline_texts
from nodulebench.imaging.rasters import trace_outlines, voxels_of
from nodulebench.io.atomic import staged_folder
from nodulebench.io.bundle import PROVENANCE, write_reference
from nodulebench.io.json_files import write_json
from nodulebench.io.manifests import MANIFEST
from nodulebench.io.marks.boxes import gather
from nodulebench.io.readings import write_findings
from nodulebench.reference.sizes import slice_sizes

_ORIGIN = {
    "agreement": pl.Int64,
    "findings": pl.String,
    "added_by": pl.String,
    "corrected_by": pl.String,
    "is_boxed": pl.Boolean,
}
_SIZE = (
    pl.when(pl.col("is_boxed") | pl.col("long_mm").is_null())
    .then(pl.lit("box_average"))
    .otherwise(pl.lit("average"))
)


@dataclass(frozen=True, slots=True)
class AcceptedNodule:
    """A candidate that is a nodule, with its type where one was given."""

    case_id: str
    candidate: Candidate
    type: str | None = None
    added_by: str | None = None
    """The reviewer who drew it because no reader had; None: a reader drew it."""
    corrected_by: str | None = None
    corrected_slices: tuple[DrawnSlice, ...] = ()


def accept_all(checks: Iterable[CaseCheck]) -> list[AcceptedNodule]:
    return [
        AcceptedNodule(check.case_id, candidate)
        for check in checks
        for candidate in check.candidates
    ]


def unite(
    name: str, cases: pl.DataFrame, readings: Iterable[Reading], accepted: Iterable[AcceptedNodule]
) -> Reference:
    """Build a reference: on each slice the hull of boxes and the union of outlines.

    Where a reader drew an outline and the pixels are known, the outline encloses all pixels that
    any reader included, and long and short axis are measured on it. A nodule that was drawn only as
    boxes has the sides of their hull as axes. NODULES gets additional columns: ``findings``, the
    names of the findings that were merged, ``added_by``, ``corrected_by``, and ``size_definition``:
    ``average`` of long and short axis, or ``box_average`` of the sides of a box, on the slice where
    it is largest.
    """
    drawn = {
        (reading.case_id, reading.reader_id, finding.finding_id, slice_.slice_index): slice_
        for reading in readings
        for finding in reading.findings
        for slice_ in finding.slices
    }
    places = geometries(cases)
    rows = [row for nodule in accepted for row in _rows(nodule, drawn, places.get(nodule.case_id))]
    empty = {column.name: column.dtype for column in NODULE_SLICES.columns}
    more = {"score": pl.Float64, "type": pl.String, **_ORIGIN}
    other_columns = {"density": pl.String, "malignancy": pl.Float64, "category": pl.String}
    table = _with_heights(pl.DataFrame(rows, schema={**empty, **more, **other_columns}), places)
    origin = table.group_by("case_id", "nodule_id", maintain_order=True).agg(
        pl.col(list(_ORIGIN)).first()
    )
    nodules = (
        gather(table, "nodule_id")
        .drop("score")
        .with_columns(origin.select(list(_ORIGIN)), is_ignored=pl.lit(False))
        .with_columns(size_definition=_SIZE)
        .drop("is_boxed")
    )
    return Reference(
        name=name,
        cases=cases,
        nodules=NODULES.arrange(nodules),
        slices=NODULE_SLICES.arrange(table),
        rule="arbitrated",
    )


def _rows(
    accepted: AcceptedNodule,
    drawn: Mapping[tuple[str, str, str, int], DrawnSlice],
    place: Geometry | None,
) -> Iterable[dict[str, object]]:
    candidate = accepted.candidate
    on_slice = _members(accepted, drawn)
    is_boxed = not any(member.outline for members in on_slice.values() for member in members)
    for number, members in on_slice.items():
        drawn_boxes = [member.box for member in accepted.corrected_slices] or candidate.boxes
        box = _hull([box for box in drawn_boxes if box.slice_index == number])
        heights = [member.z_mm for member in members if member.z_mm is not None]
        yield {
            "case_id": accepted.case_id,
            "nodule_id": candidate.candidate_id.replace("candidate", "nodule"),
            "slice_index": number,
            "z_mm": heights[0] if heights else None,
            "center_x_mm": box.center_x_mm,
            "center_y_mm": box.center_y_mm,
            "length_mm": box.length_mm,
            "width_mm": box.width_mm,
            "type": accepted.type,
            "agreement": 0 if accepted.added_by else len(candidate.reader_ids),
            "findings": " ".join(finding_name(*finding) for finding in candidate.findings),
            "added_by": accepted.added_by,
            "corrected_by": accepted.corrected_by,
            "is_boxed": is_boxed,
            **(_sides(box) if is_boxed else _united_outline(members, place)),
        }


def _members(
    accepted: AcceptedNodule, drawn: Mapping[tuple[str, str, str, int], DrawnSlice]
) -> dict[int, list[DrawnSlice]]:
    if accepted.corrected_slices:
        ordered = sorted(accepted.corrected_slices, key=lambda member: member.slice_index)
        return {member.slice_index: [member] for member in ordered}
    candidate = accepted.candidate
    return {
        number: [
            drawn[accepted.case_id, *finding, number]
            for cluster in candidate.clusters
            if cluster.box.slice_index == number
            for finding in cluster.findings
        ]
        for number in sorted({box.slice_index for box in candidate.boxes})
    }


def _sides(box: Box) -> dict[str, object]:
    short, long = sorted((box.length_mm, box.width_mm))
    return {"long_mm": long, "short_mm": short}


def _united_outline(members: Sequence[DrawnSlice], place: Geometry | None) -> dict[str, object]:
    if place is None or not any(member.outline for member in members):
        return {}
    pixels = voxels_of([member.as_drawn for member in members], place)
    if not len(pixels):
        return {}
    same_set = np.zeros(len(pixels), dtype=np.int64)
    outline, corner = trace_outlines(same_set, pixels[:, 0], pixels[:, 1])
    level = np.full(len(corner), float(pixels[0, 2]))
    xyz_mm = place.to_world(np.column_stack([corner, level]))
    sizes = slice_sizes(same_set, pixels, place.spacing_mm[None, :2])
    return {
        "contour": outline_texts(outline, xyz_mm[:, 0], xyz_mm[:, 1])["contour"][0],
        "long_mm": sizes["long_mm"][0],
        "short_mm": sizes["short_mm"][0],
    }


def _hull(boxes: list[Box]) -> Box:
    left = min(box.center_x_mm - box.length_mm / 2 for box in boxes)
    right = max(box.center_x_mm + box.length_mm / 2 for box in boxes)
    front = min(box.center_y_mm - box.width_mm / 2 for box in boxes)
    back = max(box.center_y_mm + box.width_mm / 2 for box in boxes)
    middle = ((left + right) / 2, (front + back) / 2)
    return Box(boxes[0].slice_index, *middle, right - left, back - front)


def _with_heights(table: pl.DataFrame, places: Mapping[str, Geometry]) -> pl.DataFrame:
    bare = table.filter(pl.col("z_mm").is_null())["case_id"].unique(maintain_order=True)
    raise_problems(
        Problem(
            f"case '{case_id}'",
            "the height of its slices is not known.",
            "Give z_mm with the slices, or a table of cases with spacing and origin.",
        )
        for case_id in bare
        if case_id not in places
    )
    heights = [
        float(
            places[row["case_id"]].height_on(
                np.array([float(row["slice_index"])]),
                np.array([[row["center_x_mm"], row["center_y_mm"]]]),
            )[0]
        )
        if row["z_mm"] is None
        else row["z_mm"]
        for row in table.iter_rows(named=True)
    ]
    return table.with_columns(pl.Series("z_mm", heights, dtype=pl.Float64))


def export_released(
    handle: ProjectHandle,
    target: Path,
    batch_ids: Iterable[str] = (),
    *,
    findings: Path | None = None,
    blind_findings: Path | None = None,
) -> Reference:
    """Write the nodules of released batches as a bundle and, with ``findings``, what readers drew.

    Nothing is written if a batch is not released. The whole log is read and every step is checked
    again, because an index or a step could have been forged. Without names, all released batches
    are written. ``findings`` and ``blind_findings`` (of the phase before readers saw what others
    drew) are folders for tables.
    """
    handle = replace(handle, log=replace(handle.log, file=None))
    raise_problems(step_problems(handle, handle.log.read()))
    batches = _released_batches(handle, batch_ids)
    chosen = list(batches.values())
    reference, drawn = _released_reference(handle, chosen), _released_findings(handle, chosen)
    with staged_folder(target, last=MANIFEST) as stage:
        write_reference(reference, stage)
        write_json(_provenance(handle, list(batches)), stage / PROVENANCE)
    if findings is not None:
        write_findings(drawn, findings)
    if blind_findings is not None:
        blind = [reading for batch in chosen for reading in batch.readings.values()]
        readings = findings_of(reference.name, reference.cases, blind)
        sessions = readings.sessions.with_columns(phase=pl.lit("blind"))
        write_findings(replace(readings, sessions=sessions), blind_findings)
    return reference


def _released_batches(handle: ProjectHandle, batch_ids: Iterable[str] = ()) -> dict[str, Batch]:
    """The named batches, which must be released, or all that are; each case once."""
    batches = handle.batches()
    wanted = list(batch_ids) or [name for name, batch in batches.items() if batch.is_released]
    problems = [
        Problem(f"batch '{name}'", "is not released.")
        for name in wanted
        if name not in batches or not batches[name].is_released
    ]
    if not wanted:
        problems = [Problem(str(handle.folder), "no batch is released.")]
    names = [
        case_id for name in wanted if name in batches for case_id in _cases(handle, batches[name])
    ]
    problems += [
        Problem(f"case '{case_id}'", "is in several of the batches.", "Name one of them.")
        for case_id in dict.fromkeys(name for name in names if names.count(name) > 1)
    ]
    raise_problems(problems)
    return {name: batches[name] for name in wanted}


def _released_reference(handle: ProjectHandle, chosen: Sequence[Batch]) -> Reference:
    accepted = [
        accepted_of(batch, key)
        for batch in chosen
        for key in batch.nodules
        if key[0] not in handle.repeats
    ]
    drawn = [reading for batch in chosen for reading in batch.drawn]
    return unite(handle.folder.resolve().name, _listed(handle, chosen), drawn, accepted)


def accepted_of(batch: Batch, key: Key) -> AcceptedNodule:
    correction = batch.corrected(key)
    return AcceptedNodule(
        key[0],
        batch.candidates[key],
        batch.nodule_type(key),
        added_by=batch.order.reviewer_id if key in batch.added else None,
        corrected_by=None if correction is None else correction.by,
        corrected_slices=() if correction is None else correction.step.slices,
    )


def _released_findings(handle: ProjectHandle, chosen: Sequence[Batch]) -> Readings:
    """The final readings of released batches, with the types that readers gave.

    SESSIONS states whether a reading was ``blind`` or ``unblinded``, after seeing what others drew.
    FINDINGS gets two additional columns: ``candidate_id``, and ``is_nodule``, the decision of the
    workflow. Nodules that the reviewer added are no reader's findings; only the bundle has them.
    """
    cases = _listed(handle, chosen)
    typed = [
        reading
        for batch in chosen
        for reading in batch.typed
        if reading.reader_id in batch.reader_ids
    ]
    readings = findings_of(handle.folder.resolve().name, cases, typed)
    decided = pl.DataFrame(
        [row for batch in chosen for row in _decisions(batch)],
        schema=dict.fromkeys(("case_id", "reader_id", "source_id", "candidate_id"), pl.String)
        | {"is_nodule": pl.Boolean},
        orient="row",
    )
    joined = readings.findings.join(
        decided, on=["case_id", "reader_id", "source_id"], how="left", maintain_order="left"
    )
    phase = "blind" if handle.workflow.rules.revision == "none" else "unblinded"
    sessions = readings.sessions.with_columns(phase=pl.lit(phase))
    return replace(readings, sessions=sessions, findings=FINDINGS.conform(joined, "FINDINGS"))


def _decisions(batch: Batch) -> Iterable[tuple[str, str, str, str, bool]]:
    accepted: set[Key] = set(batch.nodules)
    for key, candidate in batch.candidates.items():
        for reader, name in candidate.findings:
            yield key[0], reader, name, key[1], key in accepted


def _cases(handle: ProjectHandle, batch: Batch) -> list[str]:
    return [case_id for case_id in batch.order.case_ids if case_id not in handle.repeats]


def _listed(handle: ProjectHandle, batches: Sequence[Batch]) -> pl.DataFrame:
    names = [case_id for batch in batches for case_id in _cases(handle, batch)]
    wanted = pl.DataFrame({"case_id": pl.Series(names, dtype=pl.String)})
    return handle.workflow.cases.join(wanted, on="case_id", how="semi", maintain_order="left")


def _provenance(handle: ProjectHandle, batch_ids: Sequence[str]) -> JsonObject:
    events = handle.log.read()
    return {
        "schema": "nodulebench/reference@1",
        "version": __version__,
        "source": handle.folder.resolve().name,
        "digest": events[-1].digest,
        "rule": handle.workflow.rules.name,
        "parameters": handle.workflow.rules.model_dump(mode="json"),
        "batches": list(batch_ids),
        "events": [
            {
                "number": event.number,
                "at": event.at.isoformat(),
                "actor_id": step.actor_id,
                "step": step.step,
                "batch_id": event.batch_id,
                "case_id": step.case_id,
                "change": step.change,
            }
            for event in events
            if event.batch_id in set(batch_ids)
            for step in steps_of(event)
        ],
    }
