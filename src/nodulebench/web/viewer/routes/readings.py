"""The reading of a scan: load it, edit it, submit it, exchange it as a file."""

from typing import Annotated, Literal
from urllib.parse import quote

from fastapi import APIRouter, Depends, HTTPException, Request, Response
from pydantic import Field

from nodulebench.core.config_model import ConfigModel
from nodulebench.core.errors import InputError
from nodulebench.core.json_types import JsonObject
from nodulebench.i18n.translator import Translator
from nodulebench.web.viewer.drafts import ConflictError, Edit, SavedDraft
from nodulebench.web.viewer.export import read_file, write_file
from nodulebench.web.viewer.findings import (
    MOST_CORNERS,
    Finding,
    OutlinedSlice,
    Point,
    Position,
    fill_gaps,
    join_stroke,
    measure_finding,
    propose_outlines,
)
from nodulebench.web.viewer.routes.dependencies import CurrentDrafts, CurrentSession, CurrentTiles
from nodulebench.web.viewer.scans import Tiles
from nodulebench.web.viewer.session import ScanContext

router = APIRouter()


@router.get("/scans/{number}/reading")
def reading(
    request: Request,
    session: CurrentSession,
    drafts: CurrentDrafts,
    tiles: CurrentTiles,
    number: int,
) -> JsonObject:
    """All findings of a scan with their versions and sizes, and the task of the reader."""
    translate: Translator = request.app.state.translate
    draft, context = drafts.of(session.draft_key(number)), session.context(number, tiles)
    current = {name: SavedDraft(0, finding) for name, finding in context.candidates.items()}
    for name, saved in draft.findings.items():
        if saved.finding is None and name not in context.known:
            current.pop(name, None)
        else:
            current[name] = SavedDraft(saved.version, saved.finding or context.candidates[name])
    return {
        "mode": context.mode,
        "is_submitted": draft.is_submitted or context.mode == "done",
        "seconds": draft.seconds,
        "findings": [
            {"id": name, **_saved_json(saved, tiles), **_candidate(context, name, translate)}
            for name, saved in current.items()
        ],
        "others": [
            {
                "letter": letter,
                "findings": [finding.model_dump(mode="json") for finding in findings],
            }
            for letter, findings in context.others.items()
        ],
    }


@router.post("/scans/{number}/edits")
def edit_finding(
    session: CurrentSession, drafts: CurrentDrafts, tiles: CurrentTiles, number: int, edit: Edit
) -> JsonObject:
    """Apply an edit; status 409 with the current state if the edit does not fit it."""
    if session.is_closed(number):
        raise HTTPException(409, {"code": "submitted", "current": None})
    if edit.finding is not None:
        _require_inside_image(edit.finding, tiles, session.title(number))
    try:
        saved = drafts.edit(session.draft_key(number), edit)
    except ConflictError as error:
        current = None if error.current is None else _saved_json(error.current, tiles)
        raise HTTPException(409, {"code": error.code, "current": current}) from error
    return {} if saved is None else _saved_json(saved, tiles)


@router.post("/scans/{number}/submit")
def submit(
    session: CurrentSession, drafts: CurrentDrafts, tiles: CurrentTiles, number: int
) -> dict[str, bool]:
    """Submit the reading of a scan; it cannot be changed afterwards.

    ``is_over`` is true if that was the last scan of an exam, which is then scored.
    """
    try:
        session.submit(number, tiles, drafts)
    except ConflictError as error:
        raise HTTPException(409, {"code": error.code, "current": None}) from error
    return {"is_submitted": True, "is_over": session.sheet() is not None}


def _candidate(context: ScanContext, name: str, translate: Translator) -> JsonObject:
    """What is known of a candidate and its proposed state; empty for the reader's own findings."""
    if name not in context.known:
        return {}
    known = context.known[name]
    translated = {**known, "why": [translate.message(notice) for notice in known["why"]]}
    return {"known": translated, "proposed": context.candidates[name].model_dump(mode="json")}


def _saved_json(saved: SavedDraft, tiles: Tiles) -> JsonObject:
    finding = saved.finding
    return {
        "version": saved.version,
        "finding": None if finding is None else finding.model_dump(mode="json"),
        "measured": {} if finding is None else measure_finding(finding, tiles),
    }


def _require_inside_image(finding: Finding, tiles: Tiles, case_id: str) -> None:
    count = tiles.volume.shape[0]
    if finding.last_slice >= count:
        what = f"slice {finding.last_slice} is outside the image, which has {count} slices."
        raise InputError.at(f"case '{case_id}'", what)


