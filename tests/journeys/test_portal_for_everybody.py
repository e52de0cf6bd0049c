"""Every page of the portal in a browser: axe-core finds nothing, nothing sticks out of a phone."""

import shutil
import socket
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi", reason="the extra 'portal' is not installed")

from builders.browser import started_browser
from builders.portal import (
    BETTER,
    GOOD,
    PASSWORD,
    SET,
    make_person,
    make_tiny_benchmark,
    open_site,
    work_off,
)
from nodulebench.web.portal.app import make_app
from nodulebench.web.portal.leaderboards.certificates import certify
from nodulebench.web.portal.submissions.service import SubmitOptions, store_upload, submit

PHONE = 390
FIND = """async () => {
  const result = await axe.run(document, { resultTypes: ["violations"] });
  return result.violations.map(({ impact, id, nodes }) => `${impact} ${id}: ${nodes[0].html}`);
}"""


@pytest.fixture(scope="session")
def axe(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The script of axe-core, from npm."""
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("npm is not installed, which brings axe-core")
    folder = tmp_path_factory.mktemp("axe")
    wanted = ("install", "--silent", "--no-audit", "--no-fund", "--ignore-scripts", "axe-core@4")
    try:
        subprocess.run([npm, *wanted], cwd=folder, check=True, timeout=120, capture_output=True)
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired):
        pytest.skip("npm cannot bring axe-core")
    return (folder / "node_modules" / "axe-core" / "axe.min.js").read_text(encoding="utf-8")


@pytest.fixture
def served(tmp_path: Path) -> Iterator[tuple[str, list[str]]]:
    """The address of a filled portal, and its pages."""
    import uvicorn

    listening = socket.create_server(("127.0.0.1", 0))
    address = f"http://127.0.0.1:{listening.getsockname()[1]}"
    site = open_site(tmp_path, address=address)
    olga = make_person(site, "olga", "organiser", "auditor", "participant")
    benchmark = make_tiny_benchmark(site, olga)
    entries = []
    for number, content in enumerate((GOOD, BETTER)):
        (tmp_path / "marks.csv").write_text(content)
        with (tmp_path / "marks.csv").open("rb") as file, store_upload(site, "m.csv", file) as sent:
            entries.append(
                submit(site, olga, benchmark, sent, SubmitOptions(name=f"Number {number}")).id
            )
    work_off(site)
    certify(site, olga, entries[0])
    pages = ["/", f"/benchmarks/{benchmark}", *(f"/entries/{entry}" for entry in entries)]
    pages += [f"/benchmarks/{benchmark}/submit", "/benchmarks/new", "/certificates/1"]
    pages += [
        "/folder",
        "/people",
        "/log",
        "/account",
        "/entries",
        f"/test-sets/{SET}?design=luna16",
    ]
    pages += [f"/compare?one={entries[0]}&other={entries[1]}", "/nothing"]
    server = uvicorn.Server(
        uvicorn.Config(make_app(site), log_level="error", ws="none", lifespan="off")
    )
    thread = threading.Thread(target=server.run, args=([listening],), daemon=True)
    thread.start()
    yield address, pages
    server.should_exit = server.force_exit = True
    thread.join(30)
    site.database.close()


def sign_in(page: Any, address: str) -> None:
    page.goto(f"{address}/sign-in")
    page.fill("[name=login]", "olga")
    page.fill("[name=password]", PASSWORD)
    page.keyboard.press("Enter")
    page.wait_for_selector(".who form")


def test_pages_have_no_accessibility_violation(served: tuple[str, list[str]], axe: str) -> None:
    address, pages = served
    violations, messages = [], []
    with started_browser() as browser:
        context = browser.new_context(locale="en-GB", viewport={"width": PHONE, "height": 800})
        context.set_default_timeout(120_000)
        page = context.new_page()
        page.on("console", lambda message: messages.append(message.text))
        for path in ("/", "/sign-in"):
            page.goto(address + path)
            page.evaluate(axe)
            violations += [f"{path}: {violation}" for violation in page.evaluate(FIND)]
        sign_in(page, address)
        for path in pages:
            page.goto(address + path)
            assert page.evaluate("() => document.documentElement.scrollWidth") <= PHONE, path
            page.evaluate(
                "() => document.querySelectorAll('details').forEach((part) => part.open = true)"
            )
            page.evaluate(axe)
            violations += [f"{path}: {violation}" for violation in page.evaluate(FIND)]
    assert violations == []
    assert [
        message for message in messages if "404" not in message
    ] == []  # nor does the policy refuse anything


def test_without_a_mouse_curves_sorting_and_language_work(
    served: tuple[str, list[str]],
) -> None:
    address, pages = served
    with started_browser() as browser:
        context = browser.new_context(locale="en-GB", timezone_id="Asia/Shanghai")
        context.set_default_timeout(120_000)
        page = context.new_page()
        sign_in(page, address)
        page.goto(address + pages[2])
        page.keyboard.press("Tab")
        assert page.evaluate("() => document.activeElement.className") == "skip"
        page.focus(".canvas")
        page.keyboard.press("ArrowRight")
        assert page.inner_text(".legend output").startswith("0.667")
        page.focus("thead th")
        page.keyboard.press("Enter")
        heads = page.locator("tbody th").all_inner_texts()
        assert heads == sorted(heads, key=str.casefold)
        stamp = page.get_attribute("main time", "datetime")
        hour = page.evaluate("(at) => (new Date(at).getUTCHours() + 8) % 24", stamp)
        assert f"{hour:02d}:" in page.inner_text("main time")  # in the time zone of the browser
        page.focus("a[href^='/language/zh']")
        page.keyboard.press("Enter")
        page.wait_for_selector("html[lang^=zh]")
        assert "曲线" in page.inner_text("main")
