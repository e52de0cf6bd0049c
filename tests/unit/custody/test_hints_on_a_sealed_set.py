"""Hints about errors in a submission disclose nothing of the sealed set: an attacker's view.

Two sealed sets that differ in what is secret must answer the same submission in the same words;
what the laboratory keeps for itself has the hints.
"""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from builders.people import person_key
from builders.sealed import HEADER, POLICY, SealedLab, make_lab
from nodulebench.core.errors import InputError
from nodulebench.core.tables import CASES
from nodulebench.custody.evaluate import SealedEvaluateOptions, evaluate_sealed
from nodulebench.custody.stored_results import open_result
from nodulebench.io.bundle import read_reference, write_reference
from nodulebench.report.disclosure import FOR_DEVELOPERS

pytest.importorskip("cryptography")
CASE_COUNT = 12
SPACING = {
    **{f"size_{axis}": 100 for axis in "xyz"},
    **{f"spacing_{axis}_mm": 1.0 for axis in "xyz"},
    **{f"origin_{axis}_mm": -50.0 for axis in "xyz"},
}
METRICS = (
    POLICY.split("[reuse]")[0] + '[reuse]\nevaluations_per_developer = 9\nfeedback = "metrics"\n'
)
LEVELS = {"rounded": POLICY, "metrics": METRICS}


def sealed(
    folder: Path,
    level: str,
    at: tuple[float, float, float],
    *,
    names: list[str] | None = None,
) -> SealedLab:
    """A sealed set of twelve cases with known geometry and a nodule at the same place in each."""
    folder.mkdir()
    lab = make_lab(folder, LEVELS[level], CASE_COUNT)
    plain = read_reference(lab.bundle)
    listed = names or plain.cases["case_id"].to_list()
    cases = plain.cases.with_columns(pl.lit(value).alias(name) for name, value in SPACING.items())
    x, y, z = at
    nodules = plain.nodules.with_columns(
        case_id=pl.Series(listed), x_mm=pl.lit(x), y_mm=pl.lit(y), z_mm=pl.lit(z)
    )
    cases = CASES.conform(cases.with_columns(case_id=pl.Series(listed)), "cases")
    write_reference(replace(plain, cases=cases, nodules=nodules), lab.bundle)
    lab.seal()
    return lab


def ask(lab: SealedLab, marks: str, **more: Any) -> dict[str, Any]:
    path = lab.folder / "mine.csv"
    path.write_text(HEADER + marks)
    order = SealedEvaluateOptions(
        path, lab.sealed, person_key("Bo"), "Example", bootstraps=0, **more
    )
    return evaluate_sealed(order)[0]


def stored_codes(lab: SealedLab) -> set[str]:
    """The codes in the laboratory's stored result of the first evaluation."""
    stored = open_result(lab.sealed, person_key("Cem"), 2)
    algorithm = stored["evaluation"]["algorithms"][0]
    rules = [notice for rule in algorithm["rules"].values() for notice in rule["notices"]]
    return {notice["code"] for notice in (*algorithm["notices"], *rules)}


def disclosed_notices(answers: dict[str, Any]) -> list[Any]:
    """All notices on an algorithm in a developer's feedback."""
    algorithms = answers.get("evaluation", {}).get("algorithms", [])
    return [
        [algorithm["notices"], [rule["notices"] for rule in algorithm["rules"].values()]]
        for algorithm in algorithms
    ]


def each_case(row: str) -> str:
    return "".join(f"scan{number},{row}\n" for number in range(CASE_COUNT))


