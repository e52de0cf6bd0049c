"""A developer under a name that looks like an earlier one gets no further look at a sealed set."""

from pathlib import Path

import pytest

from builders.people import person_key
from builders.sealed import POLICY, SealedLab, make_lab
from nodulebench.core.errors import InputError
from nodulebench.custody.evaluate import SealedEvaluateOptions, evaluate_sealed
from nodulebench.custody.verify import read_audit

pytest.importorskip("cryptography")


def ask(lab: SealedLab, marks: str, developer: str) -> int:
    path = lab.marks(marks, "scan0", marks)
    order = SealedEvaluateOptions(path, lab.sealed, person_key("Bo"), developer, bootstraps=0)
    return int(evaluate_sealed(order)[0]["budget"]["used"])


@pytest.mark.parametrize(
    "name",
    ["Exa\u034fmple", "Example\ufe0f", "\u3164Example", "\uff25xample", "Exam\u200fple", "ExampIe"],
)
def test_a_name_that_is_similar_gets_no_further_evaluation(tmp_path: Path, name: str) -> None:
    lab = make_lab(tmp_path)
    lab.seal()
    assert ask(lab, "first.csv", "Example") == 1
    assert ask(lab, "two.csv", name) == 2
    with pytest.raises(InputError, match="has used 2 of 2 evaluations"):
        ask(lab, "three.csv", "Example")
    assert [use.developer for use in read_audit(lab.sealed).uses] == ["example"]


def test_a_name_that_mixes_scripts_gets_none_and_a_policy_can_list_names(tmp_path: Path) -> None:
    lab = make_lab(tmp_path, f'{POLICY}developers = ["Example Ltd"]\n')
    lab.seal()
    with pytest.raises(InputError, match="is written in letters of cyrillic and latin"):
        ask(lab, "first.csv", "Ex\u0430mple Ltd")
    with pytest.raises(
        InputError, match="developer 'example': is not among the developers in the policy"
    ):
        ask(lab, "first.csv", "Example")
    assert read_audit(lab.sealed).events[-1].step == "refused"
    assert ask(lab, "first.csv", "example LTD") == 1
