"""The whole course of a test as one metric."""

from typing import get_args

import pytest

from builders.evaluation import algorithm_result, evaluation
from builders.report import group_document, plan
from nodulebench.core.documents.evaluation import evaluation_document
from nodulebench.core.documents.records import Verdict
from nodulebench.i18n.translator import LanguageName, translator
from nodulebench.report.methods import course_chart


@pytest.mark.parametrize("name", ["en", "zh"])
def test_every_step_is_drawn_with_its_facts(name: LanguageName) -> None:
    document = evaluation_document(evaluation(algorithm_result("Alpha", (90, 66))))
    drawn = str(course_chart(document, translator(name)).svg)
    assert drawn.count('class="box"') >= 6
    assert document.reference.name in drawn
    assert str(document.reference.cases) in drawn
    assert document.digests["reference"].removeprefix("sha256:")[:12] in drawn


def test_steps_are_in_the_order_of_the_work() -> None:
    document = evaluation_document(evaluation(algorithm_result("Alpha", (90, 66))))
    drawn = str(course_chart(document, translator()).svg)
    named = ("Design", "Collection", "Cleaning", "Annotation", "Release", "Test")
    places = [drawn.index(f"{name}:") for name in named]
    assert places == sorted(places)


@pytest.mark.parametrize("verdict", get_args(Verdict))
@pytest.mark.parametrize("name", ["en", "zh"])
def test_the_verdict_is_in_the_language_of_the_report(name: LanguageName, verdict: str) -> None:
    translate, document = translator(name), group_document(plan=plan(verdict))
    drawn = str(course_chart(document, translate).svg)
    assert translate(f"verdict.{verdict}") in drawn
    assert (verdict in drawn) == (translate(f"verdict.{verdict}") == verdict)
