"""Evaluation -> the dictionary that evaluation.json holds, ready for strict JSON."""

from typing import Any

from nodulebench.model.as_json import as_json
from nodulebench.model.document import evaluation_document as _document
from nodulebench.model.results import Evaluation

plain = as_json


def evaluation_document(evaluation: Evaluation) -> dict[str, Any]:
    """Everything that an evaluation found, with nothing but JSON's own types in it."""
    return _document(evaluation).to_json()
