"""Nodules marked by real mouse and keyboard, and never lost: closed tab, dead server, two tabs."""

import shutil
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from builders.browser import Served, opened_page, painted, place_on, served_folder, started_browser
from builders.reading import BALL_MM, RADIUS_MM, write_scans
from builders.real_scans import plain_scan

PLACE = BALL_MM.tolist()
SAVED = "() => document.getElementById('saved').textContent === 'All saved'"


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with started_browser() as opened:
        yield opened


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_scans(tmp_path / "scans", "a", "b")


def saved(page: Any) -> None:
    painted(page)
    page.wait_for_function(SAVED)


def stored_findings(served: Served, case_id: str = "a") -> list[Any]:
    assert served.session.drafts is not None
    return list(served.session.drafts.of(case_id).present.values())


def sizes(page: Any, at: int = 0) -> dict[str, Any]:
    page.wait_for_function("(at) => nodulebench.findings[at]?.measured?.diameter_mm", arg=at)
    sizes_mm: dict[str, Any] = page.evaluate("(at) => nodulebench.findings[at].measured", at)
    return sizes_mm


def drag(page: Any, start: tuple[float, float], *steps: tuple[float, float]) -> None:
    page.mouse.move(*start)
    page.mouse.down()
    for step in steps:
        page.mouse.move(*step)
    page.mouse.up()


def ring(middle: tuple[float, float], radius: float, count: int = 24) -> list[tuple[float, float]]:
    turn = np.linspace(0, 2 * np.pi, count, endpoint=False)
    return [
        (middle[0] + radius * np.cos(angle), middle[1] + radius * np.sin(angle)) for angle in turn
    ]


def test_a_nodule_is_proposed_described_drawn_undone_and_submitted(
    browser: Any, folder: Path
) -> None:
    with served_folder(folder) as served, opened_page(browser, served) as page:
        page.keyboard.press("p")
        page.mouse.click(*place_on(page, "coronal", PLACE))
        assert sizes(page)["diameter_mm"] == pytest.approx(2 * RADIUS_MM, rel=0.06)
        before = sizes(page)["volume_mm3"]
        for _ in range(3):
            page.keyboard.press(".")
        page.wait_for_function(
            "(before) => nodulebench.findings[0].measured.volume_mm3 > before", arg=before
        )
        page.select_option("select[name=type]", "part_solid")
        page.select_option("select[name=malignancy]", "4")
        page.fill("textarea[name=comment]", "at the fissure")
        page.locator("#findings button").click()  # leaves the field
        saved(page)
        (finding,) = stored_findings(served)
        assert (finding.type, finding.malignancy, finding.comment) == (
            "part_solid",
            4,
            "at the fissure",
        )

        page.keyboard.press("Escape")
        page.keyboard.press("d")
        away = place_on(page, "axial", [PLACE[0] - 16, PLACE[1] - 14, PLACE[2]])
        scale = page.evaluate("() => nodulebench.views[0].scale")
        drag(page, *ring(away, 4 * scale))
        page.wait_for_function("() => nodulebench.findings.length === 2")
        drawn = sizes(page, 1)
        assert drawn["long_mm"] == pytest.approx(8, abs=0.3)
        assert drawn["slices"][0]["area_mm2"] == pytest.approx(np.pi * 16, rel=0.06)
        page.keyboard.press("e")
        half = [(away[0], away[1] - 60), (away[0] + 90, away[1] - 60), (away[0] + 90, away[1] + 60)]
        drag(page, *half, (away[0], away[1] + 60))
        saved(page)
        page.wait_for_function("() => nodulebench.findings[1].measured.slices[0].area_mm2 < 35")
        assert sizes(page, 1)["slices"][0]["area_mm2"] == pytest.approx(np.pi * 8, rel=0.2)
        page.keyboard.press("Control+z")
        saved(page)
        page.wait_for_function("() => nodulebench.findings[1].measured.slices[0].area_mm2 > 45")
        page.keyboard.press("Control+y")
        page.keyboard.press("Shift+Delete")
        saved(page)
        assert len(stored_findings(served)) == 1

        page.locator("#submit").click()
        page.locator("#confirm button[value=yes]").click()
        page.wait_for_function("() => nodulebench.isSubmitted")
        page.keyboard.press("p")
        page.mouse.click(*place_on(page, "axial", PLACE))
        painted(page)
        assert len(stored_findings(served)) == 1
        assert "submitted" in page.locator("#scans").inner_text()
        lines = (served.session.folder / "nodules.csv").read_text().splitlines()
        assert len(lines) == 1 + len(finding.slices)
        assert ",part_solid," in lines[1]


