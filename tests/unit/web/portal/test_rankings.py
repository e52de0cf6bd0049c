"""Ranks with intervals and ties, comparisons of entries, reports and new versions."""

import re

import pytest
from sqlalchemy import select

from builders.portal import (
    BETTER,
    GOOD,
    HEADER,
    NODULES,
    SECRET_PLACE,
    SET,
    Browser,
    signed_in,
    work_off,
)
from nodulebench.web.portal.accounts.users import User
from nodulebench.web.portal.database.models import Benchmark, Result
from nodulebench.web.portal.leaderboards.rankings import read_ranking, refresh_rankings
from nodulebench.web.portal.site import Site

WORSE = f"{HEADER}\n1.2.3.1,10,20,30,0.1\n1.2.3.2,90,90,90,0.8\n1.2.3.3,90,90,90,0.7\n"


def sent(browser: Browser, benchmark: str, *contents: str) -> list[str]:
    paths = [browser.send(benchmark, "submit", content).headers["location"] for content in contents]
    work_off(browser.site)
    return [path.rpartition("/")[2] for path in paths]


def ranking(site: Site, benchmark: str):
    with site.database.reading() as session:
        return read_ranking(site, session, session.get_one(Benchmark, benchmark))


@pytest.mark.slow
def test_ranks_have_intervals_and_groups(site: Site, as_ada: Browser, benchmark: str) -> None:
    good, better, worse = sent(as_ada, benchmark, GOOD, BETTER, WORSE)
    stored = ranking(site, benchmark)
    assert stored is not None
    assert stored.metric == "cpm"
    ranks = stored.rules["luna16"]
    assert (ranks[better]["best"], ranks[worse]["worst"]) == (1, 3)
    assert ranks[good]["best"] <= 2 <= ranks[good]["worst"]
    board = Browser(site).get(f"/benchmarks/{benchmark}").text
    rows = re.findall(r"<td class=\"number\">(\d) <span class=\"bounds\">\((\d–\d)\)", board)
    assert [rank for rank, _ in rows] == ["1", "2", "3"]
    lines = Browser(site).get(f"/api/v1/benchmarks/{benchmark}/leaderboard").json()["lines"]
    assert [line["entry"] for line in lines] == [better, good, worse]
    assert all(line["best_rank"] <= line["rank"] <= line["worst_rank"] for line in lines)


@pytest.mark.slow
def test_a_ranking_belongs_to_its_results(site: Site, as_ada: Browser, benchmark: str) -> None:
    first, *_ = sent(as_ada, benchmark, GOOD, BETTER, WORSE)
    assert refresh_rankings(site) == 0
    as_ada.post(f"/entries/{first}/withdraw", f"/entries/{first}")
    assert ranking(site, benchmark) is None
    assert Browser(site).get(f"/benchmarks/{benchmark}").status_code == 200
    assert refresh_rankings(site) == 1
    stored = ranking(site, benchmark)
    assert stored is not None
    assert first not in stored.rules["luna16"]


@pytest.mark.slow
def test_two_entries_are_compared(as_ada: Browser, benchmark: str) -> None:
    good, better = sent(as_ada, benchmark, GOOD, BETTER)
    assert f'<option value="{better}">' in as_ada.get(f"/entries/{good}").text
    path = f"/compare?one={better}&other={good}"
    page = as_ada.get(path).text
    row = re.search(r"CPM</th>(.*?)</tr>", page)
    assert row
    numbers = re.findall(r'class="number">([−\d.]+)', row[1])
    assert numbers[:3] == ["1.000", "0.667", "0.333"]
    assert as_ada.get(path).text == page
    for wrong in (f"/compare?one={good}&other={good}", f"/compare?one={good}&other=guess"):
        assert as_ada.get(wrong).status_code in (404, 409)
    as_ada.post(f"/entries/{good}/withdraw", f"/entries/{good}")
    assert as_ada.get(path).status_code == 409


def test_a_report_discloses_what_the_benchmark_allows(
    site: Site, as_ada: Browser, as_organiser: Browser, lin: User, benchmark: str
) -> None:
    """A separate page, which cannot reach the site."""
    missed = f"{HEADER}\n1.2.3.1,10,20,30,0.9\n1.2.3.3,-40,3,-20,0.7\n"
    (entry,) = sent(as_ada, benchmark, missed)
    path = f"/entries/{entry}/report"
    as_lin = signed_in(site, lin.login)
    for browser in (as_ada, as_lin, Browser(site)):
        answer = browser.get(path)
        assert answer.status_code == 200
        assert answer.headers["content-security-policy"].startswith("sandbox allow-scripts;")
        assert "FROC" in answer.text
        assert SECRET_PLACE not in answer.text
        assert "1.2.3.2" not in answer.text
    page = f"/benchmarks/{benchmark}"
    as_organiser.post(f"{page}/change", page, feedback="cases", shown="yes")
    assert "1.2.3.2" in as_ada.get(path).text
    assert "1.2.3.2" not in as_lin.get(path).text


@pytest.mark.slow
def test_a_corrected_test_set_scores_all_again(
    site: Site, as_ada: Browser, as_organiser: Browser, benchmark: str
) -> None:
    entry, withdrawn = sent(as_ada, benchmark, GOOD, WORSE)
    as_ada.post(f"/entries/{withdrawn}/withdraw", f"/entries/{withdrawn}")
    file = site.settings.sets / SET / "annotations.csv"
    file.write_text(file.read_text().replace(f"{NODULES[2]}\n", ""))  # it was not a nodule
    as_organiser.post(f"/benchmarks/{benchmark}/rescore", f"/benchmarks/{benchmark}")
    assert work_off(site) == 1
    with site.database.reading() as session:
        of_entry = select(Result).where(Result.entry_id == entry).order_by(Result.version)
        versions = [
            (result.version, result.metrics["counts"]["luna16"]["nodules"])
            for result in session.scalars(of_entry)
        ]
    assert versions == [(1, 3), (2, 2)]
    assert re.findall(r'"number">(\d\.\d{3})', as_ada.get(f"/benchmarks/{benchmark}").text) == [
        "1.000"
    ]
    assert "version 2" in as_ada.get(f"/entries/{entry}").text
