"""From an evaluation's false positives to the next evaluation: readers by keys, and by tables."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from builders.browser import Served, opened_page, painted, started_browser
from builders.reading import write_scans
from builders.working import NEXT_TO, PLACE
from nodulebench.cli import main
from nodulebench.web.viewer.study import open_study_session

PICTURES = os.environ.get("NODULEBENCH_PICTURES")
"""A folder for screenshots; None: no screenshots."""
MARKS = {("a", "ball"): PLACE, ("b", "ball"): PLACE, ("a", "air"): NEXT_TO}
TRUTH_MM = [PLACE[0] - 14, PLACE[1] + 12, PLACE[2]]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with started_browser() as opened:
        yield opened


def run(*arguments: object) -> None:
    with pytest.raises(SystemExit) as stopped:
        main([str(argument) for argument in arguments])
    assert not stopped.value.code


def evaluated(folder: Path, reference: str, out: str) -> dict[str, int]:
    options = ("--protocol", "luna16", "--bootstraps", 0, "--out", folder / out)
    run("evaluate", folder / "mine.csv", "--reference", folder / reference, *options)
    evaluation = json.loads((folder / out / "evaluation.json").read_text())
    (rule,) = evaluation["algorithms"][0]["rules"].values()
    return {name: rule["counts"][name] for name in ("hit", "missed", "false_positive")}


def given(folder: Path) -> Path:
    """Two scans of a ball without annotations, and an algorithm that marks the ball and air."""
    write_scans(folder / "scans", "a", "b")
    truth = folder / "truth"
    truth.mkdir()
    columns = "seriesuid,coordX,coordY,coordZ,diameter_mm\n"
    known = ",".join(map(str, TRUTH_MM))
    (truth / "annotations.csv").write_text(f"{columns}b,{known},6\n")
    (truth / "annotations_excluded.csv").write_text(columns)
    (truth / "seriesuids.csv").write_text("a\nb\n")
    rows = [f"b,{known},0.99"]
    rows += [
        f"{case},{','.join(map(str, place))},{0.9 - number / 10}"
        for number, ((case, _), place) in enumerate(MARKS.items())
    ]
    header = "seriesuid,coordX,coordY,coordZ,probability"
    (folder / "mine.csv").write_text("\n".join([header, *rows]) + "\n")
    return folder


def is_ball(page: Any) -> bool:
    place = page.evaluate("() => nodulebench.findings[0].finding.position_mm")
    return place == pytest.approx(PLACE)


def on_place(page: Any, number: int) -> None:
    page.wait_for_function(
        "(number) => nodulebench.number === number && nodulebench.findings.length"
        " && nodulebench.volume?.isComplete",
        arg=number,
    )


def save_screenshot(page: Any, name: str) -> None:
    painted(page)
    if PICTURES:
        page.screenshot(path=Path(PICTURES) / f"{name}.png")


def read_by_keys(browser: Any, folder: Path, name: str) -> None:
    """Every ball is measured across 14 voxels of 0.8 mm."""
    with open_study_session(folder / "study", folder / "scans", name) as session:
        served = Served(session)
        try:
            with opened_page(browser, served) as page:
                page.set_viewport_size({"width": 1366, "height": 768})
                keys = page.locator("#keys kbd").all_text_contents()
                assert sorted(set(keys)) == sorted(keys)  # no key has two meanings
                for number in range(3):
                    on_place(page, number)
                    page.keyboard.press("Enter")
                    assert page.locator("#notice").is_visible()  # it is not classified yet
                    if is_ball(page):
                        page.keyboard.press("7")
                        page.keyboard.press("Enter")
                        assert page.locator("#notice.wrong").is_visible()  # it is not measured
                        lay_axis(page)
                    else:
                        page.keyboard.press("9")
                    save_screenshot(page, f"study-{number + 1}")
                    page.keyboard.press("Enter")
                page.wait_for_function("() => nodulebench.scans.every((scan) => scan.is_submitted)")
                save_screenshot(page, "study-done")
        finally:
            served.stop()


def lay_axis(page: Any) -> None:
    for key, count in (("ArrowLeft", 7), ("ArrowRight", 14)):
        for _ in range(count):
            page.keyboard.press(f"Shift+{key}")
        page.keyboard.press("e")
    page.wait_for_function("() => nodulebench.findings[0].finding.ruler")


def read_by_table(folder: Path, name: str, calls: dict[tuple[str, str], str]) -> None:
    file = folder / f"{name}.csv"
    run("annotate", "observer", "export-tasks", folder / "study", file, "--by", name)
    asked = pl.read_csv(file, schema_overrides={"mark_id": pl.String})
    assert "score" not in asked.columns
    lines = ["case_id,mark_id,call,diameter_mm"]
    for row in asked.iter_rows(named=True):
        kind = "air" if row["x_mm"] == NEXT_TO[0] else "ball"
        lines.append(f"{row['case_id']},{row['mark_id']},{calls[row['case_id'], kind]}")
    file.write_text("\n".join(lines) + "\n")
    run("annotate", "observer", "import-answers", folder / "study", file, "--by", name)


def test_from_false_positives_to_additional_nodules(browser: Any, tmp_path: Path) -> None:
    folder = given(tmp_path)
    counts = evaluated(folder, "truth", "result")
    assert counts == {"hit": 1, "missed": 0, "false_positive": 3}
    run(
        "annotate", "observer", "select", folder / "result", "--at-fp", 3, "--out", folder / "study"
    )
    readers = [part for name in ("ann", "bo", "cy") for part in ("--reader", name)]
    run("annotate", "observer", "open", folder / "study", *readers)
    read_by_keys(browser, folder, "ann")
    every = dict.fromkeys(MARKS, "non_nodule,")
    read_by_table(folder, "bo", {**every, ("a", "ball"): "nodule,12", ("b", "ball"): "nodule,12"})
    read_by_table(folder, "cy", {**every, ("a", "ball"): "nodule,10"})

    options = (
        "--reference",
        folder / "truth",
        "--minimum-agreement",
        2,
        "--marks",
        folder / "mine.csv",
    )
    run("annotate", "observer", "conclude", folder / "study", *options, "--out", folder / "both")
    added = pl.read_csv(folder / "both" / "additional_nodules.csv")
    assert added.select("case_id", "diameter_mm", "agreement").rows() == [
        ("a", pytest.approx((11.2 + 12 + 10) / 3), 3),
        ("b", pytest.approx((11.2 + 12) / 2), 2),
    ]
    observers = json.loads((folder / "both" / "observers.json").read_text())
    assert {name: log["calls"] for name, log in observers["logs"].items()} == dict.fromkeys(
        ("ann", "bo", "cy"), 3
    )
    counts = evaluated(folder, "both/after", "again")
    assert counts == {"hit": 3, "missed": 0, "false_positive": 1}
