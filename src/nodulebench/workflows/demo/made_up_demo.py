"""A made-up test set and three made-up algorithms -> the whole journey in one command."""

from pathlib import Path

from nodulebench.model.protocol import TestProtocol
from nodulebench.model.results import Evaluation
from nodulebench.protocols import load_protocol
from nodulebench.workflows.demo.made_up import Skill, made_up_reference, made_up_submission
from nodulebench.workflows.evaluate.evaluate import evaluate
from nodulebench.workflows.evaluate.files import write_evaluation

SKILLS = (
    Skill("careful", detection=0.82, shift_mm=0.7, box_scale=1.0, fp_per_case=3.0),
    Skill("eager", detection=0.90, shift_mm=1.1, box_scale=1.25, fp_per_case=9.0),
    Skill("small boxes", detection=0.80, shift_mm=0.6, box_scale=0.74, fp_per_case=4.0),
)


def demo_protocol() -> TestProtocol:
    """The NIFDC protocol with three rules, and a FROC beside them because marks have scores."""
    published = load_protocol("nifdc-2022")
    return published.model_copy(
        update={
            "name": "demo",
            "title": "Three made-up algorithms under three rules, and their FROC",
            "figures": (*published.figures, "sensitivity_at_fp_rate", "cpm", "wafroc1_area"),
            "strata": ("type", "size", "vendor"),
        }
    )


def run_demo(out: Path, *, cases: int = 120, nodules: int = 700, seed: int = 1) -> Evaluation:
    """Make the test set, let the algorithms read it, judge them, and write the report."""
    reference = made_up_reference(cases, nodules, seed)
    submissions = [made_up_submission(reference, skill, seed) for skill in SKILLS]
    evaluation = evaluate(reference, submissions, demo_protocol())
    write_evaluation(evaluation, out)
    return evaluation
