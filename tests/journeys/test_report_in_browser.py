"""The report opened from disk in a real browser, where one is installed: narrow, wide, dark."""

import json
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from builders.evaluation import algorithm_result, curves_of, evaluation, flips_of
from builders.report import comparison, group_document, plan, rule_effects
from nodulebench.report.content import ReportAttachments
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
    "--disable-default-apps",
    "--disable-domain-reliability",
    "--enable-logging=stderr",
    "--allow-file-access-from-files",
    "--virtual-time-budget=8000",
)
SCHEMES = {"dark": "0", "light": "1"}
PHONE, DESKTOP = 390, 1280
ONE = evaluation(*(algorithm_result(name, (90, 66)) for name in ("One", "Two", "Three")))

PROBE = """<!DOCTYPE html><meta charset="utf-8">
<iframe src="report.html" width="{phone}" height="900"></iframe>
<iframe src="report.html" width="{desktop}" height="900"></iframe>
<pre></pre>
<script>
addEventListener("load", () => {{
  const frames = [...document.querySelectorAll("iframe")];
  for (const frame of frames) frame.contentWindow.location.hash = "#methods";
  setTimeout(probe, 300);
}});
function probe() {{
  const seen = [...document.querySelectorAll("iframe")].map((frame) => {{
    const page = frame.contentDocument, view = frame.contentWindow;
    const plot = page.querySelector("figure.chart");
    plot.querySelector(".canvas").dispatchEvent(
      new view.KeyboardEvent("keydown", {{ key: "ArrowRight", bubbles: true }}));
    plot.querySelector('[data-do="in"]').click();
    const panels = [...page.querySelectorAll(".switch")[0].querySelectorAll("[data-choice]")];
    const before = panels.map((panel) => panel.hidden);
    page.querySelectorAll(".choices button")[1].click();
    const ranks = (sorted) => sorted.tHead.textContent.startsWith("Rank");
    const table = [...page.querySelectorAll("table.sortable")].find(ranks);
    const head = table.tHead.rows[0].cells[2];
    const numbers = () => [...table.tBodies[0].rows].map((row) => +row.cells[2].textContent);
    head.click();
    const rising = numbers();
    head.click();
    const sought = page.querySelector(".sought");
    const rows = [...sought.parentElement.querySelectorAll("tbody tr")];
    sought.value = rows[0].cells[0].textContent;
    sought.dispatchEvent(new view.Event("input"));
    return {{
      width: frame.clientWidth,
      overflow: page.documentElement.scrollWidth - page.documentElement.clientWidth,
      paper: view.getComputedStyle(page.body).backgroundColor,
      ink: view.getComputedStyle(page.body).color,
      reading: plot.querySelector(".reading").textContent,
      outputs: [...plot.querySelectorAll(".legend output")].map((output) => output.textContent),
      zoomed: plot.querySelector(".inside").getAttribute("viewBox"),
      empty: [...page.querySelectorAll("figure svg, .side svg")].filter(
        (svg) => !svg.closest("details:not([open]), [hidden]")
          && !svg.getBoundingClientRect().width).length,
      pictures: page.querySelectorAll("svg.picture").length,
      sections: page.querySelectorAll("section[id]").length,
      opened: page.querySelector("#methods > details").open,
      closed: page.querySelector("#uncertainty > details").open,
      switched: [before, panels.map((panel) => panel.hidden)],
      sorted: [rising, numbers()],
      found: [rows.length, rows.filter((row) => !row.hidden).length],
    }};
  }});
  document.querySelector("pre").textContent = JSON.stringify(seen);
}}
</script>"""


@dataclass(frozen=True)
class Visit:
    """What a browser saw at both widths, logged, and asked of the network."""

    phone: dict[str, Any]
    desktop: dict[str, Any]
    console: list[str]
    requests: list[str]


def report() -> str:
    document = group_document(
        comparisons=[comparison(rule_effects=rule_effects())],
        plan=plan(verdicts={"One": "failed"}),
    )
    curves = curves_of(ONE).filter((pl.col("algorithm") != "Two") | (pl.col("x") > 2))
    return render_html(document, curves, attachments=ReportAttachments(flips=flips_of(ONE)))


