"""What a person has to do in an annotation project, and the release of finished batches."""

from typing import Annotated

from fastapi import APIRouter, Depends, HTTPException

from nodulebench.core.json_types import JsonObject
from nodulebench.web.viewer.project import ProjectSession
from nodulebench.web.viewer.routes.dependencies import CurrentSession

router = APIRouter()


def _project(session: CurrentSession) -> ProjectSession:
    if not isinstance(session, ProjectSession):
        raise HTTPException(404, "no project is open")
    return session


CurrentProject = Annotated[ProjectSession, Depends(_project)]


@router.get("/work")
def batch_statuses(session: CurrentProject) -> list[JsonObject]:
    """Every batch in which the person has a part: state, progress, time left."""
    return session.batch_statuses()


@router.post("/work/{batch_id}/release")
def release(session: CurrentProject, batch_id: str) -> dict[str, bool]:
    """Release a batch in which no dispute is open."""
    session.release(batch_id)
    return {"is_released": True}
