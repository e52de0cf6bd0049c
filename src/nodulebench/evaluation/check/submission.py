"""A submission -> everything that may be wrong with it, as notices."""

from nodulebench.core.cohort import LabelledCohort
from nodulebench.core.notices import Notice
from nodulebench.core.tables import Reference, Submission
from nodulebench.evaluation.check.coordinates import place_notices
from nodulebench.evaluation.check.rows import cases_without_marks, failed_runs, repeated_marks
from nodulebench.evaluation.check.scores import score_notices


def submission_notices(reference: Reference, submission: Submission) -> tuple[Notice, ...]:
    """What the rows of a submission tell, whatever the reference says is in the cases."""
    return (
        *repeated_marks(submission),
        *cases_without_marks(reference, submission),
        *failed_runs(submission),
    )


def judged_notices(cohort: LabelledCohort) -> tuple[Notice, ...]:
    """What the labels of a submission's marks tell: nothing of it may reach who must not know."""
    return (*score_notices(cohort), *place_notices(cohort))
