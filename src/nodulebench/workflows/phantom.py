"""Number and seed -> a test set of synthetic chest CT on disk, whose nodules are known exactly."""

from collections.abc import Sequence
from pathlib import Path

from nodulebench.model.progress import Progress, untold
from nodulebench.model.tables import Reference
from nodulebench.phantom.patient import People
from nodulebench.phantom.test_set import ScanPlan, make_cases, write_test_set


def make_phantoms(
    out: Path,
    cases: int,
    seed: int,
    *,
    people: People,
    matrix: int,
    thickness: float | None,
    kernel: str | None,
    dose: float | None,
    has_follow_up: bool,
    image_formats: Sequence[str],
    has_masks: bool,
    progress: Progress = untold,
) -> Reference:
    """Write the scans of synthetic patients and what is known of them; return that."""
    plan = ScanPlan(thickness, kernel, dose)
    made = make_cases(
        cases, seed, matrix=matrix, has_follow_up=has_follow_up, scan_plan=plan, people=people
    )
    return write_test_set(
        out, made, image_formats=image_formats, has_masks=has_masks, progress=progress
    )