@pytest.fixture(scope="module", params=list(SCHEMES))
def visit(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Visit:
    if BROWSER is None:
        pytest.skip("no Chromium or Chrome is installed")
    folder = tmp_path_factory.mktemp(f"browser-{request.param}")
    (folder / "report.html").write_text(report(), encoding="utf-8")
    page_file = folder / "probe.html"
    page_file.write_text(PROBE.format(phone=PHONE, desktop=DESKTOP), encoding="utf-8")
    log = folder / "network.json"
    done = subprocess.run(
        [
            BROWSER,
            *QUIET,
            f"--user-data-dir={folder / 'profile'}",
            f"--blink-settings=preferredColorScheme={SCHEMES[request.param]}",
            f"--log-net-log={log}",
            "--dump-dom",
            page_file.as_uri(),
        ],
        capture_output=True,
        text=True,
        timeout=180,
        check=True,
    )
    shown = re.search(r"<pre>(\[.*\])</pre>", done.stdout, re.DOTALL)
    assert shown, done.stderr[-2000:]
    phone, desktop = json.loads(shown[1].replace("&gt;", ">").replace("&amp;", "&"))
    return Visit(
        phone | {"scheme": request.param},
        desktop | {"scheme": request.param},
        [line for line in done.stderr.splitlines() if "CONSOLE" in line],
        page_requests(log),
    )


def page_requests(log: Path) -> list[str]:
    """What was asked of the network on behalf of a page; the browser's own errands are not."""
    text = log.read_text(encoding="utf-8").rstrip().rstrip(",")
    events = json.loads(text if text.endswith("}") else text + "]}")["events"]
    asked = [event["params"] for event in events if "url" in event.get("params", {})]
    return [
        requested["url"]
        for requested in asked
        if requested["url"].startswith(("http:", "https:", "ws:", "wss:"))
        and requested.get("initiator", "not an origin") != "not an origin"
    ]


def test_console_stays_silent(visit: Visit) -> None:
    assert visit.console == []


def test_page_asks_nothing_of_the_network(visit: Visit) -> None:
    assert visit.requests == []


def test_nothing_is_wider_than_the_window(visit: Visit) -> None:
    assert visit.phone["width"] == PHONE
    assert visit.desktop["width"] == DESKTOP
    assert visit.phone["overflow"] <= 0
    assert visit.desktop["overflow"] <= 0


def brightness(colour: str) -> float:
    return sum(map(int, re.findall(r"\d+", colour)[:3])) / (3 * 255)


def test_page_follows_the_readers_choice_of_light_or_dark(visit: Visit) -> None:
    for seen in (visit.phone, visit.desktop):
        paper, ink = brightness(seen["paper"]), brightness(seen["ink"])
        assert (paper > 0.9 and ink < 0.3) if seen["scheme"] == "light" else paper < 0.2 < 0.7 < ink


def test_every_picture_is_drawn_at_both_widths(visit: Visit) -> None:
    for seen in (visit.phone, visit.desktop):
        assert seen["pictures"] > 8
        assert seen["empty"] == 0
        assert seen["sections"] > 10


def test_curve_can_be_read_and_zoomed_under_the_pages_own_policy(visit: Visit) -> None:
    for seen in (visit.phone, visit.desktop):
        assert re.fullmatch(r"At [\d.]+ false positives per case\. Drag to zoom\.", seen["reading"])
        first, second, _ = seen["outputs"]
        assert re.match(r"0\.\d{3} \(0\.\d{3}–[01]\.\d{3}\), score ≥ ", first)
        assert second == "–"  # nothing is known left of the first point of a curve
        assert seen["zoomed"] != "0 0 6400 4000"


def test_only_the_section_in_the_address_is_open(visit: Visit) -> None:
    for seen in (visit.phone, visit.desktop):
        assert seen["opened"] is True
        assert seen["closed"] is False


def test_one_of_several_charts_is_shown_at_a_time(visit: Visit) -> None:
    for seen in (visit.phone, visit.desktop):
        before, after = seen["switched"]
        assert before == [False, *[True] * (len(before) - 1)]
        assert after == [True, False, *[True] * (len(before) - 2)]


def test_tables_are_sorted_by_a_click_and_long_ones_searched(visit: Visit) -> None:
    for seen in (visit.phone, visit.desktop):
        rising, falling = seen["sorted"]
        assert rising == sorted(rising)
        assert falling == sorted(rising, reverse=True)
        assert len(set(rising)) > 1
        every, left = seen["found"]
        assert 0 < left < every