class Click(ConfigModel):
    """A click on a nodule, and the size that was chosen with the wheel since."""

    position_mm: Position
    level: int = Field(default=0, ge=-8, le=8)


class Stroke(ConfigModel):
    """A closed stroke on a slice, and the outline before it."""

    slice_index: int = Field(ge=0)
    stroke: Annotated[tuple[Point, ...], Field(min_length=3, max_length=MOST_CORNERS)]
    drawn: OutlinedSlice | None = None
    adds: bool = True


class Gaps(ConfigModel):
    """Outlines with slices between them that have none."""

    slices: Annotated[tuple[OutlinedSlice, ...], Field(min_length=1)]


@router.post("/scans/{number}/proposal")
def proposal(tiles: CurrentTiles, click: Click) -> JsonObject:
    """Outlines of the nodule at a position, and its sizes."""
    slices = propose_outlines(tiles, click.position_mm, click.level)
    finding = Finding(position_mm=click.position_mm, slices=slices)
    return {
        "slices": [slice_.model_dump(mode="json") for slice_ in finding.slices],
        "measured": measure_finding(finding, tiles),
    }


@router.post("/scans/{number}/joined")
def join(tiles: CurrentTiles, stroke: Stroke) -> JsonObject:
    """The outline of a slice after a stroke; null if nothing is left of it."""
    _require_outline_inside([stroke.slice_index], tiles)
    outline = join_stroke(tiles, stroke.drawn, stroke.stroke, stroke.slice_index, adds=stroke.adds)
    return {"drawn": None if outline is None else outline.model_dump(mode="json")}


@router.post("/scans/{number}/filled")
def fill(tiles: CurrentTiles, gaps: Gaps) -> JsonObject:
    """Outlines on all slices from the lowest to the highest that has one."""
    _require_outline_inside([slice_.slice_index for slice_ in gaps.slices], tiles)
    slices = fill_gaps(tiles, gaps.slices)
    return {"slices": [slice_.model_dump(mode="json") for slice_ in slices]}


def _require_outline_inside(numbers: list[int], tiles: Tiles) -> None:
    count = tiles.volume.shape[0]
    if max(numbers) >= count:
        raise InputError.at(f"slice {max(numbers)}", f"is outside the image of {count} slices.")


MOST_BYTES = 64 << 20
"""A thousand packed slices of labels need a hundredth of that."""


async def _content(request: Request) -> bytes:
    """The body of the request.

    Raises:
        InputError: if it is too large.
    """
    parts, size = [], 0
    async for part in request.stream():
        size += len(part)
        if size > MOST_BYTES:
            where, what = f"file '{request.query_params.get('name')}'", "is larger than 64 MiB."
            raise InputError.at(where, what, "Save label maps packed: .nii.gz, .seg.nrrd.")
        parts.append(part)
    return b"".join(parts)


Content = Annotated[bytes, Depends(_content)]


@router.get("/scans/{number}/files/{kind}")
def download_file(
    session: CurrentSession,
    drafts: CurrentDrafts,
    tiles: CurrentTiles,
    number: int,
    kind: Literal["slicer_markups", "seg_nrrd", "nifti_labels", "lidc_xml"],
) -> Response:
    """The findings of this reader only, as a file; status 404 if there are none."""
    draft = drafts.of(session.draft_key(number))
    if not draft.present:
        raise HTTPException(404, "nothing was drawn")
    name, content = write_file(kind, session.title(number), session.reader, draft.present, tiles)
    headers = {"Content-Disposition": f"attachment; filename*=UTF-8''{quote(name)}"}
    return Response(content, media_type="application/octet-stream", headers=headers)


@router.post("/scans/{number}/files")
def upload_file(
    session: CurrentSession,
    drafts: CurrentDrafts,
    tiles: CurrentTiles,
    number: int,
    name: str,
    content: Content,
) -> dict[str, list[JsonObject]]:
    """The findings in a file; the page saves those that it adds, as edits."""
    if session.is_closed(number) or drafts.of(session.draft_key(number)).is_submitted:
        raise HTTPException(409, {"code": "submitted", "current": None})
    findings = read_file(name, content, session.title(number), tiles)
    return {
        "findings": [
            {
                "finding": finding.model_dump(mode="json"),
                "measured": measure_finding(finding, tiles),
            }
            for finding in findings
        ]
    }
