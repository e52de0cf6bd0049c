"""A small evaluation as it lies on the disk, with everything that verify recomputes in it."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from builders.made_up import Skill, made_up_reference, made_up_submission
from nodulebench.language import english
from nodulebench.model.notice import is_notice
from nodulebench.model.plan import AcceptanceCriteria, Criterion
from nodulebench.model.protocol import IntervalChoice, RuleChoice, SizeLimit, TestProtocol
from nodulebench.storage.manifest import write_manifest
from nodulebench.workflows.compare.compare import ComparisonChoice
from nodulebench.workflows.compare.files import compare_folder
from nodulebench.workflows.evaluate.evaluate import evaluate
from nodulebench.workflows.evaluate.result_folder import write_evaluation
from nodulebench.workflows.plan.freeze import freeze_plan
from nodulebench.workflows.plan.judge import evaluated_under
from nodulebench.workflows.verify.older import without_sound

PROTOCOL = TestProtocol(
    name="small",
    rules=(RuleChoice(name="center_hit"), RuleChoice(name="luna16", parameters={})),
    figures=("recall", "precision", "f_beta", "cpm", "density_accuracy", "malignancy_auc"),
    strata=("type", "size"),
    interval=IntervalChoice(bootstraps=10, others=("wilson",)),
    size_limit=SizeLimit(minimum_mm=4, sweep_mm=(0.0, 1.0, float("inf"))),
)


SMALL_TEST_SET = (
    "The test set is small for its intervals: 8 patient(s), 8 with nodules. With fewer than 100 "
    "(65 with nodules) intervals are a little too short: of those at 95 %, about 92 % hold the "
    "truth."
)
"""What version 0.1 said of every small test set."""

SKILLS = (Skill("one", 0.9, 0.5, 1.0, 2.0), Skill("two", 0.6, 1.5, 0.8, 3.0))


def write_small_evaluation(folder: Path, *, bootstraps: int = 10, method: str = "guarded") -> None:
    """Two algorithms under two rules, with strata, sweeps, flips, a plan and a comparison.

    With a classical ``method`` it is done as version 0.1 did it.
    """
    truth = made_up_reference(8, 30, 3)
    interval = PROTOCOL.interval.model_copy(update={"bootstraps": bootstraps, "method": method})
    chosen = PROTOCOL.model_copy(update={"interval": interval})
    criterion = Criterion(figure="recall", rule="luna16", comparison=">=", limit=0.25)
    stated = AcceptanceCriteria(name="acceptance", author="lab", criteria=(criterion,))
    plan = freeze_plan(stated, truth, chosen, at=datetime(2026, 5, 4, tzinfo=UTC))
    said = [made_up_submission(truth, skill, 3) for skill in SKILLS]
    found, is_older = evaluate(truth, said, chosen), method != "guarded"
    found = without_sound(found) if is_older else found
    write_evaluation(evaluated_under(plan, found, is_refined=not is_older), folder)
    choice = ComparisonChoice(
        "one",
        ("recall", "cpm"),
        margin=0.05,
        bootstraps=bootstraps,
        permutations=bootstraps,
        method="percentile" if is_older else "guarded",
    )
    compare_folder(folder, choice)


def write_as_version_01(folder: Path) -> None:
    """Put the folder's documents as version 0.1 wrote them.

    Sentences, "" for no reason, and a word on small test sets.
    """
    for name in ("evaluation.json", "comparison.json"):
        path = folder / name
        content = _as_version_01(json.loads(path.read_text(encoding="utf-8")))
        if name == "evaluation.json":
            content["notices"].append(SMALL_TEST_SET)
        path.write_text(json.dumps(content, ensure_ascii=False), encoding="utf-8")
    for name in ("misses.csv", "false_positives.csv"):  # it listed no errors
        (folder / name).unlink()
    write_manifest(folder)


def _as_version_01(value: Any, key: str = "") -> Any:
    if is_notice(value):
        return english(value)
    if isinstance(value, dict):
        return {
            name: _as_version_01(one, name) for name, one in value.items() if name != "missed_alone"
        }
    if isinstance(value, list):
        return [_as_version_01(one) for one in value]
    if key == "version":
        return "0.1.0"
    return "" if key == "reason" and value is None else value
