"""Three readers, a disagreement, a corrected outline and a ruling, by real mouse and keyboard.

On a site, by accounts: from the form of a project to the score of an algorithm. And the exam.
"""

import io
import json
import os
import socket
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi", reason="the extra 'portal' is not installed")

from builders.browser import (
    Running,
    Served,
    opened_page,
    painted,
    place_on,
    started_browser,
    wait_until_loaded,
    watched_page,
)
from builders.exams import ball_exam
from builders.portal import PASSWORD, make_person, open_site, signed_in
from builders.reading import write_scans
from builders.site_projects import SCANS, roster_text, with_accounts
from builders.working import NEXT_TO, PLACE, ball_project, handle_of, people_of
from nodulebench.annotation.actions import LIDC
from nodulebench.cli import main
from nodulebench.i18n.translator import LanguageName
from nodulebench.io.formats import read_reference
from nodulebench.web.portal.app import make_app
from nodulebench.web.portal.projects.service import open_project_access
from nodulebench.web.portal.site import Site
from nodulebench.web.viewer.exam import Exam, open_exam_session
from nodulebench.web.viewer.project import open_project_session

PICTURES = os.environ.get("NODULEBENCH_PICTURES")
"""A folder for screenshots of all modes; None: no screenshots."""
PEOPLE = ("r1", "r2", "r3", "lead2", "judge1")


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with started_browser() as opened:
        yield opened


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    """A site that listens, with scans."""
    listening = socket.create_server(("127.0.0.1", 0))
    made = open_site(tmp_path / "portal")
    address = f"http://127.0.0.1:{listening.getsockname()[1]}"
    made = replace(made, settings=replace(made.settings, address=address))
    write_scans(made.settings.scan_sets / SCANS, "a")
    running = Running(make_app(made), listening)
    yield made
    running.stop()
    made.database.close()


@contextmanager
def at_work(browser: Any, site: Site, name: str) -> Iterator[Any]:
    """The page of a person who has signed in, with their first case open."""
    with watched_page(browser) as page:
        signs_in(page, site, f"{name}.x")
        page.get_by_role("link", name="Reading", exact=True).click()
        save_screenshot(page, f"projects-{name}")
        page.get_by_role("link", name="Open the viewer").click()
        wait_until_loaded(page)
        page.wait_for_function("() => nodulebench.mode")
        yield page


def signs_in(page: Any, site: Site, login: str) -> None:
    page.goto(f"{site.settings.address}/sign-in")
    page.fill("input[name=login]", login)
    page.fill("input[name=password]", PASSWORD)
    page.locator("main button").first.click()
    page.wait_for_url("**/")


def save_screenshot(page: Any, name: str) -> None:
    if PICTURES:
        painted(page)
        page.screenshot(path=Path(PICTURES) / f"{name}.png")


def submit_case(page: Any, after: str = "done") -> None:
    """Submit the case; the page then shows its next task."""
    page.wait_for_function("() => document.getElementById('saved').textContent === 'All saved'")
    page.locator("#submit").click()
    page.locator("#confirm button[value=yes]").click()
    page.wait_for_function("(after) => nodulebench.mode === after", arg=after)


def ellipse(page: Any, place: list[float], half_mm: float) -> None:
    x, y = place_on(page, "axial", place)
    reach = half_mm * page.evaluate("() => nodulebench.views[0].scale")
    page.mouse.move(x - reach, y - reach)
    page.mouse.down()
    page.mouse.move(x, y)
    page.mouse.move(x + reach, y + reach)
    page.mouse.up()


def proposes(page: Any) -> None:
    page.keyboard.press("p")
    page.mouse.click(*place_on(page, "coronal", PLACE))
    page.wait_for_function("() => nodulebench.findings[0]?.measured?.diameter_mm")


def reads(
    browser: Any, site: Site, name: str, *, finds_more: bool = False, after: str = "done"
) -> None:
    with at_work(browser, site, name) as page:
        proposes(page)
        if finds_more:
            page.keyboard.press("Escape")
            page.keyboard.press("o")
            ellipse(page, NEXT_TO, 3)
            page.wait_for_function("() => nodulebench.findings[1]?.measured?.diameter_mm")
        save_screenshot(page, f"read-{name}")
        submit_case(page, after)
        done = "1 of 1 done" if after == "done" else "0 of 1 done"
        assert done in page.locator("#batches").inner_text()


def organises(browser: Any, site: Site) -> str:
    """Make the project by its form, and open a batch; the id of the project."""
    organiser = make_person(site, "olga", "organiser")
    with watched_page(browser) as page:
        signs_in(page, site, "olga")
        page.goto(f"{site.settings.address}/projects/new")
        page.fill("input[name=title]", "Panel 2026")
        file = {"name": "people.toml", "mimeType": "text/plain", "buffer": roster_text().encode()}
        page.set_input_files("input[name=roster]", file)
        save_screenshot(page, "new-project")
        page.get_by_role("button", name="Create").click()
        page.wait_for_selector("text=You are office in this project.")
        project_id = page.url.rpartition("/")[2]
        with_accounts(site, project_id, organiser, *PEOPLE)
        page.reload()
        page.select_option("select[name=reviewer]", "lead2")
        page.get_by_role("button", name="Open a batch").click()
        page.wait_for_selector("text=first reading")
        save_screenshot(page, "project")
    return project_id


