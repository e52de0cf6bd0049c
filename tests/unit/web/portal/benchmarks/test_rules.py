"""Rules of a benchmark hold everywhere: candidates, folds, criteria, hidden names."""

import json
import re

import pytest
from sqlalchemy import select

from builders.portal import (
    BETTER,
    GOOD,
    HEADER,
    Browser,
    make_tiny_benchmark,
    signed_in,
    work_off,
)
from nodulebench.io.manifests import file_digest
from nodulebench.web.portal.accounts.users import User
from nodulebench.web.portal.benchmarks.rules import rule_file_path
from nodulebench.web.portal.benchmarks.service import BenchmarkRules, rules_of
from nodulebench.web.portal.database.models import Benchmark, Entry, Result
from nodulebench.web.portal.site import Site

LISTED = """seriesuid,coordX,coordY,coordZ,class
1.2.3.1,10,20,30,1
1.2.3.2,37,-5,12,1
1.2.3.3,90,90,90,0
1.2.3.9,1,2,3,0
"""
SCORED = GOOD
"""A score for each of the three candidates in the test set."""
FOLDS = "seriesuid,fold\n1.2.3.1,0\n1.2.3.2,1\n1.2.3.3,1\n"
CRITERIA = """name = "Enough"
[[criteria]]
metric = "cpm"
rule = "luna16"
comparison = ">="
limit = {limit}
"""


def lay(browser: Browser, benchmark: str, kind: str, content: str, name: str = "x.csv"):
    page = f"/benchmarks/{benchmark}"
    files = {"file": (name, content.encode())}
    return browser.post(f"{page}/rules", page, files=files, kind=kind)


def send(browser: Browser, benchmark: str, how: str, content: str, folds: str = "", **given: str):
    page = f"/benchmarks/{benchmark}/submit"
    files = {"file": ("mine.csv", content.encode())}
    files |= {"folds": ("folds.csv", folds.encode())} if folds else {}
    return browser.post(f"/benchmarks/{benchmark}/{how}", page, files=files, name="Mine", **given)


def rules(site: Site, benchmark: str) -> BenchmarkRules:
    with site.database.reading() as session:
        return rules_of(session.get_one(Benchmark, benchmark))


@pytest.fixture
def two_tracks(site: Site, organiser: User) -> str:
    return make_tiny_benchmark(
        site, organiser, rules=BenchmarkRules(tracks=("detection", "reduction"))
    )


@pytest.mark.slow
def test_candidates_are_scored_exactly_as_listed(
    site: Site, as_organiser: Browser, as_ada: Browser, two_tracks: str
) -> None:
    closed = send(as_ada, two_tracks, "submit", SCORED, track="reduction")
    assert closed.status_code == 409
    assert lay(as_organiser, two_tracks, "candidates", LISTED).status_code == 303
    rule_file = rules(site, two_tracks).candidates
    assert rule_file is not None
    assert (rule_file.version, rule_file.count) == (1, 3)
    stored = rule_file_path(site, two_tracks, "candidates", 1)
    # which of them are nodules is not stored
    assert stored.read_text().splitlines() == [
        "seriesuid,coordX,coordY,coordZ",
        "1.2.3.1,10.0,20.0,30.0",
        "1.2.3.2,37.0,-5.0,12.0",
        "1.2.3.3,90.0,90.0,90.0",
    ]
    assert rule_file.digest == file_digest(stored)

    other = f"{HEADER}\n1.2.3.1,10,20,30,0.9\n1.2.3.1,10,20,30,0.8\n1.2.3.2,1,1,1,0.5\n"
    refused = send(as_ada, two_tracks, "submit", other, track="reduction")
    assert refused.status_code == 422
    assert "is not a candidate" in refused.text
    assert "has more than one mark" in refused.text
    assert "candidate (37, -5, 12) of case &#39;1.2.3.2&#39; has no mark" in refused.text

    entry = send(as_ada, two_tracks, "submit", SCORED, track="reduction").headers["location"]
    receipt = as_ada.get(f"{entry}/receipt").json()["receipt"]
    assert receipt["accepted_rules"]["candidates"]["digest"] == rule_file.digest
    send(as_ada, two_tracks, "submit", BETTER)  # other tracks have no list
    work_off(site)
    answer = as_ada.get(f"/api/v1{entry}").json()
    assert answer["state"] == "done"
    assert answer["digests"]["candidates"] == rule_file.digest
    assert "reference" not in answer["digests"]
    assert rule_file.digest in as_ada.get(entry).text


