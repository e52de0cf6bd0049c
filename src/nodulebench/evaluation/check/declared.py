"""What an algorithm declares of itself -> a word on what it does to the numbers."""

from nodulebench.core.notices import Notice
from nodulebench.core.protocol import TestProtocol
from nodulebench.core.tables import Submission


def threshold_notices(submission: Submission, protocol: TestProtocol) -> tuple[Notice, ...]:
    """Say where figures of one point are read, or what takes a declared threshold's place."""
    declared = submission.threshold
    if declared is None:
        return ()
    if protocol.operating_point is not None:
        values = {"declared": declared, "rate": protocol.operating_point}
        return (Notice("threshold_not_used", values),)
    if protocol.score_threshold is not None:
        values = {"declared": declared, "threshold": protocol.score_threshold}
        return (Notice("threshold_overridden", values),)
    if submission.marks["score"].null_count():
        return (Notice("threshold_without_scores", {"declared": declared}),)
    return (Notice("threshold_declared", {"declared": declared}),)
