"""A viewer served from this process, and a browser that opens it."""

import shutil
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from nodulebench.i18n.translator import LanguageName
from nodulebench.web.viewer.app import LOOPBACK, LocalAuth, open_listener, workbench_app
from nodulebench.web.viewer.session import ReadingSession, open_session

BROWSER = shutil.which("chromium") or shutil.which("google-chrome")
QUIET = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


class Served:
    """A viewer on a separate port."""

    def __init__(
        self,
        session: ReadingSession,
        port: int = 0,
        secret: str = "",
        language: LanguageName = "en",
    ) -> None:
        self.session = session
        listener = open_listener(LOOPBACK, port)
        port = listener.getsockname()[1]
        self.auth = LocalAuth(port, secret) if secret else LocalAuth(port)
        app = workbench_app(session, self.auth, language)
        self._running = Running(app, listener)

    def stop(self) -> None:
        self._running.stop()


class Running:
    """An application that is served from a thread."""

    def __init__(self, app: Any, listening: socket.socket) -> None:
        import uvicorn

        settings = uvicorn.Config(app, log_level="error", ws="none", lifespan="off")
        self.server = uvicorn.Server(settings)
        self.thread = threading.Thread(target=self.server.run, args=([listening],), daemon=True)
        self.thread.start()

    def stop(self) -> None:
        self.server.should_exit = True
        self.server.force_exit = True
        self.thread.join(30)


@contextmanager
def served_folder(folder: Path, port: int = 0, secret: str = "") -> Iterator[Served]:
    """The viewer of a folder while the block runs."""
    with open_session(folder, "anna") as session:
        served = Served(session, port, secret)
        try:
            yield served
        finally:
            served.stop()


@contextmanager
def started_browser() -> Iterator[Any]:
    """Chromium without a window; the test is skipped where there is none."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    if BROWSER is None:
        pytest.skip("chromium is not installed")
    with playwright.sync_playwright() as started:
        opened = started.chromium.launch(executable_path=BROWSER, args=list(QUIET))
        yield opened
        opened.close()


@contextmanager
def opened_page(browser: Any, served: Served, *, may_lose: bool = False) -> Iterator[Any]:
    """The page of a viewer whose first scan is there; nothing may go wrong in it."""
    with watched_page(browser, may_lose=may_lose) as page:
        page.goto(served.auth.address)
        wait_until_loaded(page)
        yield page


@contextmanager
def watched_page(browser: Any, *, may_lose: bool = False) -> Iterator[Any]:
    """A page of a laptop's size in which nothing may go wrong."""
    context = browser.new_context(viewport={"width": 1366, "height": 768})
    context.set_default_timeout(120_000)
    page = context.new_page()
    wrong: list[str] = []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on(
        "console", lambda message: wrong.append(message.text) if message.type == "error" else None
    )
    yield page
    context.close()
    assert [
        message for message in wrong if not (may_lose and "Failed to load resource" in message)
    ] == []


def wait_until_loaded(page: Any, number: int = 0) -> None:
    """Until every slice of a scan is there."""
    page.wait_for_function(
        "(n) => globalThis.nodulebench?.number === n && nodulebench.volume?.isComplete", arg=number
    )
    painted(page)


def painted(page: Any) -> None:
    """Two frames later everything that was asked for is drawn."""
    page.evaluate(
        "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
    )


def place_on(page: Any, plane: str, place_mm: list[float]) -> tuple[float, float]:
    """Where in the window a place is drawn, the views having been moved to its planes."""
    x, y = page.evaluate(
        """([plane, mm]) => {
          const index = nodulebench.volume.grid.toIndex(mm);
          nodulebench.moveTo(index, { reveals: true });
          const view = nodulebench.views.find((view) => view.plane === plane);
          const box = view.canvas.getBoundingClientRect(), at = view.toCanvas(index);
          return [box.left + at[0], box.top + at[1]];
        }""",
        [plane, place_mm],
    )
    painted(page)
    return x, y
