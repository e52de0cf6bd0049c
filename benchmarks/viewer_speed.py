"""How fast the viewer answers: first image, wheel, proposal; and how much memory a page takes.

``python -m benchmarks.viewer_speed [--slices 300] [--cases 20] [--long 1000]``

A made-up chest of 512 x 512 pixels a slice, Chromium without a GPU, on loopback. Times of pictures
are the page's own (``performance.now``): from its navigation until the slice is painted, and from a
wheel event until its pixels are. Memory is what the page's process has for itself (PSS).
"""

import argparse
import os
import shutil
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from nodulebench.imaging.volume import make_volume
from nodulebench.io.images.metaimage import write_volume
from nodulebench.web.viewer.app import LOOPBACK, LocalAuth, open_listener, workbench_app
from nodulebench.web.viewer.session import open_session

SIDE, SPACING_MM = 512, (0.7, 0.7, 1.0)
BALL_MM, RADIUS_MM = (120.0, 150.0), 6.0
WHEELS, CLICKS = 150, 9
BROWSER = shutil.which("chromium") or shutil.which("google-chrome")
ARGUMENTS = ("--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking")
WATCH = """
addEventListener("DOMContentLoaded", () => {
  const check = () => {
    const state = globalThis.nodulebench, k = state && Math.round(state.cursor[2]);
    if (!state?.volume?.has(k)) requestAnimationFrame(check);
    else requestAnimationFrame(() => { globalThis.firstMs = performance.now(); });
  };
  const counted = setInterval(() => {
    if (document.getElementById("notice")?.textContent) {
      globalThis.countedMs ??= performance.now();
      clearInterval(counted);
    }
  }, 10);
  check();
});
"""


def write_scan(folder: Path, name: str, slices: int) -> None:
    """Lung with noise, and a ball in the middle slice."""
    random = np.random.default_rng(7)
    hu = np.empty((slices, SIDE, SIDE), dtype=np.int16)
    for k in range(slices):
        hu[k] = random.normal(-850, 30, (SIDE, SIDE))
    k, j, i = np.indices((31, 41, 41), dtype=np.float64)
    away = np.sqrt(((i - 20) * 0.7) ** 2 + ((j - 20) * 0.7) ** 2 + (k - 15) ** 2)
    column, row = (round(at / step) for at, step in zip(BALL_MM, SPACING_MM, strict=False))
    middle = slices // 2
    part = hu[middle - 15 : middle + 16, row - 20 : row + 21, column - 20 : column + 21]
    part[away <= RADIUS_MM] = 30
    volume = make_volume(hu, spacing_mm=SPACING_MM, origin_mm=(0.0, 0.0, 0.0))
    write_volume(volume, folder / f"{name}.mhd")


@contextmanager
def served(folder: Path) -> Iterator[LocalAuth]:
    """The reading session of a folder."""
    import uvicorn

    with open_session(folder, "anna") as session:
        heard = open_listener(LOOPBACK, 0)
        auth = LocalAuth(heard.getsockname()[1])
        app = workbench_app(session, auth)
        server = uvicorn.Server(uvicorn.Config(app, log_level="error", ws="none", lifespan="off"))
        thread = threading.Thread(target=server.run, args=([heard],), daemon=True)
        thread.start()
        try:
            yield auth
        finally:
            server.should_exit = server.force_exit = True
            thread.join(30)


@contextmanager
def opened(browser: Any, auth: LocalAuth) -> Iterator[Any]:
    """A page whose first picture is timed."""
    context = browser.new_context(viewport={"width": 1366, "height": 768})
    context.set_default_timeout(300_000)
    page = context.new_page()
    page.add_init_script(WATCH)
    page.goto(auth.address)
    page.wait_for_function("() => globalThis.firstMs")
    yield page
    context.close()


def loaded(page: Any, number: int = 0) -> None:
    """Wait until every slice is there."""
    page.wait_for_function(
        "(n) => nodulebench.number === n && nodulebench.volume?.isComplete", arg=number
    )


def wheel_ms(page: Any, plane: str) -> list[float]:
    """Wheel events on a plane, one at a time, each until it is painted."""
    page.locator(f'canvas[data-plane="{plane}"]').hover()
    page.evaluate("() => { nodulebench.timings.length = 0; }")
    for turn in range(WHEELS):
        page.mouse.wheel(0, 100 if turn % 60 < 30 else -100)
        page.evaluate("() => new Promise((done) => requestAnimationFrame(done))")
    return list(page.evaluate("() => nodulebench.timings"))


