"""What a reader drew in a scan: read, changed edit by edit, handed in."""

from typing import Annotated, Literal
from urllib.parse import quote

from fastapi import APIRouter, Depends, HTTPException, Request, Response
from pydantic import Field

from nodulebench.core.config_model import ConfigModel
from nodulebench.core.errors import InputError
from nodulebench.core.json_types import JsonObject
from nodulebench.i18n.translator import Translator
from nodulebench.web.viewer.drafts import ConflictError, Edit, SavedDraft
from nodulebench.web.viewer.export import taken, written
from nodulebench.web.viewer.findings import (
    MOST_CORNERS,
    Finding,
    OutlinedSlice,
    Place,
    Point,
    filled_between,
    joined,
    measured,
    proposed,
)
from nodulebench.web.viewer.routes.dependencies import GivenDrafts, GivenRoom, GivenTiles
from nodulebench.web.viewer.scans import Tiles
from nodulebench.web.viewer.session import ScanContext

router = APIRouter()


@router.get("/scans/{number}/reading")
def reading(
    request: Request, room: GivenRoom, drafts: GivenDrafts, tiles: GivenTiles, number: int
) -> JsonObject:
    """All findings of a scan with their versions and sizes, and what is asked there."""
    translate: Translator = request.app.state.translate
    draft, beside = drafts.of(room.draft_key(number)), room.beside(number, tiles)
    stands = {name: SavedDraft(0, finding) for name, finding in beside.given.items()}
    for name, kept in draft.findings.items():
        if kept.finding is None and name not in beside.told:
            stands.pop(name, None)
        else:
            stands[name] = SavedDraft(kept.version, kept.finding or beside.given[name])
    return {
        "mode": beside.mode,
        "is_submitted": draft.is_submitted or beside.mode == "done",
        "seconds": draft.seconds,
        "findings": [
            {"id": name, **_told(kept, tiles), **_candidate(beside, name, translate)}
            for name, kept in stands.items()
        ],
        "others": [
            {
                "letter": letter,
                "findings": [finding.model_dump(mode="json") for finding in findings],
            }
            for letter, findings in beside.others.items()
        ],
    }


@router.post("/scans/{number}/edits")
def edited(
    room: GivenRoom, drafts: GivenDrafts, tiles: GivenTiles, number: int, edit: Edit
) -> JsonObject:
    """Make an edit; 409 with what stands where it cannot be made on that."""
    if room.is_closed(number):
        raise HTTPException(409, {"code": "submitted", "current": None})
    if edit.finding is not None:
        _require_inside_image(edit.finding, tiles, room.title(number))
    try:
        kept = drafts.edit(room.draft_key(number), edit)
    except ConflictError as error:
        stands = None if error.kept is None else _told(error.kept, tiles)
        raise HTTPException(409, {"code": error.code, "current": stands}) from error
    return {} if kept is None else _told(kept, tiles)


@router.post("/scans/{number}/submit")
def submit(room: GivenRoom, drafts: GivenDrafts, tiles: GivenTiles, number: int) -> dict[str, bool]:
    """Hand in what was said of a scan; nothing of it can be changed afterwards.

    ``is_over`` says whether that was the last scan of an exam, which is judged then.
    """
    try:
        room.hand_in(number, tiles, drafts)
    except ConflictError as error:
        raise HTTPException(409, {"code": error.code, "current": None}) from error
    return {"is_submitted": True, "is_over": room.sheet() is not None}


def _candidate(beside: ScanContext, name: str, translate: Translator) -> JsonObject:
    """What is known of a candidate, and how it was given; nothing of what the reader began."""
    if name not in beside.told:
        return {}
    told = beside.told[name]
    words = {**told, "why": [translate.message(one) for one in told["why"]]}
    return {"known": words, "proposed": beside.given[name].model_dump(mode="json")}


def _told(kept: SavedDraft, tiles: Tiles) -> JsonObject:
    finding = kept.finding
    return {
        "version": kept.version,
        "finding": None if finding is None else finding.model_dump(mode="json"),
        "measured": {} if finding is None else measured(finding, tiles),
    }


