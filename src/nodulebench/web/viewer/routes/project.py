"""What a person has to do in an annotation project, and the release of what is done."""

from typing import Annotated

from fastapi import APIRouter, Depends, HTTPException

from nodulebench.core.json_types import JsonObject
from nodulebench.web.viewer.project import ProjectSession
from nodulebench.web.viewer.routes.dependencies import GivenRoom

router = APIRouter()


def _work(room: GivenRoom) -> ProjectSession:
    if not isinstance(room, ProjectSession):
        raise HTTPException(404, "no project is open")
    return room


GivenWork = Annotated[ProjectSession, Depends(_work)]


@router.get("/work")
def work(room: GivenWork) -> list[JsonObject]:
    """Every batch in which the person has a part: its state, how much is done, time left."""
    return room.stands()


@router.post("/work/{batch_id}/release")
def released(room: GivenWork, batch_id: str) -> dict[str, bool]:
    """Release a batch in which no dispute is open."""
    room.release(batch_id)
    return {"is_released": True}
