"""Tables made in memory -> the same, held to the schemas that files are held to."""

from dataclasses import replace

from nodulebench.core.tables import CASES, MARKS, NODULES, Reference, Submission


def checked_reference(reference: Reference) -> Reference:
    """The test set, if its tables are what their schemas say.

    Raises:
        InputError: with every problem of its cases and nodules.
    """
    cases, nodules = reference.cases, reference.nodules
    source = f"reference '{reference.name}'"
    if not CASES.is_sound(cases) or cases["case_id"].is_duplicated().any():
        reference = replace(reference, cases=CASES.conform(cases, f"{source} cases"))
    if not NODULES.is_sound(nodules):
        reference = replace(reference, nodules=NODULES.conform(nodules, f"{source} nodules"))
    return reference


def checked_submission(submission: Submission) -> Submission:
    """The submission, if its marks are what their schema says.

    Whoever reads a file has looked at its rows, so only marks made in memory are looked through
    for the same mark twice.

    Raises:
        InputError: with every problem of its marks.
    """
    if submission.digest and MARKS.is_sound(submission.marks):
        return submission
    marks = MARKS.conform(submission.marks, f"submission '{submission.name}' marks")
    return replace(submission, marks=marks)
