"""What says that a submission is probably not what was meant is seen at once, not opened."""

from dataclasses import replace

import pytest

from builders.evaluation import algorithm_result, curves_of, evaluation
from nodulebench.core.documents.evaluation import evaluation_document
from nodulebench.core.notices import Notice
from nodulebench.report.html import render_html

OPEN = '<details class="notices" open>'


def page(notice: Notice, audience: str = "lab") -> str:
    evaluated = evaluation(replace(algorithm_result("One", (90, 66)), notices=(notice,)))
    return render_html(evaluation_document(evaluated), curves_of(evaluated), audience=audience)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("notice", "is_open"),
    [
        (Notice("would_be_hit", {"hits": 9, "nodules": 9, "given": 0, "slip": "ras"}), True),
        (Notice("scores_inverted", {"share": 0.1}), True),
        (Notice("marks_repeated", {"marks": 3, "cases": 2}), True),
        (Notice("cases_without_marks", {"count": 51, "cases": 100}), True),
        (Notice("cases_without_marks", {"count": 50, "cases": 100}), False),
        (Notice("headers_dropped", {"count": 3}), False),
    ],
)
def test_doubts_are_open_and_other_notices_are_not(notice: Notice, is_open: bool) -> None:
    assert (OPEN in page(notice)) == is_open
    assert '<details class="notices"' in page(notice)


def test_a_developers_copy_shows_no_doubt_that_needs_the_reference() -> None:
    slip = Notice("would_be_hit", {"hits": 7531, "nodules": 7532, "given": 0, "slip": "ras"})
    html = page(slip, "developer")
    assert OPEN not in html
    assert "7,531" not in html
    assert "mirrored" not in html
