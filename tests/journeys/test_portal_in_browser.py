"""The portal in a real browser: from one command to a leaderboard, and back to the log."""

import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

import pytest

pytest.importorskip("fastapi", reason="the extra 'portal' is not installed")
playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

from builders.portal import BROKEN, GOOD, SET, write_test_set  # noqa: E402

BROWSER = shutil.which("chromium") or shutil.which("google-chrome")
pytestmark = pytest.mark.skipif(BROWSER is None, reason="no Chromium")
QUIET = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
    "--disable-background-networking", "--disable-component-update",
)  # fmt: skip
WORDS = "a rather long password"
PATIENCE_MS = 300_000


@pytest.fixture
def started(tmp_path: Path) -> Iterator[tuple[str, str]]:
    """The address of a fresh portal, and the organiser's link that it printed."""
    write_test_set(tmp_path / "sets" / SET)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-u", "-m", "nodulebench", "portal", "--port", str(port)]
    places = ["--storage", str(tmp_path / "portal"), "--test-sets", str(tmp_path / "sets")]
    process = subprocess.Popen([*command, *places], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    address = process.stdout.readline().strip().rstrip("/")
    link = process.stdout.readline().strip().partition(": ")[2]
    for _ in range(600):
        try:
            with urlopen(f"{address}/health"):  # noqa: S310
                break
        except URLError:
            time.sleep(0.1)
    workers = _workers_of(process.pid)
    assert len(workers) == 1
    yield address, link
    process.send_signal(signal.SIGTERM)
    assert process.wait(60) == 0
    process.stdout.close()
    assert [one for one in workers if Path(f"/proc/{one}").exists()] == []


def _workers_of(pid: int) -> list[str]:
    return Path(f"/proc/{pid}/task/{pid}/children").read_text().split()


def test_from_one_command_to_a_leaderboard(started: tuple[str, str]) -> None:
    address, link = started
    told: list[str] = []
    with playwright.sync_playwright() as browsers:
        browser = browsers.chromium.launch(executable_path=BROWSER, args=list(QUIET))
        page = browser.new_page(locale="en-GB")
        page.set_default_timeout(PATIENCE_MS)
        page.on("console", lambda message: told.append(message.text))
        page.on("request", lambda one: told.append(one.url) if address not in one.url else None)

        page.goto(link)  # the organiser comes by the link of the terminal
        page.fill("[name=login]", "olga")
        page.fill("[name=name]", "Olga")
        page.fill("[name=password]", WORDS)
        page.fill("[name=again]", WORDS)
        page.click("form.sheet button")
        page.goto(f"{address}/benchmarks/new")
        page.fill("[name=title]", "Tiny nodules")
        page.click("form.sheet > button")
        assert page.inner_text("h1") == "Tiny nodules"

        page.click("a.button")  # a broken file is told with its lines, and mended
        marks = {"name": "mine.csv", "mimeType": "text/csv", "buffer": BROKEN.encode()}
        page.set_input_files("[name=file]", marks)
        page.click("button.quiet")
        problems = page.locator(".problems li").all_inner_texts()
        assert [re.match(r"mine\.csv line \d", one) is not None for one in problems] == [True, True]
        page.set_input_files("[name=file]", {**marks, "buffer": GOOD.encode()})
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
                "/desk",
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
        browser.close()
    # nothing from elsewhere, and no complaint of the content-security-policy
    wrong = [one for one in told if "422" not in one and "Password forms" not in one]
    assert wrong == []