def _require_inside_image(finding: Finding, tiles: Tiles, case_id: str) -> None:
    count = tiles.volume.shape[0]
    if finding.last_slice >= count:
        what = f"slice {finding.last_slice} is outside the image, which has {count} slices."
        raise InputError.at(f"case '{case_id}'", what)


class Click(ConfigModel):
    """A click on a nodule, and turns of the wheel since."""

    position_mm: Place
    level: int = Field(default=0, ge=-8, le=8)


class Stroke(ConfigModel):
    """A closed stroke on a slice, and what was there before."""

    slice_index: int = Field(ge=0)
    stroke: Annotated[tuple[Point, ...], Field(min_length=3, max_length=MOST_CORNERS)]
    drawn: OutlinedSlice | None = None
    adds: bool = True


class Gaps(ConfigModel):
    """Outlines that may leave slices out."""

    slices: Annotated[tuple[OutlinedSlice, ...], Field(min_length=1)]


@router.post("/scans/{number}/proposal")
def proposal(tiles: GivenTiles, click: Click) -> JsonObject:
    """Outlines of the nodule at a place, and its sizes."""
    finding = Finding(
        position_mm=click.position_mm, slices=proposed(tiles, click.position_mm, click.level)
    )
    return {
        "slices": [slice_.model_dump(mode="json") for slice_ in finding.slices],
        "measured": measured(finding, tiles),
    }


@router.post("/scans/{number}/joined")
def stroked(tiles: GivenTiles, given: Stroke) -> JsonObject:
    """The outline of a slice after a stroke; null where nothing is left."""
    _require_outline_inside([given.slice_index], tiles)
    made = joined(tiles, given.drawn, given.stroke, given.slice_index, adds=given.adds)
    return {"drawn": None if made is None else made.model_dump(mode="json")}


@router.post("/scans/{number}/filled")
def filled(tiles: GivenTiles, gaps: Gaps) -> JsonObject:
    """Outlines on all slices from the lowest to the highest that has one."""
    _require_outline_inside([slice_.slice_index for slice_ in gaps.slices], tiles)
    made = filled_between(tiles, gaps.slices)
    return {"slices": [one.model_dump(mode="json") for one in made]}


def _require_outline_inside(numbers: list[int], tiles: Tiles) -> None:
    count = tiles.volume.shape[0]
    if max(numbers) >= count:
        raise InputError.at(f"slice {max(numbers)}", f"is outside the image of {count} slices.")


MOST_BYTES = 64 << 20
"""A thousand slices of labels, packed, are a hundredth of that."""


async def _content(request: Request) -> bytes:
    """What was sent.

    Raises:
        InputError: if it is too much.
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
def saved(
    room: GivenRoom,
    drafts: GivenDrafts,
    tiles: GivenTiles,
    number: int,
    kind: Literal["slicer_markups", "seg_nrrd", "nifti_labels", "lidc_xml"],
) -> Response:
    """What the reader drew, and nobody else; 404 where nothing was."""
    draft = drafts.of(room.draft_key(number))
    if not draft.present:
        raise HTTPException(404, "nothing was drawn")
    name, content = written(kind, room.title(number), room.reader, draft.present, tiles)
    headers = {"Content-Disposition": f"attachment; filename*=UTF-8''{quote(name)}"}
    return Response(content, media_type="application/octet-stream", headers=headers)


@router.post("/scans/{number}/files")
def loaded(
    room: GivenRoom,
    drafts: GivenDrafts,
    tiles: GivenTiles,
    number: int,
    name: str,
    content: Content,
) -> dict[str, list[JsonObject]]:
    """The findings that a file holds; nothing of them is kept."""
    if room.is_closed(number) or drafts.of(room.draft_key(number)).is_submitted:
        raise HTTPException(409, {"code": "submitted", "current": None})
    found = taken(name, content, room.title(number), tiles)
    return {
        "findings": [
            {"finding": one.model_dump(mode="json"), "measured": measured(one, tiles)}
            for one in found
        ]
    }
