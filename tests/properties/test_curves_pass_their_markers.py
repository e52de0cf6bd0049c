"""Every drawn curve passes its markers, and a developer's curve discloses no single mark."""

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from builders.evaluation import algorithm_result, curves_of, evaluation, rule_result
from builders.tables import (
    Case,
    Mark,
    Nodule,
    case,
    false_mark,
    mark,
    nodule,
    protocol,
    reference,
    submission,
)
from nodulebench.api.results import Result
from nodulebench.core.arrays import FloatArray
from nodulebench.core.documents.evaluation import Document, evaluation_document
from nodulebench.core.protocol import SEVEN_RATES, IntervalChoice
from nodulebench.core.results import Curve, Estimate, Evaluation
from nodulebench.evaluation.evaluate import evaluate
from nodulebench.evaluation.result_folder import curve_table
from nodulebench.i18n.translator import translator
from nodulebench.report.charts import FINE, HEIGHT, WIDTH, Line, plot
from nodulebench.report.content import ReportAttachments, report_content
from nodulebench.report.curves import rate_axis
from nodulebench.report.developer_copy import (
    LEAST_STEPS,
    developers_curves,
    developers_document,
    only_algorithm,
)
from nodulebench.report.excerpts import excerpt
from nodulebench.report.html import render_html
from nodulebench.report.pages.svg import Axis, Style
from nodulebench.report.pdf import Printed

TRANSLATE = translator()
PIXEL = 1.0
"""How far a line may pass a marker at, where the curve itself gives the marker's value."""
INTERVALS = {
    "linear": IntervalChoice(bootstraps=12),
    "step": IntervalChoice(bootstraps=0),
    "luna16": IntervalChoice(bootstraps=12, unit="case", method="luna16"),
}


class Drawn(NamedTuple):
    """One series of a plot, in pixels: its line from left to right, and its markers."""

    line: FloatArray
    markers: FloatArray


def ranked_cases(is_hit: list[bool], scores: list[float], cases: int) -> tuple[Case, ...]:
    """Marks in the order of their scores on some cases; one nodule is found by each hit."""
    content: list[list[Nodule | Mark]] = [[] for _ in range(cases)]
    content[0].append(nodule(10, (0.0, 5000.0, 0.0)))  # that nothing finds
    for number, (hit, score) in enumerate(zip(is_hit, scores, strict=True)):
        into = content[number % cases]
        if hit:
            at = (100.0 * number, -5000.0, 0.0)
            into += [nodule(10, at), mark(score, at)]
        else:
            into.append(false_mark(score, number))
    return tuple(case(f"case{number}", *part) for number, part in enumerate(content))


