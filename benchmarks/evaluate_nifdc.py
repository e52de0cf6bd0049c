"""A NIFDC-size run: 10 algorithms, 593 cases, 6,109 nodules, 3 rules, 2,000 bootstraps."""

import time

from builders.made_up import Skill, made_up_reference, made_up_submission
from nodulebench.core.protocol import TestProtocol, load_protocol
from nodulebench.core.tables import Reference, Submission
from nodulebench.evaluation.evaluate import evaluate


def study() -> tuple[Reference, list[Submission], TestProtocol]:
    """The reference, the submissions and the protocol."""
    reference = made_up_reference(593, 6109, seed=0)
    submissions = [
        made_up_submission(reference, Skill(f"algorithm {n}", 0.6 + 0.03 * n, 0.8, 1.0, 9 + n), 0)
        for n in range(10)
    ]
    protocol = load_protocol("nifdc-2022").model_copy(
        update={"strata": ("type", "size", "density", "vendor", "thickness_mm", "sex")}
    )
    return reference, submissions, protocol


def main() -> None:
    """Print wall and CPU seconds of the whole evaluation."""
    reference, submissions, protocol = study()
    wall, cpu = time.perf_counter(), time.process_time()
    evaluation = evaluate(reference, submissions, protocol)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    print(
        f"{len(evaluation.algorithms)} algorithms x {len(protocol.rules)} rules, "
        f"{sum(submission.marks.height for submission in submissions)} marks, "
        f"{protocol.interval.bootstraps} bootstraps: {wall:.1f} s wall, {cpu:.1f} s CPU"
    )
