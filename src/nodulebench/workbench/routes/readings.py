"""What a reader drew in a scan: read, changed edit by edit, handed in."""

from typing import Any

from fastapi import APIRouter, HTTPException, Request

from nodulebench.errors import InputError
from nodulebench.workbench.drafts import ConflictError, Edit, Kept
from nodulebench.workbench.export import write_readings
from nodulebench.workbench.finding import Finding
from nodulebench.workbench.measured import measured
from nodulebench.workbench.routes.given import (
    GivenDrafts,
    GivenRoom,
    GivenScan,
    GivenTiles,
    sat_exam,
)
from nodulebench.workbench.tiles import Tiles

router = APIRouter()


@router.get("/scans/{number}/reading")
def reading(drafts: GivenDrafts, scan: GivenScan, tiles: GivenTiles) -> dict[str, Any]:
    """All findings of a scan with their versions and sizes."""
    draft = drafts.of(scan.case_id)
    return {
        "is_handed_in": draft.is_handed_in,
        "seconds": draft.seconds,
        "findings": [
            {"id": name, **_told(kept, tiles)}
            for name, kept in draft.findings.items()
            if kept.finding is not None
        ],
    }


@router.post("/scans/{number}/edits")
def edited(drafts: GivenDrafts, scan: GivenScan, tiles: GivenTiles, edit: Edit) -> dict[str, Any]:
    """Make an edit; 409 with what stands where it cannot be made on that."""
    if edit.finding is not None:
        _refuse_outside(edit.finding, tiles, scan.case_id)
    try:
        kept = drafts.edit(scan.case_id, edit)
    except ConflictError as error:
        stands = None if error.kept is None else _told(error.kept, tiles)
        raise HTTPException(409, {"code": error.code, "stands": stands}) from error
    return {} if kept is None else _told(kept, tiles)


@router.post("/scans/{number}/hand-in")
def handed_in(
    request: Request, room: GivenRoom, drafts: GivenDrafts, scan: GivenScan
) -> dict[str, bool]:
    """Freeze the reading of a scan, and write what was handed in so far for others.

    ``is_over`` says whether that was the last scan of an exam, which is judged then.
    """
    drafts.hand_in(scan.case_id)
    write_readings(room, drafts)
    return {"is_handed_in": True, "is_over": sat_exam(request, room) is not None}


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
