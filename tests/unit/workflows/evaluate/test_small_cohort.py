"""A test set that is too small for its intervals says so."""

import pytest

from builders.tables import Case, case, ignored, nodule, protocol, reference
from nodulebench.language import english
from nodulebench.model.protocol import IntervalChoice
from nodulebench.workflows.evaluate.evaluate import evaluate
from nodulebench.workflows.evaluate.small_cohort import small_cohort_notices

RESAMPLED = protocol(interval=IntervalChoice(bootstraps=10))


def cases(count: int, with_nodules: int, **more: object) -> list[Case]:
    return [
        case(f"c{number}", *([nodule(8)] if number < with_nodules else [ignored(8)]), **more)
        for number in range(count)
    ]


def test_a_hundred_cases_with_enough_nodules_need_no_warning() -> None:
    assert small_cohort_notices(reference(*cases(100, 65)), RESAMPLED) == ()


@pytest.mark.parametrize(("count", "with_nodules"), [(99, 99), (100, 64), (300, 10), (1, 0)])
def test_fewer_cases_or_fewer_with_nodules_are_told(count: int, with_nodules: int) -> None:
    (notice,) = small_cohort_notices(reference(*cases(count, with_nodules)), RESAMPLED)
    assert f"{count} patient(s), {with_nodules} with nodules" in english(notice)
    assert "about 92 % hold the truth" in english(notice)


def test_cases_of_one_patient_count_once_where_patients_are_resampled() -> None:
    one_patient = reference(*cases(100, 100, patient_id="p"))
    (notice,) = small_cohort_notices(one_patient, RESAMPLED)
    assert "1 patient(s), 1 with nodules" in english(notice)
    by_case = protocol(interval=IntervalChoice(bootstraps=10, unit="case"))
    assert small_cohort_notices(one_patient, by_case) == ()


def test_without_intervals_there_is_nothing_to_warn_of() -> None:
    small = reference(*cases(5, 5))
    assert small_cohort_notices(small, protocol()) == ()
    jackknife = protocol(interval=IntervalChoice(bootstraps=0, method="jackknife"))
    assert len(small_cohort_notices(small, jackknife)) == 1


def test_the_warning_stands_once_in_the_evaluation() -> None:
    small = reference(*cases(5, 5))
    notices = evaluate(small, [], RESAMPLED).notices
    assert len(notices) == 1
    from dataclasses import replace

    assert evaluate(replace(small, notices=notices), [], RESAMPLED).notices == notices
