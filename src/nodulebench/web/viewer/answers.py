"""Findings as they were drawn or changed in the page -> readings and answers as steps want them."""

from collections.abc import Iterator, Mapping

from nodulebench.annotation.handing_in import Answer
from nodulebench.annotation.readings.reading import DrawnFinding, DrawnSlice, Reading
from nodulebench.annotation.tasks import Task
from nodulebench.core.errors import InputError
from nodulebench.web.viewer.export import placed, slice_rows
from nodulebench.web.viewer.findings import Finding
from nodulebench.web.viewer.tiles import Tiles


def reading_of(
    task: Task,
    reader_id: str,
    findings: Mapping[str, Finding],
    tiles: Tiles,
    kept: Mapping[str, DrawnFinding] | None = None,
) -> Reading:
    """What a reader drew in a case: its nodules; points below 3 mm and non-nodules are none.

    Args:
        task: the case.
        reader_id: who drew it.
        findings: what was drawn or changed.
        tiles: the voxels of the scan.
        kept: what was read before and left as it was, to the last digit.

    Raises:
        InputError: if a nodule has no outline.
    """
    nodules = {name: one for name, one in findings.items() if one.kind == "nodule"}
    drawn = tuple(
        DrawnFinding(finding_id=name, slices=drawn_slices(task, one, tiles), type=one.type)
        for name, one in nodules.items()
    )
    findings_now = (*(kept or {}).values(), *drawn)
    return Reading(case_id=task.case_id, reader_id=reader_id, findings=findings_now)


def answers_of(
    task: Task, findings: Mapping[str, Finding], given: Mapping[str, Finding], tiles: Tiles
) -> Iterator[Answer]:
    """What somebody said of candidates, and what they drew besides.

    Args:
        task: the case.
        findings: as they stand now.
        given: candidates as they were before.
        tiles: the voxels of the scan.
    """
    for name, one in findings.items():
        before = given.get(name)
        is_anew = before is None or one.slices != before.slices
        if before is None and one.kind != "nodule":
            continue
        yield Answer(
            name,
            one.type,
            None if one.answer is None else one.answer == "yes",
            one.comment,
            drawn_slices(task, one, tiles) if is_anew else (),
            one.discussed_with,
        )


def drawn_slices(task: Task, finding: Finding, tiles: Tiles) -> tuple[DrawnSlice, ...]:
    """Outlines on the slices of the image as it was acquired, with their boxes.

    Raises:
        InputError: if there is none.
    """
    if not finding.slices:
        what = "holds a nodule without an outline."
        remedy = "Draw it, make it a point below 3 mm, or remove it."
        raise InputError.at(f"case '{task.name}'", what, remedy)
    return tuple(
        DrawnSlice(**{name: row[name] for name in DrawnSlice.model_fields})
        for row in slice_rows(task.case_id, "", placed(finding, tiles), tiles)
    )