@pytest.mark.slow
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(
    ("row", "secret"),
    [
        ("10,20,30,0.9", (-10.0, -20.0, 30.0)),  # RAS
        ("10,20,30,0.9", (10.0, 20.0, -30.0)),  # z flipped
        ("30,20,10,0.9", (10.0, 20.0, 30.0)),  # zyx
        ("1,2,3,0.9", (10.0, 20.0, 30.0)),  # centimetres
        ("60,70,80,0.9", (10.0, 20.0, 30.0)),  # voxels
    ],
)
def test_where_nodules_would_be_hit_is_not_disclosed(
    tmp_path: Path, level: str, row: str, secret: tuple[float, float, float]
) -> None:
    there = sealed(tmp_path / "there", level, secret)
    elsewhere = sealed(tmp_path / "elsewhere", level, (-40.0, 35.0, -35.0))
    answer = [ask(lab, each_case(row)) for lab in (there, elsewhere)]
    assert answer[0] == answer[1]
    assert "would_be_hit" not in json.dumps(answer)
    assert "would_be_hit" in stored_codes(there)
    assert "would_be_hit" not in stored_codes(elsewhere)


@pytest.mark.parametrize("level", LEVELS)
def test_whether_hits_have_the_lower_scores_is_not_disclosed(tmp_path: Path, level: str) -> None:
    marks = each_case("10,20,30,0.1") + each_case("-40,35,-35,0.9")
    low = sealed(tmp_path / "low", level, (10.0, 20.0, 30.0))
    high = sealed(tmp_path / "high", level, (-40.0, 35.0, -35.0))
    answer = [disclosed_notices(ask(lab, marks)) for lab in (low, high)]
    assert answer[0] == answer[1]
    assert "scores_inverted" in stored_codes(low)
    assert "scores_inverted" not in stored_codes(high)


@pytest.mark.slow
@pytest.mark.parametrize("level", LEVELS)
def test_which_names_are_nearly_those_of_cases_is_not_disclosed(tmp_path: Path, level: str) -> None:
    others = ["scan0", *(f"hidden{number}" for number in range(1, CASE_COUNT))]
    near = sealed(tmp_path / "near", level, (10.0, 20.0, 30.0))
    far = sealed(tmp_path / "far", level, (10.0, 20.0, 30.0), names=others)
    guesses = "".join(f"scan{number}.mhd,0,0,0,0.5\n" for number in range(1, CASE_COUNT))
    answer = [ask(lab, "scan0,0,0,0,0.9\n" + guesses) for lab in (near, far)]
    assert answer[0] == answer[1]
    assert "hidden" not in json.dumps(answer)
    assert "names_nearly_match" in stored_codes(near)
    assert "names_nearly_match" not in stored_codes(far)


def test_an_error_about_other_cases_names_none(tmp_path: Path) -> None:
    strict = tmp_path / "strict.toml"
    strict.write_text('name = "strict"\nmetrics = ["recall"]\n[[rules]]\nname = "luna16"\n')
    lab = sealed(tmp_path / "set", "rounded", (10.0, 20.0, 30.0))
    with pytest.raises(InputError) as caught:
        ask(lab, "scan0,0,0,0,0.9\nscan1.mhd,0,0,0,0.5\n", protocol=str(strict))
    assert str(caught.value) == (
        "mine: has marks on cases that are not in this test set. Is it for another set?"
    )
    with pytest.raises(InputError, match="has no marks on cases of this test set") as caught:
        ask(lab, "SCAN1,0,0,0,0.5\n")
    assert "scan1" not in str(caught.value)


def test_what_the_file_itself_tells_is_reported(tmp_path: Path) -> None:
    lab = sealed(tmp_path / "set", "metrics", (10.0, 20.0, 30.0))
    marks = "scan0,10,20,30,0.9\n" * 3 + "scan1,0,0,400,0.5\n"
    ((notices, _),) = disclosed_notices(ask(lab, marks))
    assert {notice["code"]: notice["values"] for notice in notices} == {
        "outside_image": {"outside": 1, "checked": 4},
        "marks_repeated": {"marks": 2, "cases": 1},
        "cases_without_marks": {"count": 10, "cases": 12},
    }


@pytest.mark.parametrize(
    "code", ["would_be_hit", "few_hits", "scores_inverted", "names_nearly_match"]
)
def test_hints_that_need_the_reference_are_the_laboratorys(code: str) -> None:
    assert code not in FOR_DEVELOPERS