@pytest.mark.slow
def test_tracks_and_versions_of_a_list_are_ranked_apart(
    site: Site, as_organiser: Browser, as_ada: Browser, two_tracks: str
) -> None:
    lay(as_organiser, two_tracks, "candidates", LISTED)
    for _ in range(2):
        send(as_ada, two_tracks, "submit", SCORED, track="reduction")
    send(as_ada, two_tracks, "submit", BETTER)
    lay(as_organiser, two_tracks, "candidates", LISTED.replace("90,90,90", "80,80,80"))
    gone = send(as_ada, two_tracks, "validate", SCORED, track="reduction")
    assert "is not a candidate" in gone.text
    work_off(site)  # entries keep the list they were accepted under
    path = f"/api/v1/benchmarks/{two_tracks}/leaderboard"
    boards = {track: as_ada.get(f"{path}?track={track}").json()
              for track in ("detection", "reduction-1", "reduction-2")}  # fmt: skip
    assert boards["detection"]["tracks"] == ["detection", "reduction-2", "reduction-1"]
    assert {track: len(board["lines"]) for track, board in boards.items()} == {
        "detection": 1,
        "reduction-1": 2,
        "reduction-2": 0,
    }
    assert [line["best_rank"] for line in boards["reduction-1"]["lines"]] == [1, 1]
    page = as_ada.get(f"/benchmarks/{two_tracks}?track=reduction-2").text
    assert "No entry has been scored yet" in page


@pytest.mark.slow
def test_who_trains_on_the_set_cross_validates(
    site: Site, organiser: User, as_ada: Browser
) -> None:
    strict = make_tiny_benchmark(site, organiser, rules=BenchmarkRules(cross_validates=True))
    for given in ({}, {"trained": "yes"}, {"trained": "folds"}):
        assert send(as_ada, strict, "submit", GOOD, **given).status_code == 422
    twice = FOLDS + "1.2.3.1,1\n"
    refused = send(as_ada, strict, "submit", GOOD, folds=twice, trained="folds")
    assert refused.status_code == 422
    assert "case &#39;1.2.3.1&#39;</b>: is tested in folds 0, 1" in refused.text
    seen = send(as_ada, strict, "submit", GOOD, folds=FOLDS, trained="folds")
    stated = send(as_ada, strict, "submit", GOOD, trained="no")
    assert (seen.status_code, stated.status_code) == (303, 303)
    work_off(site)
    lines = as_ada.get(f"/api/v1/benchmarks/{strict}/leaderboard").json()["lines"]
    assert sorted((line["training"], line["folds"]) for line in lines) == [("folds", 2), ("no", 0)]
    assert "cross-validated</span>" in as_ada.get(f"/benchmarks/{strict}").text
    with site.database.reading() as session:
        assert session.query(Entry).count() == 2


def test_folds_of_the_benchmark_are_the_only_ones(
    site: Site, as_organiser: Browser, as_ada: Browser, benchmark: str
) -> None:
    wrong = lay(as_organiser, benchmark, "folds", FOLDS.replace("1.2.3.3,1", "1.2.3.9,1"))
    assert wrong.status_code == 422
    assert "is in no fold" in wrong.text
    assert lay(as_organiser, benchmark, "folds", FOLDS).status_code == 303
    renamed = FOLDS.replace(",0", ",a").replace(",1\n", ",b\n")
    assert send(as_ada, benchmark, "submit", GOOD, folds=renamed, trained="folds").is_redirect
    other = "seriesuid,fold\n1.2.3.1,0\n1.2.3.2,0\n1.2.3.3,1\n"
    refused = send(as_ada, benchmark, "submit", GOOD, folds=other, trained="folds")
    assert "divides the cases in another way" in refused.text
    # without a table the participant states that they used the benchmark's folds
    entry = send(as_ada, benchmark, "submit", GOOD, trained="folds").headers["location"]
    rule_file = rules(site, benchmark).folds
    assert rule_file is not None
    assert (
        as_ada.get(f"/api/v1{entry}").json()["accepted_rules"]["training"]["folds"]
        == rule_file.digest
    )
    assert send(as_ada, benchmark, "submit", GOOD, trained="yes").is_redirect  # marked


@pytest.mark.slow
def test_entries_are_evaluated_by_frozen_criteria(
    site: Site, as_organiser: Browser, as_ada: Browser, benchmark: str
) -> None:
    bad = lay(
        as_organiser, benchmark, "plan", CRITERIA.format(limit=1).replace("cpm", "cpn"), "c.toml"
    )
    assert bad.status_code == 422
    assert "there is no metric &#39;cpn&#39;" in bad.text
    assert lay(as_organiser, benchmark, "plan", CRITERIA.format(limit=0.9), "c.toml").is_redirect
    rule_file = rules(site, benchmark).plan
    assert rule_file is not None
    plan = json.loads(rule_file_path(site, benchmark, "plan", 1).read_text())
    assert plan["schema"] == "nodulebench/test-plan@1"
    paths = [
        as_ada.send(benchmark, "submit", marks).headers["location"] for marks in (GOOD, BETTER)
    ]
    work_off(site)
    # two of three nodules at every rate, and all of them
    verdicts = [as_ada.get(f"/api/v1{path}").json()["verdict"] for path in paths]
    assert verdicts == ["failed", "passed"]
    board = as_ada.get(f"/benchmarks/{benchmark}").text
    assert re.search(r'class="tag passed">passed<.*class="tag failed">failed<', board, re.S)
    # removed criteria do not apply to later scores
    as_organiser.post(
        f"/benchmarks/{benchmark}/rules", f"/benchmarks/{benchmark}", kind="plan", end="yes"
    )
    as_organiser.post(f"/benchmarks/{benchmark}/rescore", f"/benchmarks/{benchmark}")
    work_off(site)
    assert as_ada.get(f"/api/v1{paths[0]}").json()["verdict"] is None


