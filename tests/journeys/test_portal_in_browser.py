"""The portal in a real browser: from one command to a leaderboard, and back to the log."""

import gzip
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.request import urlopen

import pytest

pytest.importorskip("fastapi", reason="the extra 'portal' is not installed")
playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

from builders.portal import BROKEN, GOOD, SET, write_test_set

BROWSER = shutil.which("chromium") or shutil.which("google-chrome")
pytestmark = pytest.mark.skipif(BROWSER is None, reason="no Chromium")
QUIET = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
    "--disable-background-networking", "--disable-component-update",
)  # fmt: skip
WORDS = "a rather long password"
PATIENCE_MS = 300_000


@contextmanager
def started(tmp_path: Path) -> Iterator[tuple[str, str]]:
    """The address of a fresh portal, and the organiser's link that it printed."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-u", "-m", "nodulebench", "portal", "--port", str(port)]
    places = ["--storage", str(tmp_path / "portal"), "--test-sets", str(tmp_path / "sets")]
    process = subprocess.Popen([*command, *places], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    address = process.stdout.readline().strip().rstrip("/")
    link = process.stdout.readline().strip().partition(": ")[2]
    for _ in range(6000):
        try:
            with urlopen(f"{address}/health"):  # noqa: S310
                break
        except URLError:
            time.sleep(0.1)
    workers = _workers_of(process.pid)
    assert len(workers) == 1
    try:
        yield address, link
    finally:
        process.send_signal(signal.SIGTERM)
        assert process.wait(600) == 0
        process.stdout.close()
    assert [worker for worker in workers if Path(f"/proc/{worker}").exists()] == []


def _workers_of(pid: int) -> list[str]:
    return Path(f"/proc/{pid}/task/{pid}/children").read_text().split()


@contextmanager
def opened(address: str) -> Iterator[Callable[[], Any]]:
    """Makes pages, each of another user; at the end no request was foreign or refused."""
    messages: list[str] = []
    with playwright.sync_playwright() as browsers:
        browser = browsers.chromium.launch(executable_path=BROWSER, args=list(QUIET))

        def new_page() -> Any:
            page = browser.new_context(locale="en-GB").new_page()
            page.set_default_timeout(PATIENCE_MS)
            page.on("console", lambda message: messages.append(message.text))
            page.on(
                "request",
                lambda request: (
                    messages.append(request.url) if address not in request.url else None
                ),
            )
            return page

        yield new_page
        browser.close()
    # no complaint of the content-security-policy either
    assert [
        message for message in messages if "422" not in message and "Password forms" not in message
    ] == []


def make_account(page: Any, login: str) -> None:
    """Fill in the form that a link or the registration leads to."""
    page.fill("[name=login]", login)
    page.fill("[name=name]", login.title())
    page.fill("[name=password]", WORDS)
    page.fill("[name=again]", WORDS)
    page.click("form.sheet button")


def upload(name: str, content: bytes) -> dict[str, Any]:
    return {"name": name, "mimeType": "application/octet-stream", "buffer": content}


def test_from_one_command_to_a_leaderboard(tmp_path: Path) -> None:
    write_test_set(tmp_path / "sets" / SET)
    with started(tmp_path) as (address, link), opened(address) as new_page:
        page = new_page()
        page.goto(link)  # the organiser comes by the link of the terminal
        make_account(page, "olga")
        page.goto(f"{address}/benchmarks/new")
        page.fill("[name=title]", "Tiny nodules")
        page.click("form.sheet > button")
        assert page.inner_text("h1") == "Tiny nodules"

        page.click("a.button")  # a broken file is reported with its lines, and mended
        page.set_input_files("[name=file]", upload("mine.csv", BROKEN.encode()))
        page.click("button.quiet")
        problems = page.locator(".problems li").all_inner_texts()
        assert [re.match(r"mine\.csv line \d", problem) is not None for problem in problems] == [
            True,
            True,
        ]
        page.set_input_files("[name=file]", upload("mine.csv", GOOD.encode()))
        page.fill("[name=name]", "Mine")
        page.click("form.sheet .row button:not(.quiet)")

        page.wait_for_selector(".job.done")  # the page follows the worker by itself
        page.click("p.kind a")
        line = page.inner_text(".board tbody tr")
        assert line.startswith("1")
        assert "0.667" in line
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            page.set_viewport_size({"width": 390, "height": 800})
            for path in (
                "/",
                "/dashboard",
                "/people",
                "/log",
                "/account",
                page.url.removeprefix(address),
            ):
                page.goto(address + path)
                wide = page.evaluate("() => document.documentElement.scrollWidth")
                assert wide <= 390, path

        page.goto(f"{address}/log")
        page.click("main form button")
        assert "none changed, none missing" in page.inner_text(".done")


def test_from_the_luna16_folder_to_a_verified_log(luna16_data: Path, tmp_path: Path) -> None:
    marks = (luna16_data / "submissions" / "deeplung_dpn26_888.csv.gz").read_bytes()
    header, *rows = gzip.decompress(marks).decode().splitlines()
    series, x, y, _, score = rows[0].split(",")
    broken = "\n".join([header, f"{series},{x},{y},thirty,{score}", *rows[1:9]])
    thinned = gzip.compress("\n".join([header, *rows[::2]]).encode())
    (tmp_path / "sets").mkdir()
    (tmp_path / "sets" / "luna16").symlink_to(luna16_data)
    with started(tmp_path) as (address, link), opened(address) as new_page:
        organiser, participant, auditor = new_page(), new_page(), new_page()
        organiser.goto(link)
        make_account(organiser, "olga")
        organiser.goto(f"{address}/benchmarks/new")
        organiser.fill("[name=title]", "LUNA16")
        organiser.select_option("[name=protocol]", "luna16")
        organiser.click("form.sheet > button")
        benchmark = organiser.url
        organiser.goto(f"{address}/people")
        organiser.click("button[name=open]")  # everybody may register
        organiser.wait_for_selector("button[name=open][value=no]")

        participant.goto(f"{address}/register")
        make_account(participant, "ada")
        participant.goto(f"{benchmark}/submit")
        participant.set_input_files("[name=file]", upload("marks.csv", broken.encode()))
        participant.click("button.quiet")
        participant.wait_for_selector(".problems li")
        (problem,) = participant.locator(".problems li").all_inner_texts()
        assert problem.startswith("marks.csv line 2")
        entries = []
        for name, content in (("DPN26", marks), ("half of it", thinned)):
            participant.goto(f"{benchmark}/submit")
            participant.set_input_files("[name=file]", upload("marks.csv.gz", content))
            participant.fill("[name=name]", name)
            participant.click("form.sheet .row button:not(.quiet)")
            participant.wait_for_selector(".job.done")
            entries.append(participant.url)

        anybody = new_page()
        anybody.goto(benchmark)
        first, second = anybody.locator(".board tbody tr").all_inner_texts()
        assert re.search(r"DPN26.*0\.842 \(0\.8\d\d–0\.8\d\d\)", first, re.DOTALL)
        assert "half of it" in second
        anybody.goto(entries[0])
        anybody.locator(".canvas").hover()  # the curve is read off where one points
        assert re.fullmatch(
            r"0\.8\d\d \(0\.8\d\d–0\.[89]\d\d\)", anybody.inner_text(".legend output")
        )

        participant.goto(entries[0])
        participant.click("form[action='/compare'] button")
        participant.wait_for_url("**/compare?*")
        cpm = participant.locator("tbody tr").filter(has_text="CPM").first.inner_text()
        assert re.search(r"0\.842\s+0\.454\s+0\.388 \(0\.3\d\d to 0\.4\d\d\)\s+0\.00", cpm)
        participant.goto(entries[0])
        participant.click("form[action$='/certificate'] button")
        participant.wait_for_url("**/certificates/1")
        assert "0.842" in participant.inner_text("main")

        organiser.goto(f"{address}/people")
        organiser.uncheck("form[action='/people/invite'] [value=participant]")
        organiser.check("form[action='/people/invite'] [value=auditor]")
        organiser.click("form[action='/people/invite'] button")
        organiser.wait_for_selector(".secret code")
        auditor.goto(organiser.inner_text(".secret code"))
        make_account(auditor, "cem")
        auditor.goto(f"{address}/log")
        auditor.click("main form button")
        auditor.wait_for_selector(".done")
        assert "none changed, none missing" in auditor.inner_text(".done")
