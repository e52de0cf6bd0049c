"""The nodules and marks of an evaluation in a scan, and the list of its errors."""

from typing import Annotated

from fastapi import APIRouter, Depends, HTTPException, Query
from pydantic import FiniteFloat

from nodulebench.core.config_model import ConfigModel
from nodulebench.core.json_types import JsonObject
from nodulebench.web.viewer.evaluation import EvaluationLayer
from nodulebench.web.viewer.routes.dependencies import CurrentScan, CurrentSession, CurrentTiles

router = APIRouter()


def _evaluation(session: CurrentSession) -> EvaluationLayer:
    evaluation = session.evaluation()
    if evaluation is None:
        raise HTTPException(404, "no evaluation is open")
    return evaluation


CurrentEvaluation = Annotated[EvaluationLayer, Depends(_evaluation)]


class Choice(ConfigModel):
    """The rule, the algorithm and the threshold that are shown."""

    rule: str
    algorithm: str
    threshold: FiniteFloat | None = None
    """The lowest score that counts; None: the operating point."""


def _choice(evaluation: CurrentEvaluation, choice: Annotated[Choice, Query()]) -> Choice:
    if evaluation.cohort(choice.rule, choice.algorithm) is None:
        raise HTTPException(404, "no such rule or algorithm")
    return choice


CurrentChoice = Annotated[Choice, Depends(_choice)]


@router.get("/evaluation")
def choices(evaluation: CurrentEvaluation) -> dict[str, JsonObject]:
    """For each rule its algorithms, each with thresholds to choose from."""
    return {
        rule: {name: evaluation.points(rule, name) for name in names}
        for rule, names in evaluation.choices().items()
    }


@router.get("/evaluation/errors")
def errors(evaluation: CurrentEvaluation, choice: CurrentChoice) -> JsonObject:
    """Every miss and false positive, case by case, and how many there are."""
    return evaluation.summary(choice.rule, choice.algorithm, choice.threshold)


@router.get("/scans/{number}/evaluation")
def case_findings(
    evaluation: CurrentEvaluation, scan: CurrentScan, tiles: CurrentTiles, choice: CurrentChoice
) -> list[JsonObject]:
    """Nodules and marks of a scan with their labels."""
    return evaluation.case_findings(
        scan.case_id, choice.rule, choice.algorithm, tiles, choice.threshold
    )