def test_other_choices_keep_the_rule_files(
    site: Site, as_organiser: Browser, benchmark: str
) -> None:
    page = f"/benchmarks/{benchmark}"
    lay(as_organiser, benchmark, "folds", FOLDS)
    given = {"tracks": ["reduction"], "per_week": "3", "shown": "yes"}
    assert as_organiser.post(f"{page}/change", page, **given).is_redirect
    current = rules(site, benchmark)
    assert (current.tracks, current.per_week) == (("reduction",), 3)
    assert current.folds is not None
    assert current.open_tracks == ()
    assert as_organiser.get(page).status_code == 200
    assert as_organiser.send(benchmark, "submit", GOOD).status_code == 409


def test_only_organisers_save_rule_files(site: Site, as_ada: Browser, benchmark: str) -> None:
    data = {"csrf": as_ada.secret("/account"), "kind": "folds"}
    files = {"file": ("x.csv", FOLDS.encode())}
    answer = as_ada.client.post(f"/benchmarks/{benchmark}/rules", data=data, files=files)
    assert answer.status_code == 403
    assert rules(site, benchmark).folds is None


@pytest.mark.slow
def test_names_are_hidden_on_every_page_and_route(
    site: Site, organiser: User, as_ada: Browser, lin: User
) -> None:
    """Neither the account, nor the name of the algorithm, nor its description."""
    hidden = make_tiny_benchmark(site, organiser, rules=BenchmarkRules(is_anonymous=True))
    page, words = f"/benchmarks/{hidden}/submit", {"about": "of Adelheid Hospital"}
    for content in (GOOD, BETTER):
        files = {"file": ("mine.csv", content.encode())}
        fields = {"name": "AdaNet", **words}
        entry = as_ada.post(f"/benchmarks/{hidden}/submit", page, files=files, **fields)
    entry = entry.headers["location"]
    work_off(site)
    with site.database.reading() as session:
        first, other = session.scalars(select(Result.entry_id)).all()
    paths = (
        "/",
        f"/benchmarks/{hidden}",
        f"/benchmarks/{hidden}/leaderboard.csv",
        f"/api/v1/benchmarks/{hidden}/leaderboard",
        entry,
        f"{entry}/badge.svg",
        f"/api/v1{entry}",
        f"/compare?one={first}&other={other}",
    )
    for browser in (Browser(site), signed_in(site, lin.login)):
        for path in paths:
            text = browser.get(path).text
            assert not re.search('AdaNet|Adelheid|>Ada<|"Ada"|,Ada,', text), path
        assert browser.get(f"{entry}/report").status_code == 404
    assert "AdaNet" in as_ada.get(entry).text
    assert as_ada.get(f"{entry}/report").status_code == 200
    assert "AdaNet" in signed_in(site, organiser.login).get(f"/benchmarks/{hidden}").text


def test_a_part_of_the_nodules_can_be_chosen(site: Site, as_ada: Browser, organiser: User) -> None:
    """Twenty small nodules, all found; twenty large ones, all missed."""
    place = site.settings.sets / "many"
    place.mkdir()
    series = [f"1.2.{number}" for number in range(40)]
    (place / "seriesuids.csv").write_text("".join(f"{uid}\n" for uid in series))
    head = "seriesuid,coordX,coordY,coordZ,diameter_mm\n"
    rows = [f"{uid},{at}.0,0.0,0.0,{4.5 if at % 2 else 25}\n" for at, uid in enumerate(series)]
    (place / "annotations.csv").write_text(head + "".join(rows))
    (place / "annotations_excluded.csv").write_text(head)
    made = make_tiny_benchmark(site, organiser, test_set="many")
    marks = "".join(f"{uid},{at},0,0,0.9\n" for at, uid in enumerate(series) if at % 2)
    as_ada.send(made, "submit", f"{HEADER}\n{marks}")
    work_off(site)
    path = f"/api/v1/benchmarks/{made}/leaderboard"
    strata = as_ada.get(path).json()["strata"]
    boards = [as_ada.get(f"{path}?stratum={stratum}&metric=miss_rate").json() for stratum in strata]
    assert [board["stratum"] for board in boards] == strata
    missed = [board["lines"][0]["readings"][0]["value"] for board in boards]
    assert sorted(missed) == [0.0, 1.0]
    page = as_ada.get(f"/benchmarks/{made}?stratum={strata[0]}").text
    chosen = page.split('name="stratum"')[1].split("</select>")[0]
    assert chosen.count(" selected") == 1
