"""A small evaluation on the disk, with everything that verify recomputes in it."""

from datetime import UTC, datetime
from pathlib import Path

from builders.made_up import Skill, made_up_reference, made_up_submission
from nodulebench.core.plans import AcceptanceCriteria, Criterion
from nodulebench.core.protocol import IntervalChoice, RuleChoice, SizeLimit, TestProtocol
from nodulebench.evaluation.comparison.compare import ComparisonChoice
from nodulebench.evaluation.comparison.service import compare_folder
from nodulebench.evaluation.evaluate import evaluate
from nodulebench.evaluation.plans import evaluated_under, freeze_plan
from nodulebench.evaluation.result_folder import write_evaluation

PROTOCOL = TestProtocol(
    name="small",
    rules=(RuleChoice(name="center_hit"), RuleChoice(name="luna16", parameters={})),
    metrics=("recall", "precision", "f_beta", "cpm", "density_accuracy", "malignancy_auc"),
    strata=("type", "size"),
    interval=IntervalChoice(bootstraps=10, others=("wilson",)),
    size_limit=SizeLimit(minimum_mm=4, sweep_mm=(0.0, 1.0, float("inf"))),
)


SKILLS = (Skill("one", 0.9, 0.5, 1.0, 2.0), Skill("two", 0.6, 1.5, 0.8, 3.0))


def write_small_evaluation(folder: Path, *, bootstraps: int = 10, method: str = "guarded") -> None:
    """Two algorithms under two rules, with strata, sweeps, flips, a plan and a comparison.

    ``method`` is how intervals are made.
    """
    truth = made_up_reference(8, 30, 3)
    interval = PROTOCOL.interval.model_copy(update={"bootstraps": bootstraps, "method": method})
    chosen = PROTOCOL.model_copy(update={"interval": interval})
    criterion = Criterion(metric="recall", rule="luna16", comparison=">=", limit=0.25)
    stated = AcceptanceCriteria(name="acceptance", author="lab", criteria=(criterion,))
    plan = freeze_plan(stated, truth, chosen, at=datetime(2026, 5, 4, tzinfo=UTC))
    submissions = [made_up_submission(truth, skill, 3) for skill in SKILLS]
    evaluation = evaluate(truth, submissions, chosen)
    write_evaluation(evaluated_under(plan, evaluation), folder)
    choice = ComparisonChoice(
        "one",
        ("recall", "cpm"),
        margin=0.05,
        bootstraps=bootstraps,
        permutations=bootstraps,
    )
    compare_folder(folder, choice)
