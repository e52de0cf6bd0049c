"""Passed, failed and undecided are three answers, and every output gives the same one."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

import pytest

import nodulebench as nb
from builders.commands import run
from builders.people import person_key
from builders.sealed import PEOPLE, SealedLab, make_lab
from builders.sealed_study import REPORTER
from nodulebench.cli.help import DONE, NOT_MET, UNDECIDED
from nodulebench.core.documents.records import Verdict
from nodulebench.custody.stored_results import open_result
from nodulebench.custody.verify import read_audit
from nodulebench.evaluation.plans import FreezeOptions, freeze_files, read_plan, write_plan
from nodulebench.i18n.translator import LANGUAGES, translator

pytest.importorskip("cryptography")
pytestmark = pytest.mark.slow


@dataclass(frozen=True)
class Expected:
    """A verdict, and a criterion and marks that lead to it."""

    verdict: Verdict
    criterion: str
    hits: int
    status: int


EXPECTED = (
    Expected("passed", "limit = 0.75", 4, DONE),
    Expected("failed", "limit = 0.75", 1, NOT_MET),
    # four cases are too few, even for the algorithm that finds everything
    Expected("undecided", 'bound = "low"\nlimit = 0.7', 4, UNDECIDED),
)
REUSE = {
    "verdict": 'feedback = "verdict"',
    "rounded": 'feedback = "rounded"\nmetrics = ["luna16.recall"]',
    "metrics": 'feedback = "metrics"',
    "cases": 'feedback = "cases"',
}
REASON = "at least one criterion could not be decided on this test set"
LAB_REASON = "even a perfect result on 4 cases cannot meet it"


@pytest.fixture(params=EXPECTED, ids=lambda case: case.verdict)
def expected(request: pytest.FixtureRequest) -> Expected:
    verdict: Expected = request.param
    return verdict


def make_test(folder: Path, expected: Expected, reuse: str = "") -> SealedLab:
    """A bundle with a frozen plan, and the marks that lead to the expected verdict."""
    lab = make_lab(folder, f"{PEOPLE}{REPORTER}\n[reuse]\n{reuse}\n")
    (folder / "criteria.toml").write_text(
        'name = "accept"\n[[criteria]]\nmetric = "recall"\nrule = "luna16"\n'
        f'comparison = ">="\n{expected.criterion}\n'
    )
    plan = folder / "plan.json"
    freeze_files(
        FreezeOptions(
            criteria=folder / "criteria.toml",
            reference=lab.bundle,
            protocol="luna16",
            out=plan,
            bootstraps=20,
        )
    )
    lab.marks("mine.csv", *(f"scan{number}" for number in range(expected.hits)))
    return lab


def test_the_verdicts_are_three() -> None:
    assert [expected.verdict for expected in EXPECTED] == list(get_args(Verdict))
    assert len({expected.status for expected in EXPECTED}) == 3


@pytest.mark.parametrize("name", LANGUAGES)
def test_every_language_has_a_separate_word_for_each_verdict(name: Any) -> None:
    translate = translator(name)
    words = [translate(f"verdict.{verdict}") for verdict in get_args(Verdict)]
    assert len(set(words)) == 3
    leads = [
        translate(f"feedback.{verdict}", plan="P", reason="R") for verdict in get_args(Verdict)
    ]
    assert len(set(leads)) == 3
    assert all("P" in lead for lead in leads)
    assert "R" in leads[-1]


def test_an_open_test_gives_one_verdict_everywhere(
    tmp_path: Path, expected: Expected, capsys: pytest.CaptureFixture[str]
) -> None:
    lab = make_test(tmp_path, expected)
    out, verdict = tmp_path / "out", expected.verdict
    given = ("--reference", lab.bundle, "--plan", tmp_path / "plan.json", "--out", out)
    assert run("evaluate", tmp_path / "mine.csv", *given) == expected.status
    shown = capsys.readouterr().out
    assert f"mine: {verdict}" in shown
    assert (LAB_REASON in shown) == (verdict == "undecided")
    document = json.loads((out / "evaluation.json").read_text())
    assert document["plan"]["verdict"] == verdict

    evaluation = nb.evaluate(lab.bundle, tmp_path / "mine.csv", plan=tmp_path / "plan.json")
    assert evaluation.plan is not None
    assert evaluation.plan.verdict == verdict
    assert f"plan accept: {verdict}" in repr(evaluation)
    assert (LAB_REASON in repr(evaluation)) == (verdict == "undecided")

    for audience in ("lab", "developer"):
        for name in LANGUAGES:
            made = tmp_path / f"{audience}-{name}"
            more = ("--for", audience, "--language", name, "--out", made)
            assert run("report", out, *more) == 0
            (page,) = made.glob("*.html")
            content = page.read_text(encoding="utf-8")
            assert f'class="verdict {verdict}">{translator(name)(f"verdict.{verdict}")}<' in content
        english_page = next((tmp_path / f"{audience}-en").glob("*.html")).read_text()
        assert (LAB_REASON in english_page) == (verdict == "undecided")


@pytest.mark.parametrize("level", REUSE)
def test_a_sealed_set_gives_one_verdict_everywhere(
    tmp_path: Path,
    expected: Expected,
    level: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    lab = make_test(tmp_path, expected, REUSE[level])
    lab.seal()
    verdict, is_open = expected.verdict, expected.verdict == "undecided"
    plan = (
        "--plan",
        tmp_path / "plan.json",
        "--reference",
        lab.sealed,
        "--key",
        lab.key_file("Bo"),
    )
    options = ("--developer", "Example", "--out", tmp_path / "feedback")
    assert run("evaluate", tmp_path / "mine.csv", *plan, *options) == expected.status
    shown = capsys.readouterr().out
    assert f"plan accept: {verdict}" in shown
    assert (REASON in shown) == is_open

    document = json.loads((tmp_path / "feedback" / "feedback.json").read_text())
    assert document["verdict"] == verdict
    assert ("verdict_reason" in document) == is_open
    assert "passed" not in document
    if "evaluation" in document:
        assert document["evaluation"]["plan"]["verdict"] == verdict
    if level in ("verdict", "rounded"):
        assert "not_assessable" not in json.dumps(document)  # says how many patients the set has

    event = read_audit(lab.sealed).events[-1]
    assert (event.step, event.facts["verdict"]) == ("evaluated", verdict)
    assert (REASON in str(event.facts.get("verdict_reason"))) == is_open
    assert run("audit", lab.sealed) == 0
    assert f"verdict {verdict}" in capsys.readouterr().out
    stored = open_result(lab.sealed, person_key("Cem"), 2)
    assert stored["evaluation"]["plan"]["verdict"] == stored["disclosed"]["verdict"] == verdict

    for audience in ("lab", "developer"):
        for name in LANGUAGES:
            made, translate = tmp_path / f"{audience}-{name}", translator(name)
            more = ("--for", audience, "--language", name, "--out", made)
            mine = ("--algorithm", "mine") if audience == "developer" else ()
            assert run("report", lab.sealed, "--key", lab.key_file("Dee"), *more, *mine) == 0
            (page,) = made.glob("*.html")
            content = page.read_text(encoding="utf-8")
            if audience == "developer" and level in ("verdict", "rounded"):
                reason = translate.message({"code": "plan_undecided", "values": {}})
                lead = translate(f"feedback.{verdict}", plan="accept", reason=reason)
                assert lead.replace("'", "&#39;") in content
            else:
                assert f'class="verdict {verdict}">{translate(f"verdict.{verdict}")}<' in content

    (tmp_path / "roster.csv").write_text("file,developer,alias\nmine.csv,Other,A1\n")
    roster = ("--submissions", tmp_path / "roster.csv", "--out", tmp_path / "by-roster")
    capsys.readouterr()
    assert run("evaluate", *roster, *plan) == expected.status
    assert f"plan accept: {verdict}" in capsys.readouterr().out
    assert run("evaluate", *roster, *plan) == expected.status  # the answers of the earlier run
    assert "done before" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("hits", "status"), [((4, 4), UNDECIDED), ((0, 4), NOT_MET)], ids=["undecided", "one failed"]
)
def test_a_roster_with_several_verdicts_exits_with_the_worst(
    tmp_path: Path, hits: tuple[int, int], status: int
) -> None:
    lab = make_test(tmp_path, EXPECTED[-1])
    lab.seal()
    lines = ["file,developer,alias"]
    for number, count in enumerate(hits):
        lab.marks(f"m{number}.csv", *(f"scan{case}" for case in range(count)))
        lines.append(f"m{number}.csv,Developer {number},A{number}")
    (tmp_path / "roster.csv").write_text("\n".join(lines) + "\n")
    plan = (
        "--plan",
        tmp_path / "plan.json",
        "--reference",
        lab.sealed,
        "--key",
        lab.key_file("Bo"),
    )
    assert run("evaluate", "--submissions", tmp_path / "roster.csv", *plan) == status


def test_a_plan_for_another_set_is_undecided_with_that_reason(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The other set has as many cases, so only the digests of the plan differ."""
    lab = make_test(tmp_path, EXPECTED[0])
    planned = read_plan(tmp_path / "plan.json")
    digests = planned.digests.model_copy(update={"reference": f"sha256:{0:064}"})
    other = planned.model_copy(update={"digests": digests})
    (tmp_path / "plan.json").unlink()
    write_plan(other, tmp_path / "plan.json")
    lab.seal()
    given = (
        "--reference",
        lab.sealed,
        "--plan",
        tmp_path / "plan.json",
        "--key",
        lab.key_file("Bo"),
    )
    assert run("evaluate", tmp_path / "mine.csv", *given, "--developer", "Example") == UNDECIDED
    shown = capsys.readouterr().out
    assert "plan accept: undecided (the test was not the planned one)" in shown
