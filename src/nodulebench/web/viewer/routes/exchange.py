"""A reader's own findings of a scan as a file, and a file as findings that can be put there."""

from typing import Annotated, Any, Literal
from urllib.parse import quote

from fastapi import APIRouter, Depends, HTTPException, Request, Response

from nodulebench.core.errors import InputError
from nodulebench.web.viewer.exchange import taken, written
from nodulebench.web.viewer.measured import measured
from nodulebench.web.viewer.routes.dependencies import GivenDrafts, GivenRoom, GivenTiles

router = APIRouter()
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
) -> dict[str, list[dict[str, Any]]]:
    """The findings that a file holds; nothing of them is kept."""
    if room.is_closed(number) or drafts.of(room.draft_key(number)).is_handed_in:
        raise HTTPException(409, {"code": "handed_in", "stands": None})
    found = taken(name, content, room.title(number), tiles)
    return {
        "findings": [
            {"finding": one.model_dump(mode="json"), "measured": measured(one, tiles)}
            for one in found
        ]
    }
