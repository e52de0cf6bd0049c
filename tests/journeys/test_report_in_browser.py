"""The report opened from disk in a real browser, where one is installed."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from evaluation_builder import curves_of, evaluation, flips_of
from nodulebench.report.document import evaluation_document
from nodulebench.report.html import render_html

BROWSER = shutil.which("chromium") or shutil.which("google-chrome")
QUIET = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--enable-logging=stderr",
)


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """The page after its script ran, and what the browser logged."""
    if BROWSER is None:
        pytest.skip("no Chromium or Chrome is installed")
    folder = tmp_path_factory.mktemp("browser")
    one = evaluation()
    page = folder / "report.html"
    page.write_text(
        render_html(evaluation_document(one), curves_of(one), flips_of(one)), encoding="utf-8"
    )
    return _open(page, folder / "profile")


def _open(page: Path, profile: Path) -> tuple[str, str]:
    done = subprocess.run(
        [str(BROWSER), *QUIET, f"--user-data-dir={profile}", "--dump-dom", page.as_uri()],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    return done.stdout, done.stderr


def test_console_stays_silent(opened: tuple[str, str]) -> None:
    _, log = opened
    assert [line for line in log.splitlines() if "CONSOLE" in line] == []


def test_script_runs_under_the_pages_own_policy(opened: tuple[str, str]) -> None:
    html, _ = opened
    assert (
        re.findall(r'<p class="reading"[^>]*>', html)
        == ['<p class="reading" aria-live="polite">'] * 2
    )
    assert '<path class="cross"' in html