def proposal_ms(page: Any) -> list[float]:
    """Clicks on the ball, until the server has answered with outlines."""
    page.keyboard.press("p")
    for _ in range(CLICKS):
        place = page.evaluate(
            """([x, y]) => {
              const { grid } = nodulebench.volume, k = Math.floor(grid.size[2] / 2);
              const index = grid.toIndex([x, y, grid.toWorld([0, 0, k])[2]]);
              nodulebench.moveTo(index);
              const box = nodulebench.view.canvas.getBoundingClientRect();
              const at = nodulebench.view.toCanvas(index);
              return [box.left + at[0], box.top + at[1]];
            }""",
            list(BALL_MM),
        )
        with page.expect_response(lambda answer: answer.url.endswith("/proposal")):
            page.mouse.click(*place)
    entries = page.evaluate(
        """() => performance.getEntriesByType("resource")
          .filter((entry) => entry.name.endsWith("/proposal")).map((entry) => entry.duration)"""
    )
    page.keyboard.press("l")
    return list(entries)


def page_mb(page: Any) -> float:
    """What our processes that draw pages have for themselves."""
    page.evaluate("() => new Promise((done) => setTimeout(done, 300))")
    total = 0.0
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if b"--type=renderer" in (folder / "cmdline").read_bytes() and _is_ours(folder):
                text = (folder / "smaps_rollup").read_text(encoding="utf-8")
                total += float(text.split("\nPss:")[1].split()[0]) / 1024
        except (OSError, IndexError):
            continue
    return total


def _is_ours(folder: Path) -> bool:
    """Whether a process descends from this one."""
    while folder.name not in ("0", "1"):
        if int(folder.name) == os.getpid():
            return True
        parent = (folder / "stat").read_text(encoding="utf-8").rpartition(")")[2].split()[1]
        folder = Path("/proc", parent)
    return False


def line(what: str, value: str, bar: str) -> None:
    """One row of the table."""
    print(f"| {what} | {value} | {bar} |", flush=True)


def spread(ms: Sequence[float]) -> str:
    """Median and 95th percentile."""
    return f"{np.median(ms):.1f} ms (95 %: {np.percentile(ms, 95):.1f})"


def measure(browser: Any, slices: int, cases: int, folder: Path) -> None:
    """Everything on scans of usual length."""
    names = [f"scan-{index}" for index in range(4)]
    for name in names:
        write_scan(folder, name, slices)
    os.sync()  # existing scans are not being written any more
    with served(folder) as auth:
        with opened(browser, auth) as page:
            times = page.evaluate("() => [globalThis.firstMs, globalThis.countedMs ?? 0]")
            line("first picture, never opened before", f"{times[0] / 1000:.2f} s", "3 s")
            line("a word of progress before that", f"{times[1] / 1000:.2f} s", "")
            loaded(page)
        first = []
        for _ in range(3):
            with opened(browser, auth) as page:
                first.append(page.evaluate("() => globalThis.firstMs"))
                began = time.perf_counter()
                loaded(page)
        line("first picture, opened before", f"{np.median(first) / 1000:.2f} s", "0.5 s")
        line("all slices after that", f"{time.perf_counter() - began:.1f} s", "")
        with opened(browser, auth) as page:
            loaded(page)
            for plane in ("axial", "coronal", "sagittal"):
                line(f"wheel to pixels, {plane}", spread(wheel_ms(page, plane)), "16 ms")
            line("proposal at a click", spread(proposal_ms(page)), "200 ms")
            line("memory of the page, one case", f"{page_mb(page):.0f} MB", "1,000 MB")
            taken = []
            for turn in range(cases):
                number = (turn + 1) % len(names)
                page.locator("#scans button").nth(number).click()
                loaded(page, number)
                taken.append(page_mb(page))
            sizes = f"{taken[0]:.0f}, {taken[len(taken) // 2]:.0f}, {taken[-1]:.0f} MB"
            line(
                f"the same after 1, {len(taken) // 2 + 1} and {len(taken)} cases",
                sizes,
                "1,000 MB",
            )


def measure_long(browser: Any, slices: int, folder: Path) -> None:
    """A very long scan."""
    write_scan(folder, "long", slices)
    with served(folder) as auth, opened(browser, auth) as page:
        first_ms = page.evaluate("() => globalThis.firstMs")
        line(f"{slices} slices: first picture, never opened before", f"{first_ms / 1000:.2f} s", "")
        loaded(page)
        line(
            f"{slices} slices: wheel to pixels, coronal", spread(wheel_ms(page, "coronal")), "16 ms"
        )
        line(f"{slices} slices: memory of the page", f"{page_mb(page):.0f} MB", "1,000 MB")


def main() -> None:
    """Print the table."""
    from playwright.sync_api import sync_playwright

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--slices", type=int, default=300)
    parser.add_argument("--cases", type=int, default=20)
    parser.add_argument("--long", type=int, default=1000)
    given = parser.parse_args()
    print(f"| 512 x 512 x {given.slices} | measured | bar |\n|---|---|---|", flush=True)
    with sync_playwright() as started:
        browser = started.chromium.launch(executable_path=BROWSER, args=list(ARGUMENTS))
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "scans").mkdir()
            measure(browser, given.slices, given.cases, Path(folder) / "scans")
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "scans").mkdir()
            measure_long(browser, given.long, Path(folder) / "scans")
        browser.close()


if __name__ == "__main__":
    main()
