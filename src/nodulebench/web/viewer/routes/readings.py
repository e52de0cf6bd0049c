"""What a reader drew in a scan: read, changed edit by edit, handed in."""

from typing import Any

from fastapi import APIRouter, HTTPException, Request

from nodulebench.core.errors import InputError
from nodulebench.i18n.translator import Language
from nodulebench.web.viewer.drafts import ConflictError, Edit, Kept
from nodulebench.web.viewer.findings import Finding
from nodulebench.web.viewer.measured import measured
from nodulebench.web.viewer.routes.dependencies import GivenDrafts, GivenRoom, GivenTiles
from nodulebench.web.viewer.session import Beside
from nodulebench.web.viewer.tiles import Tiles

router = APIRouter()


@router.get("/scans/{number}/reading")
def reading(
    request: Request, room: GivenRoom, drafts: GivenDrafts, tiles: GivenTiles, number: int
) -> dict[str, Any]:
    """All findings of a scan with their versions and sizes, and what is asked there."""
    say: Language = request.app.state.say
    draft, beside = drafts.of(room.draft_key(number)), room.beside(number, tiles)
    stands = {name: Kept(0, finding) for name, finding in beside.given.items()}
    for name, kept in draft.findings.items():
        if kept.finding is None and name not in beside.told:
            stands.pop(name, None)
        else:
            stands[name] = Kept(kept.version, kept.finding or beside.given[name])
    return {
        "mode": beside.mode,
        "is_handed_in": draft.is_handed_in or beside.mode == "look",
        "seconds": draft.seconds,
        "findings": [
            {"id": name, **_told(kept, tiles), **_candidate(beside, name, say)}
            for name, kept in stands.items()
        ],
        "others": [
            {"letter": letter, "findings": [one.model_dump(mode="json") for one in findings]}
            for letter, findings in beside.others.items()
        ],
    }


@router.post("/scans/{number}/edits")
def edited(
    room: GivenRoom, drafts: GivenDrafts, tiles: GivenTiles, number: int, edit: Edit
) -> dict[str, Any]:
    """Make an edit; 409 with what stands where it cannot be made on that."""
    if room.is_closed(number):
        raise HTTPException(409, {"code": "handed_in", "stands": None})
    if edit.finding is not None:
        _refuse_outside(edit.finding, tiles, room.title(number))
    try:
        kept = drafts.edit(room.draft_key(number), edit)
    except ConflictError as error:
        stands = None if error.kept is None else _told(error.kept, tiles)
        raise HTTPException(409, {"code": error.code, "stands": stands}) from error
    return {} if kept is None else _told(kept, tiles)


@router.post("/scans/{number}/hand-in")
def handed_in(
    room: GivenRoom, drafts: GivenDrafts, tiles: GivenTiles, number: int
) -> dict[str, bool]:
    """Hand in what was said of a scan; nothing of it can be changed afterwards.

    ``is_over`` says whether that was the last scan of an exam, which is judged then.
    """
    try:
        room.hand_in(number, tiles, drafts)
    except ConflictError as error:
        raise HTTPException(409, {"code": error.code, "stands": None}) from error
    return {"is_handed_in": True, "is_over": room.sheet() is not None}


def _candidate(beside: Beside, name: str, say: Language) -> dict[str, Any]:
    """What is known of a candidate, and how it was given; nothing of what the reader began."""
    if name not in beside.told:
        return {}
    told = beside.told[name]
    words = {**told, "why": [say.message(one) for one in told["why"]]}
    return {"told": words, "given": beside.given[name].model_dump(mode="json")}


def _told(kept: Kept, tiles: Tiles) -> dict[str, Any]:
    finding = kept.finding
    return {
        "version": kept.version,
        "finding": None if finding is None else finding.model_dump(mode="json"),
        "measured": {} if finding is None else measured(finding, tiles),
    }


def _refuse_outside(finding: Finding, tiles: Tiles, case_id: str) -> None:
    count = tiles.volume.shape[0]
    if finding.last_slice >= count:
        what = f"slice {finding.last_slice} is outside the image, which has {count} slices."
        raise InputError.at(f"case '{case_id}'", what)