@st.composite
def evaluations(draw: st.DrawFn, readings: tuple[str, ...] = tuple(INTERVALS)) -> Evaluation:
    """A small evaluation under a protocol that reads the curve in one of the ways there are."""
    reading = draw(st.sampled_from(readings))
    cases = draw(st.integers(1, 12))
    fields: dict[str, object] = {"interpolation": reading, "interval": INTERVALS[reading]}
    if draw(st.booleans()):
        fields["operating_points"] = tuple(
            sorted(draw(st.sets(st.sampled_from((0.1, 0.3, 0.5, 1.0, 3.0, 10.0)), min_size=1)))
        )
    if draw(st.booleans()):
        fields["operating_point"] = draw(st.sampled_from((0.25, 0.7, 2.0)))
    elif draw(st.booleans()):
        fields["score_threshold"] = 0.95
    declared = draw(st.sampled_from((None, 0.9, 0.97)))
    algorithms = []
    for name in ("one", "two")[: draw(st.integers(1, 2))]:
        is_hit = [True, *draw(st.lists(st.booleans(), min_size=0, max_size=90))]
        ties = draw(st.sampled_from((1, 1, 3, 7)))
        scores = [1.0 - (number // ties) / 100 for number in range(len(is_hit))]
        algorithms.append((name, ranked_cases(is_hit, scores, cases)))
    truth = reference(*_joined([found for _, found in algorithms]))
    said = [
        replace(submission(*found, name=name), threshold=declared) for name, found in algorithms
    ]
    metrics = ("recall", "fp_per_case", "cpm", "average_precision")
    return evaluate(truth, said, protocol(metrics=metrics, **fields))


def _joined(lists: list[tuple[Case, ...]]) -> tuple[Case, ...]:
    """The nodules of several lists of the same cases."""
    return tuple(
        case(parts[0].name, *{item.at: item for part in parts for item in part.nodules}.values())
        for parts in zip(*lists, strict=True)
    )


def lab_page(found: Evaluation) -> str:
    return render_html(evaluation_document(found), curve_table(found))


def developers_page(found: Evaluation) -> str:
    return render_html(evaluation_document(found), curve_table(found), audience="developer")


def developers_copy_of_the_copy(found: Evaluation) -> str:
    """The page of a folder for a developer, whose curves were already thinned."""
    shown = developers_document(evaluation_document(found))
    curves = developers_curves(curve_table(found), shown)
    return render_html(shown, curves, audience="developer")


def entry_page(found: Evaluation) -> str:
    """What the portal shows of the first algorithm."""
    name = found.algorithms[0].name
    shown = excerpt(
        only_algorithm(evaluation_document(found), name),
        curve_table(found).filter(algorithm=name),
        ReportAttachments(),
        audience="developer",
        translate=TRANSLATE,
        name="#1",
        rule="luna16",
    )
    return str(shown.froc.__html__())


def library_plot(found: Evaluation) -> str:
    return Result.of(found).plot().svg


def printed_report(found: Evaluation) -> str:
    content = report_content(evaluation_document(found), curve_table(found), audience="developer")
    parts = Printed(Path(), TRANSLATE).data(content)["parts"]
    return "".join(
        block["svg"] for part in parts for block in part["blocks"] if block["block"] == "chart"
    )


PLACES: dict[str, Callable[[Evaluation], str]] = {
    "page of the laboratory": lab_page,
    "page of a developer": developers_page,
    "copy of a copy": developers_copy_of_the_copy,
    "page of an entry": entry_page,
    "plot of the library": library_plot,
    "print": printed_report,
}


def points_of(drawn: str) -> FloatArray:
    """The corners of a path of M, h, v and l steps, in pixels."""
    at, result = np.zeros(2), []
    for step, numbers in re.findall(r"([Mhvl])([-\d ]+)", drawn):
        values = [float(number) for number in numbers.split()]
        move = {"h": lambda v: (v[0], 0), "v": lambda v: (0, v[0])}.get(step, tuple)(values)
        at = np.array(move) if step == "M" else at + move
        result.append(at)
    return np.array(result).reshape(-1, 2) / FINE


def drawn_series(markup: str) -> Iterator[Drawn]:
    """The series with markers in all plots of a page, dotted ends included."""
    for picture in re.findall(r'<svg[^>]* class="plot".*?</g></svg>', markup, re.DOTALL):
        numbers = re.findall(r'class="point c\d" data-series="(\d+)"', picture)
        for number in dict.fromkeys(numbers):
            lines = re.findall(
                rf'class="(?:curve|beyond) c\d" data-series="{number}"[^>]* d="([^"]+)"', picture
            )
            markers = re.findall(
                rf'class="point c\d" data-series="{number}" data-at="([^"]+)"', picture
            )
            yield Drawn(
                np.vstack([points_of(line) for line in lines]),
                np.array([[float(part) for part in marker.split()] for marker in markers]),
            )


def heights_at(line: FloatArray, across: float) -> tuple[float, float]:
    """The highest and lowest place of a line at some place across; infinite where there is none."""
    near = line[np.abs(line[:, 0] - across) <= 0.06]  # of a vertical step, its corners
    ends = near[:, 1].tolist()
    if line[0, 0] - 0.06 <= across <= line[-1, 0] + 0.06:
        ends.append(float(np.interp(across, line[:, 0], line[:, 1])))
    return min(ends, default=np.inf), max(ends, default=np.inf)


def missed_by(one: Drawn) -> float:
    """How many pixels the line passes its markers at, at most."""
    away = [0.0]
    for across, down in one.markers:
        high, low = heights_at(one.line, across)
        away.append(max(high - down, down - low, 0.0))
    return max(away)


def largest_tie(found: Evaluation) -> float:
    """The height of the largest group of equal scores, in pixels."""
    rises = curve_table(found).filter(curve="froc").select(pl.col("y").diff().abs().max())
    return HEIGHT * float(rises.item() or 0)


@pytest.mark.slow
@pytest.mark.parametrize("place", PLACES)
@given(found=evaluations())
def test_a_line_passes_every_marker(place: str, found: Evaluation) -> None:
    """Where steps are read, the marker is at the lower end of a group of equal scores."""
    series = list(drawn_series(PLACES[place](found)))
    assert series
    is_step = found.protocol.interpolation == "step"
    allowed = PIXEL + (largest_tie(found) if is_step else 0.0)
    for one in series:
        assert missed_by(one) <= allowed


def thinned(found: Evaluation) -> pl.DataFrame:
    document = developers_document(evaluation_document(found))
    return developers_curves(curve_table(found), document)


def froc_points(curves: pl.DataFrame, algorithm: str) -> tuple[FloatArray, FloatArray]:
    chosen = curves.filter(algorithm=algorithm, curve="froc")
    return chosen["x"].to_numpy(), chosen["y"].to_numpy()


@pytest.mark.slow
@given(found=evaluations(("linear", "luna16")))
def test_thinning_changes_no_value_at_an_operating_point(found: Evaluation) -> None:
    curves, shown = curve_table(found), thinned(found)
    rates = np.array(found.protocol.operating_points)
    for algorithm in found.algorithms:
        whole, thin = froc_points(curves, algorithm.name), froc_points(shown, algorithm.name)
        np.testing.assert_allclose(np.interp(rates, *thin), np.interp(rates, *whole))
        counts = algorithm.rules["luna16"].counts
        own = counts["false_positive"] / counts["cases"] + 1e-9  # at the top of a step
        if algorithm.rules["luna16"].operating_point is None or found.protocol.operating_point:
            assert np.interp(own, *thin) == pytest.approx(np.interp(own, *whole), abs=1e-6)
        assert np.interp(own, *thin) >= counts["hit"] / counts["nodules"] - 1e-6
        if whole[0][-1] <= rates.max():
            assert (thin[0][-1], thin[1][-1]) == pytest.approx((whole[0][-1], whole[1][-1]))


@pytest.mark.slow
@given(found=evaluations())
def test_thinning_again_changes_nothing(found: Evaluation) -> None:
    once = thinned(found)
    document = developers_document(evaluation_document(found))
    assert_frame_equal(developers_curves(once, document), once)


@pytest.mark.slow
@given(found=evaluations())
def test_a_band_is_disclosed_where_its_numbers_are_and_to_as_many_digits(
    found: Evaluation,
) -> None:
    """All digits of a bound would tell which nodules were hit: the weights of cases are known."""
    shown = thinned(found)
    for name in ("froc_low", "froc_high"):
        band = shown.filter(curve=name)
        assert set(band["x"]) <= set(found.protocol.operating_points)
        assert (band["y"] == band["y"].round(3)).all()


def ranked_document(is_hit: list[bool], cases: int) -> tuple[Document, pl.DataFrame]:
    """What a developer sees of marks with different scores, and the whole curve."""
    hits = np.append(0, np.cumsum(is_hit))
    falses = np.append(0, np.cumsum(np.logical_not(is_hit)))
    x, y = falses / cases, hits / (hits[-1] + 3)
    readings = {f"{rate:g}": Estimate(float(np.interp(rate, x, y))) for rate in SEVEN_RATES}
    counts = {
        "cases": cases,
        "nodules": int(hits[-1]) + 3,
        "hit": int(hits[-1]),
        "false_positive": int(falses[-1]),
    }
    curve = Curve("froc", "", "", x, y, -np.arange(len(x), dtype=np.float64))
    result = replace(
        rule_result("center_hit", 90, 66),
        counts=counts,
        metrics={"sensitivity_at_fp_rate": readings},
        strata={},
        curves=(curve,),
    )
    found = evaluation(replace(algorithm_result("A", (90, 66)), rules={"center_hit": result}))
    return developers_document(evaluation_document(found)), curves_of(found)


@pytest.mark.slow
@settings(max_examples=8)
@given(
    is_hit=st.lists(st.booleans(), min_size=30, max_size=70),
    cases=st.integers(1, 12),
)
def test_a_curve_discloses_ten_marks_together_where_no_number_does(
    is_hit: list[bool], cases: int
) -> None:
    """Two neighbours in the ranking change places: no number changes, so the curve may not."""
    document, curves = ranked_document(is_hit, cases)
    shown, numbers = developers_curves(curves, document), document.to_json()["algorithms"]
    falses = np.append(0, np.cumsum(np.logical_not(is_hit)))
    disclosed = np.searchsorted(falses, np.array(SEVEN_RATES) * cases, "right") - 1
    disclosed = np.append(disclosed, len(is_hit))
    for place in range(1, len(is_hit)):
        if place % LEAST_STEPS == 0 and np.abs(disclosed - place).min() >= LEAST_STEPS:
            continue
        other = is_hit.copy()
        other[place - 1 : place + 1] = is_hit[place], is_hit[place - 1]
        changed, changed_curves = ranked_document(other, cases)
        if changed.to_json()["algorithms"] == numbers:
            assert_frame_equal(developers_curves(changed_curves, changed), shown)


@given(is_hit=st.lists(st.booleans(), min_size=12, max_size=60))
def test_precision_does_not_tell_whether_the_first_mark_is_a_hit(is_hit: list[bool]) -> None:
    """Precision against recall has no point before the first mark, whose precision is 0 or 1."""
    numbers = np.arange(1, len(is_hit) + 1)
    x, y = np.cumsum(is_hit) / (len(is_hit) + 1), np.cumsum(is_hit) / numbers
    curve = Curve("precision_recall", "", "", x, y, -numbers.astype(np.float64))
    shown = developers_curves(curve.table("A", "center_hit"))
    assert shown["x"].min() >= x[LEAST_STEPS]
    assert shown.row(-1)[3:5] == (x[-1], y[-1])


def test_nothing_is_drawn_left_of_the_first_known_point() -> None:
    """A line from the edge to the first point would say what nobody knows."""
    axis = rate_axis(SEVEN_RATES, TRANSLATE)
    unit = Axis("", 0.0, 1.0, ())
    begins = Line(np.array([2.0, 8.0]), np.array([0.5, 0.6]), Style(0))
    outside = Line(np.array([9.0, 12.0]), np.array([0.5, 0.6]), Style(0))
    (line,) = re.findall(r'class="curve[^>]* d="([^"]+)"', plot(axis, unit, [begins], ""))
    assert points_of(line)[0].tolist() == pytest.approx([WIDTH * 4 / 6, HEIGHT / 2], abs=0.1)
    assert 'class="curve' not in plot(axis, unit, [outside], "")
