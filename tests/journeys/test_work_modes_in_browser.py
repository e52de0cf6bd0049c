"""Three readers, a disagreement, a corrected outline and a ruling, by real mouse and keyboard."""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from builders.browser import Served, opened_page, painted, place_on, started_browser
from builders.working import BESIDE, PLACE, ball_project, desk_of, people_of
from nodulebench.annotate.process.rules import LIDC
from nodulebench.cli import main
from nodulebench.formats import read_reference
from nodulebench.workbench.work.room import open_work_room

PICTURES = os.environ.get("NODULEBENCH_PICTURES")
"""A folder: every mode is kept there as a picture, to be looked at."""


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with started_browser() as opened:
        yield opened


@contextmanager
def at_work(browser: Any, folder: Path, name: str) -> Iterator[Any]:
    """The page of somebody who takes part, with their first case open."""
    with open_work_room(folder / "panel", folder / "scans", name) as room:
        served = Served(room)
        try:
            with opened_page(browser, served) as page:
                page.wait_for_function("() => nodulebench.mode")
                yield page
        finally:
            served.stop()


def kept(page: Any, name: str) -> None:
    painted(page)
    if PICTURES:
        page.set_viewport_size({"width": 1440, "height": 900})
        painted(page)
        page.screenshot(path=Path(PICTURES) / f"{name}.png")


def hands_in(page: Any, after: str = "look") -> None:
    """Hand the case in; what is asked there then, the page shows by itself."""
    page.wait_for_function("() => document.getElementById('saved').textContent === 'All saved'")
    page.locator("#hand-in").click()
    page.locator("#sure button[value=yes]").click()
    page.wait_for_function("(after) => nodulebench.mode === after", arg=after)


def ellipse(page: Any, place: list[float], half_mm: float) -> None:
    x, y = place_on(page, "axial", place)
    reach = half_mm * page.evaluate("() => nodulebench.views[0].scale")
    page.mouse.move(x - reach, y - reach)
    page.mouse.down()
    page.mouse.move(x, y)
    page.mouse.move(x + reach, y + reach)
    page.mouse.up()


def reads(
    browser: Any, folder: Path, name: str, *, finds_more: bool = False, after: str = "look"
) -> None:
    with at_work(browser, folder, name) as page:
        page.keyboard.press("p")
        page.mouse.click(*place_on(page, "coronal", PLACE))
        page.wait_for_function("() => nodulebench.findings[0]?.measured?.diameter_mm")
        if finds_more:
            page.keyboard.press("Escape")
            page.keyboard.press("o")
            ellipse(page, BESIDE, 3)
            page.wait_for_function("() => nodulebench.findings[1]?.measured?.diameter_mm")
        kept(page, f"read-{name}")
        hands_in(page, after)
        done = "1 of 1 done" if after == "look" else "0 of 1 done"
        assert done in page.locator("#work").inner_text()


def evaluated(folder: Path) -> dict[str, Any]:
    """What an algorithm scores that marks the ball alone."""
    run(folder, "annotate", "review", "export", folder / "panel", folder / "bundle")
    x, y, z = PLACE
    (folder / "mine.csv").write_text(
        "case_id,nodule_id,slice_index,z_mm,center_x_mm,center_y_mm,length_mm,width_mm\n"
        f"a,1,11,{z},{x},{y},10,10\n"
    )
    options = ("--protocol", "nifdc-2022", "--bootstraps", 0, "--out", folder / "result")
    run(folder, "evaluate", folder / "mine.csv", "--reference", folder / "bundle", *options)
    found: dict[str, Any] = json.loads((folder / "result" / "evaluation.json").read_text())
    return found["algorithms"][0]["rules"]["center_hit"]["counts"]


def run(_: Path, *arguments: object) -> None:
    with pytest.raises(SystemExit) as stopped:
        main([str(one) for one in arguments])
    assert not stopped.value.code


