"""Hits with lower scores than false positives are asked about; chance is not."""

import pytest

from builders.tables import case, cohort, false_mark, mark, nodule
from nodulebench.evaluation.check import scored_notices
from nodulebench.i18n.translator import in_english


def notices_of(hit: float | None, other: float | None, count: int = 10) -> tuple:
    return scored_notices(
        cohort(
            *(
                case(f"c{number}", nodule(8), mark(hit), mark(other, (500, 0, 0)))
                for number in range(count)
            )
        )
    )


def test_inverted_scores_are_asked_about() -> None:
    (notice,) = notices_of(0.1, 0.9)
    assert in_english(notice) == (
        "Hits have lower scores than false positives: the hit has the higher score in only 0% of "
        "pairs. A high score must mean a nodule. If a low score means a nodule here, invert the "
        "scores."
    )


@pytest.mark.parametrize(("hit", "other"), [(0.9, 0.1), (0.5, 0.5), (None, None)])
def test_scores_that_are_right_equal_or_absent_are_not(
    hit: float | None, other: float | None
) -> None:
    assert notices_of(hit, other) == ()


def test_a_few_marks_are_chance() -> None:
    assert notices_of(0.1, 0.9, count=9) == ()


def test_the_share_of_pairs_is_counted_with_ties_as_halves() -> None:
    # hits 0..9 / 10; false positives 0.85 and 0.3 five times each
    cases = [case(f"c{number}", nodule(8), mark(number / 10)) for number in range(10)]
    cases += [case(f"f{number}", false_mark(0.85 if number < 7 else 0.3)) for number in range(10)]
    hits, others = [n / 10 for n in range(10)], [0.85] * 7 + [0.3] * 3
    share = sum((h > o) + (h == o) / 2 for h in hits for o in others) / 100
    (notice,) = scored_notices(cohort(*cases))
    assert notice.values["share"] == pytest.approx(share)
