"""Case review on a site: who may see which images; nothing can be drawn."""

import pytest

from builders.attacked import TRIES, answers_of
from builders.portal import GOOD, SERIES, Browser, make_tiny_benchmark, signed_in, work_off
from builders.reading import write_scans
from nodulebench.web.portal.accounts.users import User
from nodulebench.web.portal.benchmarks.service import BenchmarkRules
from nodulebench.web.portal.database.models import Benchmark, Entry
from nodulebench.web.portal.site import Site

CHOSEN = {"rule": "luna16", "algorithm": "Mine"}


@pytest.fixture
def entry(site: Site, organiser: User, as_ada: Browser) -> str:
    """An entry of ada, with scans of its cases."""
    write_scans(site.settings.scan_sets / "tiny", *SERIES)
    made = make_tiny_benchmark(site, organiser, rules=BenchmarkRules(scans="tiny"))
    where = as_ada.send(made, "submit", GOOD).headers["location"]
    work_off(site)
    return where.rpartition("/")[2]


@pytest.fixture
def everybody(site: Site, organiser: User, as_ada: Browser, lin: User) -> dict[str, Browser]:
    browsers = {"anonymous": Browser(site), "owner": as_ada}
    return {
        **browsers,
        "other": signed_in(site, lin.login),
        "organiser": signed_in(site, organiser.login),
    }


def sets(site: Site, entry: str, **rules: str) -> None:
    """Change the rules of the benchmark of an entry."""
    with site.database.writing() as session:
        benchmark = session.get_one(Entry, entry).benchmark
        benchmark.rules = BenchmarkRules(**{"scans": "tiny", **rules}).model_dump(mode="json")


def statuses(everybody: dict[str, Browser], entry: str) -> dict[str, int]:
    return {
        who: browser.get(f"/entries/{entry}/view/evaluation").status_code
        for who, browser in everybody.items()
    }


def test_images_are_shown_to_organisers_and_by_rule_to_submitters(
    site: Site, entry: str, everybody: dict[str, Browser]
) -> None:
    refused = {"anonymous": 401, "owner": 404, "other": 404, "organiser": 200}
    for feedback in ("metrics", "cases"):
        sets(site, entry, feedback=feedback)
        assert statuses(everybody, entry) == refused
    sets(site, entry, feedback="images")
    assert statuses(everybody, entry) == {**refused, "owner": 200}
    link = f'href="/entries/{entry}/view/"'
    seen = {
        who: link in browser.get(f"/entries/{entry}").text for who, browser in everybody.items()
    }
    assert seen == {"anonymous": False, "owner": True, "other": False, "organiser": True}
    sets(site, entry, feedback="images", scans="gone")
    assert statuses(everybody, entry) == {**refused, "organiser": 404}


def test_images_of_a_sealed_set_are_hidden_from_everyone(
    site: Site, entry: str, everybody: dict[str, Browser]
) -> None:
    sets(site, entry, feedback="images")
    with site.database.writing() as session:
        benchmark: Benchmark = session.get_one(Entry, entry).benchmark
        benchmark.is_sealed = True
    assert set(statuses(everybody, entry).values()) == {401, 404}


@pytest.mark.slow
def test_every_miss_is_there_and_nothing_can_be_drawn(
    site: Site, entry: str, everybody: dict[str, Browser]
) -> None:
    sets(site, entry, feedback="images")
    client = everybody["owner"].client
    where = f"/entries/{entry}/view"
    page = client.get(f"{where}/").text
    assert "evaluation.js" in page
    assert "← Entry" in page
    assert str(site.settings.storage) not in page
    errors = client.get(f"{where}/evaluation/errors", params=CHOSEN).json()
    labels = [(error["case_id"], error["label"]) for error in errors["errors"]]
    assert labels == [(SERIES[2], "missed"), (SERIES[2], "false_positive")]
    answers = dict(answers_of(client, where=where))
    assert len(answers) >= len(TRIES)
    made = {place for place, text in answers.items() if place[0] == "P" and text.startswith("200")}
    assert {place.split()[1].rpartition("/")[2] for place in made} <= DRAWS_NOTHING


DRAWS_NOTHING = {"proposal", "joined", "filled", "hanging"}
"""Requests that may be sent: outlines computed without storing them, and hanging layouts."""


def test_withdrawn_and_unscored_entries_have_no_view(
    site: Site, entry: str, everybody: dict[str, Browser], as_ada: Browser
) -> None:
    sets(site, entry, feedback="images")
    as_ada.post(f"/entries/{entry}/withdraw", f"/entries/{entry}")
    assert statuses(everybody, entry)["organiser"] == 404