def test_ellipse_polygon_axes_points_and_filling_by_keyboard(browser: Any, folder: Path) -> None:
    with served_folder(folder) as served, opened_page(browser, served) as page:
        at = place_on(page, "axial", PLACE)
        scale = page.evaluate("() => nodulebench.views[0].scale")
        reach = 6 * scale
        page.keyboard.press("o")
        drag(page, (at[0] - reach, at[1] - reach), at, (at[0] + reach, at[1] + reach))
        assert sizes(page)["long_mm"] == pytest.approx(12, abs=0.15)
        for _ in range(3):
            page.keyboard.press("ArrowUp")
        page.keyboard.press("g")
        for dx, dy in ((-20, -20), (20, -20), (20, 20), (-20, 20)):
            page.mouse.click(at[0] + dx, at[1] + dy)
        page.keyboard.press("Enter")
        page.wait_for_function("() => nodulebench.findings[0].finding.slices.length === 2")
        page.keyboard.press("f")
        page.wait_for_function("() => nodulebench.findings[0].finding.slices.length === 4")
        page.keyboard.press("r")
        drag(page, (at[0] - reach, at[1]), at, (at[0] + reach, at[1]))
        drag(page, (at[0], at[1] - 20), at, (at[0], at[1] + 20))
        page.wait_for_function("() => nodulebench.findings[0].finding.ruler?.short")
        assert "12.0 ×" in page.locator("#sizes").inner_text()
        page.keyboard.press("Escape")
        page.keyboard.press("t")
        page.mouse.click(*place_on(page, "sagittal", [PLACE[0], PLACE[1] + 15, PLACE[2] + 8]))
        page.wait_for_function("() => nodulebench.findings.length === 2")
        saved(page)
        assert [finding.kind for finding in stored_findings(served)] == ["nodule", "small_nodule"]
        assert (
            np.abs(np.array(stored_findings(served)[1].position_mm) - PLACE - [0, 15, 8]).max()
            < 0.6
        )
        page.keyboard.press("n")
        page.keyboard.press("Enter")  # a proposal at the cross-hair, without the mouse
        page.wait_for_function("() => nodulebench.findings.length === 3")
        saved(page)
        assert len(stored_findings(served)) == 3


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port: int = free.getsockname()[1]
    return port


def test_marks_survive_a_dead_server_a_closed_tab_and_two_tabs(browser: Any, folder: Path) -> None:
    port, secret = free_port(), "s" * 43
    context = browser.new_context(viewport={"width": 1366, "height": 768})
    context.set_default_timeout(120_000)

    def opened(served: Served) -> Any:
        page = context.new_page()
        page.goto(served.auth.address)
        page.wait_for_function("() => globalThis.nodulebench?.volume?.isComplete")
        page.wait_for_function(SAVED)
        painted(page)
        return page

    with served_folder(folder, port, secret) as served:
        page = opened(served)
        page.keyboard.press("t")
        page.mouse.click(*place_on(page, "axial", PLACE))
        saved(page)
    # the server is dead: the mark is drawn, stored in the browser, and the tab is closed
    page.mouse.click(*place_on(page, "axial", [PLACE[0] - 9, PLACE[1], PLACE[2]]))
    page.wait_for_function(
        "() => /[12] edits are stored/.test(document.getElementById('saved').textContent)"
    )
    page.close()
    with served_folder(folder, port, secret) as served:
        assert len(stored_findings(served)) == 1
        first = opened(served)
        first.wait_for_function("() => nodulebench.findings.length === 2")
        assert len(stored_findings(served)) == 2
        second = opened(served)
        second.wait_for_function("() => nodulebench.findings.length === 2")
        for page, subtlety in ((first, "2"), (second, "5")):
            page.locator("#findings button").first.click()
            page.select_option("select[name=subtlety]", subtlety)
            painted(page)
            if page is first:
                saved(page)
        second.locator("#notice.wrong").wait_for()
        assert "another window" in second.locator("#notice").inner_text()
        assert stored_findings(served)[0].subtlety == 2
        second.get_by_text("Use my version").click()
        saved(second)
        assert stored_findings(served)[0].subtlety == 5
        assert len(stored_findings(served)) == 2
        drafts = served.session.drafts
        assert drafts is not None
        before = drafts.of("a").seconds
        second.evaluate("() => { nodulebench.tools.findings.drafts.seconds = 40; }")
        second.goto("about:blank")  # as closing it does; the time on the open scan is not lost
        for _ in range(200):
            if drafts.of("a").seconds > before + 39:
                break
            first.wait_for_timeout(20)
        assert drafts.of("a").seconds >= before + 40
    context.close()


def test_one_click_measures_a_real_nodule_like_its_readers(
    browser: Any, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """LIDC-IDRI-0001, whose four readers' outlines have 24.1, 22.2, 22.7 and 23.5 mm."""
    (tmp_path / "scans").mkdir()
    for path in plain_scan(tmp_path_factory, "LIDC-IDRI-0001").iterdir():
        if 76 <= int(path.stem[-4:]) <= 106:
            shutil.copy(path, tmp_path / "scans")
    with served_folder(tmp_path / "scans") as served, opened_page(browser, served) as page:
        assert len(served.session.scans) == 1
        page.keyboard.press("p")
        page.mouse.click(*place_on(page, "axial", [56.2, 86.3, -115.9]))
        assert sizes(page)["diameter_mm"] == pytest.approx(23.1, rel=0.10)
        saved(page)
