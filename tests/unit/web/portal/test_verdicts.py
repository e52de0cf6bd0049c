"""An entry under a plan has one of three verdicts, the same on every page and in every response."""

import csv
import io
import re
import shutil
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from sqlalchemy import select

from builders.people import person_key
from builders.portal import (
    BETTER,
    HEADER,
    Browser,
    make_tiny_benchmark,
    signed_in,
    work_off,
)
from builders.sealed import PEOPLE, SealedLab, make_lab
from nodulebench.custody.withdrawal import withdraw
from nodulebench.evaluation.plans import FreezeOptions, freeze_files
from nodulebench.i18n.translator import portal_translator
from nodulebench.web.portal.accounts.users import User
from nodulebench.web.portal.database.models import Job
from nodulebench.web.portal.site import Site
from nodulebench.web.portal.submissions.worker import work

CRITERIA = """name = "accept"
[[criteria]]
metric = "recall"
rule = "luna16"
comparison = ">="
{limit}
"""
LIMITS = {
    "passed": "limit = 0.75",
    "failed": "limit = 0.75",
    "undecided": 'bound = "low"\nlimit = 0.5',
}
"""A limit for each verdict; the algorithm finds every nodule, or for ``failed`` only the first."""
OPEN_REASON = "even a perfect result on 3 cases cannot meet it"
SEALED_REASON = "at least one criterion could not be decided on this test set"
OPENING = person_key("Bo")


@pytest.fixture(params=LIMITS)
def verdict(request: pytest.FixtureRequest) -> str:
    requested: str = request.param
    return requested


def lay_plan(browser: Browser, benchmark: str, content: bytes, name: str) -> Any:
    page = f"/benchmarks/{benchmark}"
    return browser.post(f"{page}/rules", page, files={"file": (name, content)}, kind="plan")


def seal_with_plan(site: Site, folder: Path, verdict: str) -> SealedLab:
    """A sealed set of four scans in the site, and ``plan.json`` next to its bundle."""
    lab = make_lab(folder, f'{PEOPLE}[reuse]\nfeedback = "verdict"\n')
    (folder / "criteria.toml").write_text(CRITERIA.format(limit=LIMITS[verdict]))
    plan = folder / "plan.json"
    freeze_files(
        FreezeOptions(
            criteria=folder / "criteria.toml", reference=lab.bundle, protocol="luna16", out=plan
        )
    )
    lab.seal()
    shutil.move(lab.sealed, site.settings.sets / "sealed")
    return lab


def rows(content: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(content)))


def check_surfaces(browser: Browser, benchmark: str, entry: str, verdict: str, why: str) -> None:
    """Every place that shows a verdict shows this one, with the reason of an undecided one."""
    for name in ("en", "zh"):
        word = portal_translator(name)(f"portal.verdict.{verdict}")  # type: ignore[arg-type]
        for path in (entry, f"/benchmarks/{benchmark}"):
            page = browser.client.get(path, headers={"accept-language": name}).text
            assert re.search(rf'class="tag {verdict}"[^>]*>{word}<', page), (path, name)
            if name == "en":
                assert (why in page) == (verdict == "undecided"), path
    api_entry = browser.get(f"/api/v1{entry}").json()
    (line,) = browser.get(f"/api/v1/benchmarks/{benchmark}/leaderboard").json()["lines"]
    board = rows(browser.get(f"/benchmarks/{benchmark}/leaderboard.csv").text)
    lab = rows(signed_in(browser.site, "olga").get("/dashboard/entries.csv").text)
    for surface in (api_entry, line, *board, *lab):
        assert surface["verdict"] == verdict
        assert (why in surface["verdict_reason"]) == (verdict == "undecided"), surface
        assert bool(surface["verdict_reason"]) == (verdict == "undecided")
    page = browser.post(f"{entry}/certificate", entry).headers["location"]
    statement = browser.get(f"{page}/statement.json").json()["certificate"]
    assert statement["verdict"] == verdict
    assert bool(statement["verdict_reason"]) == (verdict == "undecided")
    assert (why in browser.get(page).text) == (verdict == "undecided")


@pytest.mark.slow
def test_an_open_benchmark_gives_one_verdict_everywhere(
    site: Site, as_organiser: Browser, as_ada: Browser, benchmark: str, verdict: str
) -> None:
    criteria = CRITERIA.format(limit=LIMITS[verdict]).encode()
    assert lay_plan(as_organiser, benchmark, criteria, "criteria.toml").is_redirect
    marks = "\n".join(BETTER.split("\n")[: 2 if verdict == "failed" else 4])
    entry = as_ada.send(benchmark, "submit", marks).headers["location"]
    work_off(site)
    check_surfaces(as_ada, benchmark, entry, verdict, OPEN_REASON)


@pytest.mark.slow
def test_a_sealed_benchmark_gives_one_verdict_everywhere(
    site: Site, organiser: User, as_ada: Browser, tmp_path: Path, verdict: str
) -> None:
    lab = seal_with_plan(site, tmp_path, verdict)
    benchmark = make_tiny_benchmark(site, organiser, test_set="sealed")
    plan = (lab.folder / "plan.json").read_bytes()
    assert lay_plan(signed_in(site, "olga"), benchmark, plan, "plan.json").is_redirect
    hits = 1 if verdict == "failed" else 4
    marks = HEADER + "".join(f"\nscan{number},1,2,3,0.9" for number in range(hits))
    entry = as_ada.send(benchmark, "submit", marks).headers["location"]
    assert work(site, OPENING, Event(), until_empty=True) == 1
    check_surfaces(as_ada, benchmark, entry, verdict, SEALED_REASON)


@pytest.mark.slow
def test_an_outdated_plan_is_reported_only_to_organisers(
    site: Site, organiser: User, as_ada: Browser, tmp_path: Path
) -> None:
    lab = seal_with_plan(site, tmp_path, "passed")
    benchmark = make_tiny_benchmark(site, organiser, test_set="sealed")
    plan = (lab.folder / "plan.json").read_bytes()
    as_olga = signed_in(site, "olga")
    assert lay_plan(as_olga, benchmark, plan, "plan.json").is_redirect
    sealed = site.settings.sets / "sealed"
    withdraw(sealed, person_key("Ada"), cases=["scan3"], reason="consent withdrawn")
    entry = as_ada.send(benchmark, "submit", f"{HEADER}\nscan0,1,2,3,0.9").headers["location"]
    work(site, OPENING, Event(), until_empty=True)
    with site.database.reading() as session:
        assert list(session.scalars(select(Job.state))) == ["failed"]
    page = as_ada.get(entry).text
    assert "The organisers can see the reason" in page
    assert "was frozen for" not in page
    assert "was frozen for 4 cases; this test set has 3" in as_olga.get("/dashboard").text
    refused = lay_plan(as_olga, benchmark, plan, "plan.json")
    assert refused.status_code == 422
    assert "was frozen for 4 cases" in refused.text
