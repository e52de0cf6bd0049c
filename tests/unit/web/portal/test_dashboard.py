"""The organiser's dashboard: workers, test sets and their use, exports, announcements."""

import csv
import io
import json
from datetime import timedelta
from statistics import NormalDist

import pytest

from builders.portal import BETTER, GOOD, SET, Browser, signed_in, work_off
from nodulebench.security.events import parsed
from nodulebench.web.portal.accounts.users import User
from nodulebench.web.portal.database.event_log import PortalEvent
from nodulebench.web.portal.database.models import Benchmark, Worker, now
from nodulebench.web.portal.leaderboards.reuse import uses_of
from nodulebench.web.portal.site import Site
from nodulebench.web.portal.submissions.jobs import living_workers, record_end, send_heartbeat


def test_workers_are_shown_while_they_live(site: Site, as_organiser: Browser) -> None:
    assert "No worker is running" in as_organiser.get("/dashboard").text
    send_heartbeat(site, "lab:1", opens_sealed=True)
    send_heartbeat(site, "lab:2", opens_sealed=False)
    record_end(site, "lab:2")
    page = as_organiser.get("/dashboard").text
    assert "lab:1" in page
    assert "lab:2" not in page
    with site.database.writing() as session:
        session.get_one(Worker, "lab:1").seen_at = now() - timedelta(seconds=61)
    with site.database.reading() as session:
        assert living_workers(session) == []
    with site.database.writing() as session:
        session.get_one(Worker, "lab:1").seen_at = now() - timedelta(days=2)
    send_heartbeat(site, "lab:3", opens_sealed=False)
    with site.database.reading() as session:
        assert session.get(Worker, "lab:1") is None


def test_a_worker_sends_heartbeats_and_its_end(
    site: Site, as_ada: Browser, benchmark: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[str] = []

    def listen(_: Site, name: str, *, opens_sealed: bool) -> None:
        send_heartbeat(site, name, opens_sealed=opens_sealed)
        seen.append(name)

    monkeypatch.setattr("nodulebench.web.portal.submissions.worker.send_heartbeat", listen)
    as_ada.send(benchmark, "submit", GOOD)
    assert work_off(site) == 1
    assert len(set(seen)) == 1
    with site.database.reading() as session:
        assert living_workers(session) == []


@pytest.mark.slow
def test_evaluations_are_counted_with_their_optimism(
    site: Site, as_ada: Browser, benchmark: str
) -> None:
    as_ada.send(benchmark, "submit", GOOD)
    work_off(site)
    with site.database.reading() as session:
        (first,) = uses_of(session, session.get_one(Benchmark, benchmark))
    assert (first.who, first.evaluations, first.optimism) == ("Ada", 1, 0.0)
    assert first.needed == pytest.approx(NormalDist().inv_cdf(0.975))
    as_ada.send(benchmark, "submit", BETTER)
    as_ada.send(benchmark, "submit", BETTER)  # an identical submission discloses nothing more
    work_off(site)
    with site.database.reading() as session:
        (second,) = uses_of(session, session.get_one(Benchmark, benchmark))
    assert second.evaluations == 2
    assert second.optimism == pytest.approx(0.5642, abs=1e-4)  # 1/sqrt(pi), the larger of two
    assert second.needed is None  # with full metrics no bound is valid after a second evaluation


def test_the_composition_of_a_test_set_is_shown(as_organiser: Browser, as_ada: Browser) -> None:
    page = as_organiser.get(f"/test-sets/{SET}").text
    assert "<dt>nodules</dt><dd>3</dd>" in page
    assert "<dt>cases</dt><dd>3</dd>" in page
    assert "0 of 3 rules are met" in as_organiser.get(f"/test-sets/{SET}?design=luna16").text
    assert as_organiser.get(f"/test-sets/{SET}?design=../x").status_code == 200
    for name in ("nothing", "..%2f..%2fetc", ".hidden"):
        assert as_organiser.get(f"/test-sets/{name}").status_code == 404
    assert as_ada.get(f"/test-sets/{SET}").status_code == 403


def test_an_unreadable_test_set_is_reported(site: Site, as_organiser: Browser) -> None:
    (site.settings.sets / SET / "annotations.csv").write_text("nothing\n")
    answer = as_organiser.get(f"/test-sets/{SET}")
    assert answer.status_code == 422
    assert str(site.settings.sets) not in answer.text


def test_entries_and_events_can_be_exported(
    site: Site, as_organiser: Browser, as_ada: Browser, benchmark: str
) -> None:
    as_ada.send(benchmark, "submit", GOOD)
    work_off(site)
    as_ada.send(benchmark, "submit", BETTER)
    rows = list(csv.DictReader(io.StringIO(as_organiser.get("/dashboard/entries.csv").text)))
    assert [row["state"] for row in rows] == ["done", "waiting"]
    assert [bool(row["result"]) for row in rows] == [True, False]
    lines = as_organiser.get("/log/events.jsonl").content.splitlines(keepends=True)
    events = [parsed(PortalEvent, line) for line in lines]
    assert [event.number for event in events if event] == list(range(1, len(lines) + 1))
    assert json.loads(lines[-1])["action"] == "submitted"
    for path in ("/dashboard/entries.csv", "/log/events.jsonl"):
        assert as_ada.get(path).status_code == 403


def test_an_announcement_of_a_benchmark_appears_only_there(
    site: Site, as_organiser: Browser, benchmark: str
) -> None:
    as_organiser.post(
        "/announcements", "/dashboard", text="A nodule was corrected.", benchmark=benchmark
    )
    assert "A nodule was corrected." in Browser(site).get(f"/benchmarks/{benchmark}").text
    assert "A nodule was corrected." not in Browser(site).get("/").text
    wrong = as_organiser.post("/announcements", "/dashboard", text="No.", benchmark="nothing")
    assert wrong.status_code == 404


@pytest.mark.slow
def test_a_history_shows_entries_in_their_order_and_baselines(
    site: Site, as_ada: Browser, lin: User, benchmark: str
) -> None:
    assert "<h2>History" not in as_ada.get("/entries").text
    paths = [
        as_ada.send(benchmark, "submit", marks).headers["location"] for marks in (GOOD, BETTER)
    ]
    work_off(site)
    page = as_ada.get("/entries").text
    titles = [part.partition("</title>")[0] for part in page.split("<g><title>")[1:]]
    assert [title.partition(": ")[2][:5] for title in titles] == ["0.667", "1.000"]
    assert "<g><title>" in Browser(site).get(paths[0]).text
    assert "<h2>History" not in signed_in(site, lin.login).get("/entries").text
