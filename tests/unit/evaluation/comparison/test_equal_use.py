"""Algorithms are compared within equal intended use; across uses nothing is tested."""

from dataclasses import replace
from pathlib import Path

import pytest

from builders.made_up import Skill, made_up_reference, made_up_submission
from nodulebench.core.errors import InputError
from nodulebench.core.protocol import load_protocol
from nodulebench.core.results import Evaluation
from nodulebench.evaluation.comparison.compare import ComparisonChoice, compare_algorithms
from nodulebench.evaluation.comparison.service import comparison_document, recompute_comparisons
from nodulebench.evaluation.evaluate import evaluate
from nodulebench.evaluation.recompute import Evaluated, evaluated_of
from nodulebench.evaluation.service import with_options
from nodulebench.i18n.translator import in_english

FOUR = ("solid", "part_solid", "pure_ground_glass", "calcified")
USES = {
    "a": ("", None),
    "b": ("", None),
    "c": ("Screening of smokers", None),
    "d": ("screening  of SMOKERS", None),
    "e": ("", FOUR),
}
CHOICE = ComparisonChoice("a", ("recall",), None, 30, 0)


@pytest.fixture(scope="module")
def evaluated() -> Evaluated:
    return evaluated_of(_evaluation(dict(USES)))


def _evaluation(uses: dict[str, tuple[str, tuple[str, ...] | None]]) -> Evaluation:
    reference = made_up_reference(30, 120, seed=5)
    submissions = []
    for number, (name, (use, types)) in enumerate(uses.items()):
        submitted = made_up_submission(
            reference, Skill(name, 0.6 + 0.05 * number, 0.4, 1.0, 3.0), 3
        )
        facts = {"intended_use": use} if use else {}
        submissions.append(replace(submitted, facts=facts, intended_types=types))
    return evaluate(reference, submissions, with_options(load_protocol("nifdc-2022"), bootstraps=0))


def test_only_those_of_the_baselines_use_are_compared_and_ranked(evaluated: Evaluated) -> None:
    comparison = compare_algorithms(evaluated.cohorts, evaluated.protocol, CHOICE)
    assert {difference.algorithm for difference in comparison.differences} == {"b"}
    assert {difference.algorithm for difference in comparison.detection} == {"b"}
    ranked = {line.name for ranking in comparison.rankings.values() for line in ranking.lines}
    assert ranked == {"a", "b"}
    assert comparison.effects is not None
    assert comparison.effects.algorithms == ("a", "b", "c", "d", "e")


def test_groups_are_listed(evaluated: Evaluated) -> None:
    comparison = compare_algorithms(evaluated.cohorts, evaluated.protocol, CHOICE)
    assert [group.algorithms for group in comparison.groups] == [("a", "b"), ("c", "d"), ("e",)]
    assert comparison.groups[1].use == "Screening of smokers"
    assert set(comparison.groups[2].types) == set(FOUR)
    assert "3 of another use (c, d, e) are listed without tests" in in_english(
        comparison.notices[0]
    )


def test_the_numbers_are_those_of_a_comparison_without_the_others(evaluated: Evaluated) -> None:
    comparison = compare_algorithms(evaluated.cohorts, evaluated.protocol, CHOICE)
    baseline_use = evaluated_of(_evaluation({name: USES[name] for name in ("a", "b")}))
    wanted = compare_algorithms(baseline_use.cohorts, baseline_use.protocol, CHOICE)
    assert comparison.differences == wanted.differences
    assert comparison.detection == wanted.detection
    assert wanted.groups == ()
    assert wanted.notices == comparison.notices[1:]


def test_words_and_spaces_make_no_other_use_but_types_do(evaluated: Evaluated) -> None:
    choice = replace(CHOICE, baseline="d")
    comparison = compare_algorithms(evaluated.cohorts, evaluated.protocol, choice)
    assert {difference.algorithm for difference in comparison.differences} == {"c"}


def test_the_only_algorithm_of_a_use_cannot_be_compared(evaluated: Evaluated) -> None:
    with pytest.raises(InputError, match="'e' is the only algorithm of its intended use"):
        compare_algorithms(evaluated.cohorts, evaluated.protocol, replace(CHOICE, baseline="e"))


def test_a_comparison_is_recomputed_as_it_was_made(evaluated: Evaluated) -> None:
    for is_within_use in (True, False):
        choice = replace(CHOICE, is_within_use=is_within_use)
        comparison = compare_algorithms(evaluated.cohorts, evaluated.protocol, choice)
        written = comparison_document(comparison, evaluated)
        assert ("groups" in written.to_json()) == is_within_use
        document = evaluated.document.with_comparison(written)
        (again,) = recompute_comparisons(replace(evaluated, document=document))
        assert again == written
    assert {difference.algorithm for difference in comparison.differences} == {"b", "c", "d", "e"}


def test_use_is_in_the_manifest(tmp_path: Path) -> None:
    from nodulebench.io.marks.submission_folder import read_marks, write_marks

    reference = made_up_reference(5, 10, seed=5)
    submitted = made_up_submission(reference, Skill("x", 0.6, 0.4, 1.0, 3.0), 3)
    write_marks(replace(submitted, facts={"intended_use": "Screening"}), tmp_path / "x")
    assert read_marks(tmp_path / "x").facts["intended_use"] == "Screening"
