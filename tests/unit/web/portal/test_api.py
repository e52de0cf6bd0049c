"""The JSON API and its Python client."""

import threading
from collections.abc import Iterator
from pathlib import Path
from time import sleep

import pytest
import uvicorn

from builders.portal import BROKEN, GOOD, Browser, work_off
from nodulebench.core.errors import InputError
from nodulebench.web.client import Client
from nodulebench.web.portal.accounts.users import User
from nodulebench.web.portal.app import make_app
from nodulebench.web.portal.benchmarks.releases import digest_releases, release
from nodulebench.web.portal.site import Site


def token_of(browser: Browser) -> str:
    page = browser.post("/account/tokens", "/account", name="script").text
    return page.split('<p class="secret"><code>')[1].split("<")[0]


@pytest.fixture
def address(site: Site) -> Iterator[str]:
    """A real server on loopback."""
    server = uvicorn.Server(uvicorn.Config(make_app(site), port=0, log_level="error"))
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        sleep(0.01)
    port = server.servers[0].sockets[0].getsockname()[1]
    yield f"http://127.0.0.1:{port}"
    server.should_exit = True
    thread.join()


def test_a_program_checks_submits_and_reads(
    site: Site, address: str, as_ada: Browser, benchmark: str, tmp_path: Path
) -> None:
    portal = Client(address, token_of(as_ada))
    assert [(listed.id, listed.state) for listed in portal.benchmarks()] == [(benchmark, "open")]
    marks = tmp_path / "mine.csv"
    marks.write_text(BROKEN)
    checked = portal.check(benchmark, marks)
    assert [problem.where for problem in checked.problems] == ["mine.csv line 2", "mine.csv line 3"]
    with pytest.raises(InputError, match="'thirty' is not a finite number"):
        portal.submit(benchmark, marks, name="Mine")
    marks.write_text(GOOD)
    assert portal.check(benchmark, marks).marks == 3
    entry = portal.submit(benchmark, marks, name="Mine", about="by a program")
    assert entry.state == "waiting"
    assert entry.receipt is not None
    with pytest.raises(InputError, match="was not scored within 0 s"):
        portal.wait(entry.id, timeout_s=0, every_s=0)
    work_off(site)
    done = portal.wait(entry.id)
    assert {reading.metric: reading.value for reading in done.readings}["cpm"] == pytest.approx(
        2 / 3
    )
    board = Client(address).leaderboard(benchmark)
    assert [(line.rank, line.name, line.by) for line in board.lines] == [(1, "Mine", "Ada")]
    assert board.metric == "cpm"
    assert Client(address).entry(entry.id).receipt is None


@pytest.mark.slow
def test_an_interrupted_download_is_continued(
    site: Site, address: str, as_ada: Browser, organiser: User, benchmark: str, tmp_path: Path
) -> None:
    content = bytes(range(256)) * 300
    (site.downloads / "subset").mkdir(parents=True)
    (site.downloads / "subset" / "a.raw").write_bytes(content)
    release(site, organiser, benchmark, "subset", "scans")
    digest_releases(site)
    portal = Client(address, token_of(as_ada))
    (file,) = portal.files(benchmark)
    part = tmp_path / "subset" / "a.raw.part"
    part.parent.mkdir()
    part.write_bytes(content[:50_000])
    assert portal.download(file, tmp_path).read_bytes() == content
    assert not part.exists()
    part.write_bytes(b"x" * 50_000)  # of another file
    with pytest.raises(InputError, match="is not what its digest says"):
        portal.download(file, tmp_path)
    assert portal.download(file, tmp_path).read_bytes() == content
    with pytest.raises(InputError, match="is outside"):
        portal.download(file.model_copy(update={"name": "../a.raw"}), tmp_path)


def test_the_client_reports_errors(address: str, benchmark: str, tmp_path: Path) -> None:
    marks = tmp_path / "mine.csv"
    marks.write_text(GOOD)
    with pytest.raises(InputError, match="Sign in first"):
        Client(address).check(benchmark, marks)
    with pytest.raises(InputError, match="you may not see it"):
        Client(address).leaderboard("guess")
    with pytest.raises(InputError, match="cannot be reached"):
        Client("http://127.0.0.1:9").benchmarks()
    with pytest.raises(InputError, match="not the address"):
        Client("file:///etc/passwd").benchmarks()


def test_the_description_names_every_route_of_the_interface(site: Site) -> None:
    description = Browser(site).get("/api/v1/openapi.json").json()
    assert sorted(description["paths"]) == [
        "/api/v1/benchmarks",
        "/api/v1/benchmarks/{benchmark_id}",
        "/api/v1/benchmarks/{benchmark_id}/check",
        "/api/v1/benchmarks/{benchmark_id}/entries",
        "/api/v1/benchmarks/{benchmark_id}/files",
        "/api/v1/benchmarks/{benchmark_id}/leaderboard",
        "/api/v1/entries/{entry_id}",
    ]
    assert "EntryInfo" in description["components"]["schemas"]


def test_a_browsers_session_cannot_be_used_to_write_by_the_interface(
    as_ada: Browser, benchmark: str
) -> None:
    answer = as_ada.client.post(f"/api/v1/benchmarks/{benchmark}/entries?name=x", content=b"x")
    assert answer.status_code == 401
    assert answer.json()["error"] == "token_needed"


def test_a_table_has_no_formula_in_it(site: Site, as_organiser: Browser, benchmark: str) -> None:
    page = f"/benchmarks/{benchmark}/submit"
    files = {"file": ("mine.csv", GOOD.encode())}
    as_organiser.post(page, page, files=files, name="=1+1")
    work_off(site)
    table = Browser(site).get(f"/benchmarks/{benchmark}/leaderboard.csv")
    assert table.headers["content-type"].startswith("text/csv")
    lines = table.text.splitlines()
    assert lines[0].startswith("rank,entry,name,by,sent,is_baseline,rule,metric,point,value")
    assert len(lines) > 10
    assert ",=1+1," not in table.text


def test_a_badge_shows_only_public_values(site: Site, as_ada: Browser, benchmark: str) -> None:
    entry = as_ada.send(benchmark, "submit", GOOD).headers["location"]
    assert as_ada.get(f"{entry}/badge.svg").status_code == 404
    work_off(site)
    assert "CPM 0.667 (" in Browser(site).get(f"{entry}/badge.svg").text
    as_ada.post(f"{entry}/withdraw", entry)
    assert "0.667" not in Browser(site).get(f"{entry}/badge.svg").text
