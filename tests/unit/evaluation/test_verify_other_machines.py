"""A result that one machine wrote is verified on another, though the last digits differ."""

import subprocess
import sys
from pathlib import Path

import pytest

from builders.machines import older_processor
from nodulebench.evaluation.verify import verify_folder

pytestmark = pytest.mark.slow

PROGRAM = """
import sys
from dataclasses import replace
from pathlib import Path
import numpy as np
import polars as pl
from builders.made_up import Skill, made_up_reference, made_up_submission
from nodulebench.core.protocol import IntervalChoice, RuleChoice, TestProtocol
from nodulebench.evaluation.comparison.compare import ComparisonChoice
from nodulebench.evaluation.comparison.service import compare_folder
from nodulebench.evaluation.evaluate import evaluate
from nodulebench.evaluation.result_folder import write_evaluation

folder, seed, method = Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
truth = made_up_reference(12, 25, seed)
first = replace(made_up_submission(truth, Skill("one", 0.85, 0.5, 1, 1.0), seed), slices=None)
is_left = np.ones(first.marks.height, dtype=bool)
is_left[np.random.default_rng(seed).integers(0, first.marks.height, 2)] = False
second = replace(first, name="two", marks=first.marks.filter(pl.Series(is_left)))
metrics = ("recall", "cpm", "afroc_area", "malignancy_auc", "expected_calibration_error")
protocol = TestProtocol(
    name="small",
    rules=(RuleChoice(name="luna16"),),
    metrics=metrics,
    interval=IntervalChoice(bootstraps=400, method=method),
)
write_evaluation(evaluate(truth, [first, second], protocol), folder)
paired = "guarded" if method == "guarded" else "percentile"
compare_folder(folder, ComparisonChoice("one", metrics, bootstraps=400, method=paired))
"""


@pytest.mark.parametrize("seed", [3, 9])
@pytest.mark.parametrize("method", ["guarded", "bca"])
def test_a_result_of_an_older_processor_is_verified_here(
    tmp_path: Path, seed: int, method: str
) -> None:
    command = [sys.executable, "-c", PROGRAM, str(tmp_path / "there"), str(seed), method]
    subprocess.run(command, env=older_processor(), check=True)

    verification = verify_folder(tmp_path / "there")

    assert verification.problems == ()
    assert [str(difference) for difference in verification.differences] == []
    assert verification.from_folder is not None
    assert verification.from_folder.values > 100
