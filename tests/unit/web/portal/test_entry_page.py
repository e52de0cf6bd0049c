"""The page of an entry: its curve, its metrics under a rule and of a part, its single errors."""

import json
import re

import pytest

from builders.portal import (
    GOOD,
    SECRET_PLACE,
    Browser,
    make_person,
    make_tiny_benchmark,
    signed_in,
    work_off,
)
from nodulebench.web.portal.benchmarks.service import BenchmarkRules
from nodulebench.web.portal.database.models import Result
from nodulebench.web.portal.site import Site


def scored(site: Site, **rules: object) -> tuple[str, str]:
    """A benchmark with these rules, and an entry of ada in it."""
    organiser = make_person(site, "olga", "organiser")
    make_person(site, "ada", "participant")
    chosen = BenchmarkRules.model_validate(rules)
    benchmark = make_tiny_benchmark(site, organiser, rules=chosen)
    entry = signed_in(site, "ada").send(benchmark, "submit", GOOD).headers["location"]
    assert work_off(site) == 1
    return benchmark, entry


def test_the_curve_is_interactive_without_thresholds(site: Site) -> None:
    _, entry = scored(site)
    page = Browser(site).get(entry).text
    (data,) = re.findall(r'<script type="application/json">(.*?)</script>', page)
    (series,) = json.loads(data)["series"]
    assert set(series["threshold"]) == {None}
    heights = [sum(series["y"][: place + 1]) for place in range(len(series["y"]))]
    assert max(heights) == 66667  # two of three nodules, in 1/100,000
    assert "threshold" not in page.replace('"threshold"', "")  # nor does a table
    assert 'class="canvas" tabindex="0"' in page


def test_metrics_are_those_of_the_part_that_is_chosen(site: Site) -> None:
    benchmark, entry = scored(site)
    with site.database.writing() as session:
        result = session.query(Result).one()
        part = {"rule": "luna16", "metric": "recall", "point": "", "stratum": "type=solid"}
        part_reading = {**part, "value": 0.137, "low": None, "high": None}
        result.metrics = {**result.metrics, "strata": [part_reading]}
    whole, of_part, unknown = (
        Browser(site).get(f"{entry}?stratum={name}").text for name in ("", "type=solid", "type=x")
    )
    assert "CPM" in whole
    assert "0.137" not in whole
    assert "0.137" in of_part
    assert "CPM" not in of_part
    assert "CPM" in unknown
    assert '<option value="type=solid">' in Browser(site).get(f"/benchmarks/{benchmark}").text


@pytest.mark.slow
def test_single_errors_are_disclosed_to_the_submitter_by_rule(site: Site) -> None:
    _, entry = scored(site, feedback="cases")
    make_person(site, "eve", "participant")
    missed = "−40.0, 3.0, −20.0"  # with minus signs
    assert missed in signed_in(site, "ada").get(entry).text
    assert missed in signed_in(site, "olga").get(entry).text
    for browser in (Browser(site), signed_in(site, "eve")):
        page = browser.get(entry).text
        assert missed not in page
        assert "1.2.3.3" not in page
        assert SECRET_PLACE not in page


@pytest.mark.slow
def test_single_errors_are_hidden_without_that_rule(site: Site) -> None:
    _, entry = scored(site)
    assert "40.0, 3.0" not in signed_in(site, "olga").get(entry).text


def test_the_curve_of_an_anonymous_entry_does_not_name_it(site: Site) -> None:
    _, entry = scored(site, is_anonymous=True)
    named, nameless = signed_in(site, "ada").get(entry).text, Browser(site).get(entry).text
    assert "FROC: Mine" in named
    assert "Mine" not in nameless
    assert f"FROC: #{entry.rpartition('/')[2][:6]}" in nameless


@pytest.mark.slow
def test_the_report_can_be_downloaded_as_pdf(site: Site) -> None:
    pytest.importorskip("typst", reason="the extra 'pdf' is not installed")
    _, entry = scored(site)
    answer = Browser(site).get(f"{entry}/report.pdf")
    assert answer.status_code == 200
    assert answer.content.startswith(b"%PDF")
    assert Browser(site).get(f"{entry}/report").text.startswith("<!DOCTYPE html>")


@pytest.mark.slow
def test_organisers_mark_only_their_own_baselines(site: Site) -> None:
    """A mark on another account's entry would disclose its name."""
    benchmark, entry = scored(site, is_anonymous=True)
    as_ada, as_olga = signed_in(site, "ada"), signed_in(site, "olga")
    for browser in (as_ada, as_olga):
        assert browser.post(f"{entry}/baseline", entry, baseline="yes").status_code == 403
    own = as_olga.send(benchmark, "submit", GOOD).headers["location"]
    work_off(site)
    board = f"/api/v1/benchmarks/{benchmark}/leaderboard"
    for answer, names in (("yes", 1), ("no", 0)):
        as_olga.post(f"{own}/baseline", own, baseline=answer)
        lines = Browser(site).get(board).json()["lines"]
        assert sum(line["is_baseline"] for line in lines) == names
        assert sum(line["name"] == "Mine" for line in lines) == names
