"""What an evaluation says of a scan, and the list of its errors."""

from typing import Annotated

from fastapi import APIRouter, Depends, HTTPException, Query
from pydantic import FiniteFloat

from nodulebench.core.config_model import ConfigModel
from nodulebench.core.json_types import JsonObject
from nodulebench.web.viewer.evaluation import EvaluationLayer
from nodulebench.web.viewer.routes.dependencies import GivenRoom, GivenScan, GivenTiles

router = APIRouter()


def _judged(room: GivenRoom) -> EvaluationLayer:
    judged = room.judged()
    if judged is None:
        raise HTTPException(404, "no evaluation is open")
    return judged


GivenJudged = Annotated[EvaluationLayer, Depends(_judged)]


class Chosen(ConfigModel):
    """How it shall be judged."""

    rule: str
    algorithm: str
    threshold: FiniteFloat | None = None
    """The lowest score that counts; None: the operating point."""


def _chosen(judged: GivenJudged, chosen: Annotated[Chosen, Query()]) -> Chosen:
    if judged.cohort(chosen.rule, chosen.algorithm) is None:
        raise HTTPException(404, "no such rule or algorithm")
    return chosen


GivenChoice = Annotated[Chosen, Depends(_chosen)]


@router.get("/evaluation")
def choices(judged: GivenJudged) -> dict[str, JsonObject]:
    """For each rule the algorithms that it judged, and thresholds to choose from."""
    return {
        rule: {name: judged.points(rule, name) for name in names}
        for rule, names in judged.choices().items()
    }


@router.get("/evaluation/errors")
def errors(judged: GivenJudged, chosen: GivenChoice) -> JsonObject:
    """Every miss and false positive, case by case, and how many there are."""
    return judged.stands(chosen.rule, chosen.algorithm, chosen.threshold)


@router.get("/scans/{number}/evaluation")
def shown(
    judged: GivenJudged, scan: GivenScan, tiles: GivenTiles, chosen: GivenChoice
) -> list[JsonObject]:
    """Nodules and marks of a scan with their labels."""
    return judged.shown(scan.case_id, chosen.rule, chosen.algorithm, tiles, chosen.threshold)