def test_from_three_readers_to_a_score_in_the_browser(browser: Any, tmp_path: Path) -> None:
    folder = ball_project(tmp_path, "a")
    reads(browser, folder, "r1")
    reads(browser, folder, "r2", finds_more=True)
    reads(browser, folder, "r3", after="type")

    with at_work(browser, folder, "r2") as page:
        assert page.evaluate("() => nodulebench.mode") == "type"
        assert not page.locator("[role=toolbar]").is_visible()
        page.locator("#hand-in").click()
        assert "without a type: 2" in page.locator("#notice").inner_text()
        for _ in range(2):
            page.select_option("select[name=type]", "solid")
            page.locator("#findings button").nth(1).click()
        kept(page, "type")
        hands_in(page)

    with at_work(browser, folder, "lead2") as page:
        assert page.evaluate("() => nodulebench.mode") == "review"
        assert page.locator("#told .readers span").all_inner_texts() == [
            f"Reader {letter} · slices: {count}"
            for letter, count in zip("ABC", page.evaluate(COUNTS), strict=True)
        ]
        page.keyboard.press("y")
        page.keyboard.press("e")
        before = page.evaluate("() => nodulebench.findings[0].finding.slices.length")
        erase_half(page)
        page.wait_for_function("() => !document.getElementById('reset').hidden")
        kept(page, "review-corrected")
        assert page.evaluate("() => nodulebench.findings[0].finding.slices.length") == before
        page.keyboard.press("n")
        page.wait_for_function("() => nodulebench.selected === 'candidate-2'")
        page.locator("#told .slices button").first.click()
        kept(page, "review-inconsistent")
        page.locator("[data-do=answer_no]").click()
        page.fill("textarea[name=comment]", "a vessel")
        page.locator("#findings button").nth(1).click()
        hands_in(page)

    with at_work(browser, folder, "judge1") as page:
        assert page.evaluate("() => nodulebench.mode") == "arbitrate"
        told = page.locator("#told").inner_text()
        assert "the reviewer objects" in told
        assert "The reviewer: a vessel" in told
        page.keyboard.press("w")
        page.fill("input[name=discussed_with]", "judge2")
        page.locator("#findings button").nth(1).click()
        kept(page, "arbitrate")
        hands_in(page)
        page.locator("#work button").click()
        page.wait_for_function(
            "() => document.getElementById('work').innerText.includes('released')"
        )
        kept(page, "released")

    batch = desk_of(folder).batch("b1")
    assert batch.rulings["a", "candidate-2"].discussed_with == ("judge2",)
    anew = batch.corrected(("a", "candidate-1"))
    assert anew is not None
    assert anew.by == "lead2"
    counts = evaluated(folder)
    assert (counts["hit"], counts["missed"], counts["false_positive"]) == (1, 0, 0)
    (nodule,) = read_reference(folder / "bundle").nodules.iter_rows(named=True)
    assert (nodule["corrected_by"], nodule["agreement"], nodule["type"]) == ("lead2", 3, "solid")


COUNTS = "() => nodulebench.findings[0].told.readers.map((one) => one.slices.length)"


def erase_half(page: Any) -> None:
    """Erase the left half of the chosen outline on the slice that is shown."""
    x, y = place_on(page, "axial", PLACE)
    reach = 9 * page.evaluate("() => nodulebench.views[0].scale")
    page.mouse.move(x, y - reach)
    page.mouse.down()
    for to in ((x - reach, y - reach), (x - reach, y + reach), (x, y + reach)):
        page.mouse.move(*to)
    page.mouse.up()


def test_words_of_every_mode_are_there_in_chinese(browser: Any, tmp_path: Path) -> None:
    folder = ball_project(tmp_path, "a")
    with open_work_room(folder / "panel", folder / "scans", "r1") as room:
        served = Served(room, speaks="zh")
        try:
            with opened_page(browser, served) as page:
                page.wait_for_function("() => nodulebench.mode")
                kept(page, "read-zh")
                assert "待阅片" in page.locator("#scans").inner_text()
        finally:
            served.stop()


def test_a_second_reading_shows_what_others_drew(browser: Any, tmp_path: Path) -> None:
    rules = LIDC.model_copy(update={"readers": 3})
    folder = ball_project(tmp_path, "a", rules=rules, reviewer=None)
    with people_of(folder, "r1", "r2", "r3") as people:
        people["r1"].draw(0, "mine", BESIDE)
        for name in ("r2", "r3"):
            people[name].draw(0, "ball", PLACE)
        for person in people.values():
            person.hand_in(0)
    with at_work(browser, folder, "r1") as page:
        assert page.evaluate("() => nodulebench.mode") == "revise"
        keys = page.locator("#keys kbd").all_text_contents()
        assert sorted(set(keys)) == sorted(keys)  # none does two things
        assert page.locator("#others li").count() == 2
        page.locator("#others button.one").first.click()
        kept(page, "revise")
        page.locator("#others li button", has_text="Take").first.click()
        page.wait_for_function("() => nodulebench.findings[1]?.measured?.diameter_mm")
        page.locator("#findings button").first.click()
        page.keyboard.press("Shift+Delete")
        page.wait_for_function("() => nodulebench.findings.length === 1")
        kept(page, "revise-taken")
        hands_in(page)
    batch = desk_of(folder).batch("b1")
    ((mine,), (taken,)) = (one["a", "r1"].findings for one in (batch.readings, batch.last_readings))
    assert mine.finding_id == "mine"
    (ball,) = batch.readings["a", "r2"].findings
    assert [one.center_x_mm for one in taken.slices] == pytest.approx(
        [one.center_x_mm for one in ball.slices]
    )