def evaluated(folder: Path) -> dict[str, Any]:
    """The evaluation of an algorithm that marks only the ball."""
    x, y, z = PLACE
    (folder / "mine.csv").write_text(
        "case_id,nodule_id,slice_index,z_mm,center_x_mm,center_y_mm,length_mm,width_mm\n"
        f"a,1,11,{z},{x},{y},10,10\n"
    )
    options = ("--protocol", "nifdc-2022", "--bootstraps", "0", "--out", str(folder / "result"))
    reference = ("--reference", str(folder / "taken" / "reference"))
    with pytest.raises(SystemExit) as stopped:
        main(["evaluate", str(folder / "mine.csv"), *reference, *options])
    assert not stopped.value.code
    evaluation: dict[str, Any] = json.loads((folder / "result" / "evaluation.json").read_text())
    counts: dict[str, Any] = evaluation["algorithms"][0]["rules"]["center_hit"]["counts"]
    return counts


def test_from_three_readers_to_a_score_in_the_browser(
    browser: Any, site: Site, tmp_path: Path
) -> None:
    project_id = organises(browser, site)
    reads(browser, site, "r1")
    reads(browser, site, "r2", finds_more=True)
    reads(browser, site, "r3", after="type")

    with at_work(browser, site, "r2") as page:
        assert page.evaluate("() => nodulebench.mode") == "type"
        assert not page.locator("[role=toolbar]").is_visible()
        page.locator("#submit").click()
        assert "without a type: 2" in page.locator("#notice").inner_text()
        for _ in range(2):
            page.select_option("select[name=type]", "solid")
            page.locator("#findings button").nth(1).click()
        save_screenshot(page, "type")
        submit_case(page)

    with at_work(browser, site, "lead2") as page:
        assert page.evaluate("() => nodulebench.mode") == "review"
        assert page.locator("#known .readers span").all_inner_texts() == [
            f"Reader {letter} · slices: {count}"
            for letter, count in zip("ABC", page.evaluate(COUNTS), strict=True)
        ]
        page.keyboard.press("y")
        page.keyboard.press("e")
        before = page.evaluate("() => nodulebench.findings[0].finding.slices.length")
        erase_half(page)
        page.wait_for_function("() => !document.getElementById('reset').hidden")
        save_screenshot(page, "review-corrected")
        assert page.evaluate("() => nodulebench.findings[0].finding.slices.length") == before
        page.keyboard.press("n")
        page.wait_for_function("() => nodulebench.selected === 'candidate-2'")
        page.locator("#known .slices button").first.click()
        save_screenshot(page, "review-inconsistent")
        page.locator("[data-action=answer_no]").click()
        page.fill("textarea[name=comment]", "a vessel")
        page.locator("#findings button").nth(1).click()
        submit_case(page)

    with at_work(browser, site, "judge1") as page:
        assert page.evaluate("() => nodulebench.mode") == "arbitrate"
        known = page.locator("#known").inner_text()
        assert "the reviewer objects" in known
        assert "The reviewer: a vessel" in known
        page.keyboard.press("w")
        page.fill("textarea[name=comment]", "followed over three slices")
        page.fill("input[name=discussed_with]", "judge2")
        page.locator("#findings button").nth(1).click()
        save_screenshot(page, "arbitrate")
        submit_case(page)
        page.locator("#batches button").click()
        page.wait_for_function(
            "() => document.getElementById('batches').innerText.includes('released')"
        )
        save_screenshot(page, "released")

    with open_project_access(site, project_id, "").handle() as handle:
        batch = handle.batch("b1")
    ruling = batch.rulings["a", "candidate-2"]
    assert (ruling.comment, ruling.discussed_with) == ("followed over three slices", ("judge2",))
    correction = batch.corrected(("a", "candidate-1"))
    assert correction is not None
    assert correction.by == "lead2"
    olga = signed_in(site, "olga")
    taken = olga.get(f"/projects/{project_id}/reference.zip").content
    zipfile.ZipFile(io.BytesIO(taken)).extractall(tmp_path / "taken")
    counts = evaluated(tmp_path)
    assert (counts["hit"], counts["missed"], counts["false_positive"]) == (1, 0, 0)
    (nodule,) = read_reference(tmp_path / "taken/reference").nodules.iter_rows(named=True)
    assert (nodule["corrected_by"], nodule["agreement"], nodule["type"]) == ("lead2", 3, "solid")


