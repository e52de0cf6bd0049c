"""evaluation.json -> whether it holds what must be there before anything is recomputed from it."""

from typing import Annotated, Any

from pydantic import BaseModel, Field

from nodulebench.model.written import checked

MOST_RESAMPLES = 1_000_000
"""A document that asks for more is refused: recomputing it would take for ever."""


class _Algorithm(BaseModel):
    """What an algorithm's part of evaluation.json must hold to be recomputed."""

    name: str
    digest: str
    facts: dict[str, Any]
    notices: list[str]
    rules: dict[str, dict[str, Any]]


class _Comparison(BaseModel):
    """What a comparison must hold to be recomputed."""

    baseline: str
    figures: list[str]
    margin: float | None
    bootstraps: Annotated[int, Field(ge=0, le=MOST_RESAMPLES)]
    permutations: Annotated[int, Field(ge=0, le=MOST_RESAMPLES)]


class _Interval(BaseModel):
    """How often was resampled."""

    bootstraps: Annotated[int, Field(le=MOST_RESAMPLES)]


class _Protocol(BaseModel):
    """The protocol itself is checked when it is read."""

    interval: _Interval


class _Reference(BaseModel):
    """What is said of the test set."""

    name: str


class _Document(BaseModel):
    """What evaluation.json must hold to be recomputed."""

    version: str
    digests: dict[str, str]
    protocol: _Protocol
    reference: _Reference
    notices: list[str]
    algorithms: list[_Algorithm]
    comparisons: list[_Comparison]


def check_shape(document: dict[str, Any], source: str) -> None:
    """Refuse a document that lacks what its readers rely on.

    Raises:
        InputError: with one problem per wrong field.
    """
    checked(_Document, document, source)
