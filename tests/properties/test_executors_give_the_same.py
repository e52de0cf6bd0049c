"""Executors give the same numbers to the last bit; ``python -m benchmarks executors`` tries all."""

import json
from collections.abc import Iterator

import pytest

pytest.importorskip("distributed")

from builders.made_up import SKILLS, made_up_protocol, made_up_reference, made_up_submission
from nodulebench.core.documents.evaluation import evaluation_document
from nodulebench.core.documents.records import as_json
from nodulebench.core.executor import IN_PROCESS, Executor, ExecutorChoice, open_executor
from nodulebench.evaluation.evaluate import evaluate


@pytest.fixture(scope="module")
def executors() -> Iterator[dict[str, Executor]]:
    with (
        open_executor(ExecutorChoice(), 3) as local,
        open_executor(ExecutorChoice("dask"), 2) as dask,
    ):
        yield {"local 3": local, "dask 2": dask}


def study(executor: Executor) -> tuple[str, list[bytes]]:
    """Everything that is told of a study, and the points of its curves."""
    reference = made_up_reference(24, 30, 7)
    submission = made_up_submission(reference, SKILLS[0], 7)
    few = made_up_protocol().interval.model_copy(update={"bootstraps": 50})
    protocol = made_up_protocol().model_copy(update={"interval": few})
    evaluation = evaluate(reference, [submission], protocol, executor=executor)
    rules = [rule for algorithm in evaluation.algorithms for rule in algorithm.rules.values()]
    curves = [curve.x.tobytes() + curve.y.tobytes() for rule in rules for curve in rule.curves]
    return json.dumps(as_json(evaluation_document(evaluation))), curves


def test_evaluations_are_the_same(executors: dict[str, Executor]) -> None:
    once = study(IN_PROCESS)
    assert len(once[1]) > 5
    for name, executor in executors.items():
        assert study(executor) == once, name