COUNTS = "() => nodulebench.findings[0].known.readers.map(({ slices }) => slices.length)"


def erase_half(page: Any) -> None:
    """Erase the left half of the selected outline on the slice shown."""
    x, y = place_on(page, "axial", PLACE)
    reach = 9 * page.evaluate("() => nodulebench.views[0].scale")
    page.mouse.move(x, y - reach)
    page.mouse.down()
    for to in ((x - reach, y - reach), (x - reach, y + reach), (x, y + reach)):
        page.mouse.move(*to)
    page.mouse.up()


@contextmanager
def sitting(browser: Any, folder: Path, exam: Exam) -> Iterator[Any]:
    with open_exam_session(folder / "scans", "anna", exam, folder / "marks") as session:
        served = Served(session)
        try:
            with opened_page(browser, served) as page:
                yield page
        finally:
            served.stop()


@pytest.mark.parametrize("finds", [True, False], ids=["passed", "not passed"])
def test_an_exam_ends_with_its_sheet_and_the_misses(
    browser: Any, tmp_path: Path, finds: bool
) -> None:
    write_scans(tmp_path / "scans", "a")
    with sitting(browser, tmp_path, ball_exam(tmp_path)) as page:
        assert "panel-nodule-77" not in page.content()
        if finds:
            proposes(page)
            page.wait_for_function(
                "() => document.getElementById('saved').textContent === 'All saved'"
            )
        page.locator("#submit").click()
        page.locator("#confirm button[value=yes]").click()
        page.wait_for_selector("#sheet")
        sheet = page.locator("aside").inner_text()
        assert ("Not passed" in sheet) != finds
        assert ("1 of 1 nodules detected" if finds else "0 of 1 nodules detected") in sheet
        wait_until_loaded(page)
        if finds:
            save_screenshot(page, "exam-passed")
            return
        page.locator("[data-action=next]").click()
        page.wait_for_function("() => nodulebench.selected === 'nodule:panel-nodule-77'")
        painted(page)
        save_screenshot(page, "exam-failed")
        assert page.evaluate(RED_PIXELS) > 40


RED_PIXELS = """() => {
  const canvas = document.querySelector("canvas[data-plane=axial]");
  const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  let count = 0;
  for (let at = 0; at < data.length; at += 4) {
    count += data[at] > 200 && data[at + 1] < 150 && data[at + 2] < 140;
  }
  return count;
}"""
"""The number of pixels of the axial view in the colour of misses."""


@contextmanager
def at_home(browser: Any, folder: Path, name: str, language: LanguageName = "en") -> Iterator[Any]:
    """The page of a person whose project is a folder, with their first case open."""
    with open_project_session(folder / "panel", folder / "scans", name) as session:
        served = Served(session, language=language)
        try:
            with opened_page(browser, served) as page:
                page.wait_for_function("() => nodulebench.mode")
                yield page
        finally:
            served.stop()


def test_the_page_is_in_chinese(browser: Any, tmp_path: Path) -> None:
    folder = ball_project(tmp_path, "a")
    with at_home(browser, folder, "r1", language="zh") as page:
        save_screenshot(page, "read-zh")
        assert "待阅片" in page.locator("#scans").inner_text()


def test_a_revision_shows_the_findings_of_others(browser: Any, tmp_path: Path) -> None:
    rules = LIDC.model_copy(update={"readers": 3})
    folder = ball_project(tmp_path, "a", rules=rules, reviewer=None)
    with people_of(folder, "r1", "r2", "r3") as people:
        people["r1"].draw(0, "mine", NEXT_TO)
        for name in ("r2", "r3"):
            people[name].draw(0, "ball", PLACE)
        for person in people.values():
            person.submit(0)
    with at_home(browser, folder, "r1") as page:
        assert page.evaluate("() => nodulebench.mode") == "revise"
        keys = page.locator("#keys kbd").all_text_contents()
        assert sorted(set(keys)) == sorted(keys)  # no key has two meanings
        assert page.locator("#others li").count() == 2
        page.locator("#others button.entry").first.click()
        save_screenshot(page, "revise")
        page.locator("#others li button", has_text="Copy").first.click()
        page.wait_for_function("() => nodulebench.findings[1]?.measured?.diameter_mm")
        page.locator("#findings button").first.click()
        page.keyboard.press("Shift+Delete")
        page.wait_for_function("() => nodulebench.findings.length === 1")
        save_screenshot(page, "revise-taken")
        submit_case(page)
    batch = handle_of(folder).batch("b1")
    ((mine,), (taken,)) = (
        readings["a", "r1"].findings for readings in (batch.readings, batch.last_readings)
    )
    assert mine.finding_id == "mine"
    (ball,) = batch.readings["a", "r2"].findings
    assert [slice_.center_x_mm for slice_ in taken.slices] == pytest.approx(
        [slice_.center_x_mm for slice_ in ball.slices]
    )
