"""What an evaluation says of a scan, and the list of its errors."""

from typing import Annotated, Any

from fastapi import APIRouter, Depends, HTTPException, Request

from nodulebench.workbench.judged import Judged
from nodulebench.workbench.routes.given import GivenRoom, GivenScan, GivenTiles, sat_exam

router = APIRouter()


def _judged(request: Request, room: GivenRoom) -> Judged:
    sat = sat_exam(request, room)
    judged: Judged | None = request.app.state.judged if sat is None else sat.judged
    if judged is None:
        raise HTTPException(404, "no evaluation is open")
    return judged


GivenJudged = Annotated[Judged, Depends(_judged)]


def _refuse_unknown(judged: Judged, rule: str, algorithm: str) -> None:
    if judged.cohort(rule, algorithm) is None:
        raise HTTPException(404, "no such rule or algorithm")


@router.get("/judged")
def choices(judged: GivenJudged) -> dict[str, list[str]]:
    """For each rule the algorithms that it judged."""
    return judged.choices()


@router.get("/judged/errors")
def errors(judged: GivenJudged, rule: str, algorithm: str) -> list[dict[str, str | bool]]:
    """Every miss and false positive, case by case."""
    _refuse_unknown(judged, rule, algorithm)
    return judged.errors(rule, algorithm)


@router.get("/scans/{number}/judged")
def shown(
    judged: GivenJudged, scan: GivenScan, tiles: GivenTiles, rule: str, algorithm: str
) -> list[dict[str, Any]]:
    """Nodules and marks of a scan with their labels."""
    _refuse_unknown(judged, rule, algorithm)
    return judged.shown(scan.case_id, rule, algorithm, tiles)
