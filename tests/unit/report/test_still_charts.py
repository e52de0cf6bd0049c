"""Still charts: every mark is at its number, with any names."""

import re
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodulebench.report.charts import (
    COLUMNS_HEIGHT,
    COLUMNS_TOP,
    Bars,
    Bracket,
    Column,
    Value,
    box_plot,
    column_chart,
    heat_map,
    histogram,
    row_chart,
)
from nodulebench.report.line_charts import Step, history_chart
from nodulebench.report.pages.svg import (
    CANVAS_WIDTH,
    HATCHES,
    MOST_NARROW,
    Axis,
    Dot,
    Fill,
    few_ticks,
    nice_ticks,
    shortened,
    text_width,
    whole_ticks,
)

UNIT = Axis("share", 0.0, 1.0, ((0.0, "0"), (0.5, "50"), (1.0, "100")))
BAD = '<b onload="x">&'


def elements(svg: str, tag: str, kind: str = "") -> list[ElementTree.Element]:
    root = ElementTree.fromstring(svg)  # noqa: S314 - our own
    return [
        element
        for element in root.iter(tag)
        if kind in element.get("class", "").split() or not kind
    ]


def texts(svg: str) -> list[str]:
    return [element.text or "" for element in elements(svg, "text")]


def rows_of(*shares: float) -> list[Bars]:
    return [Bars(f"row {n}", (Value(share, text=f"{share:g}"),)) for n, share in enumerate(shares)]


def test_column_is_as_high_as_its_value_and_its_whisker_as_the_deviation() -> None:
    drawn = column_chart(["Recall"], [[Column(0.5, 0.4, 0.7, "50.0")]], UNIT, "means")
    (bar,) = elements(drawn, "rect", "fill")
    assert float(bar.attrib["height"]) == pytest.approx(COLUMNS_HEIGHT * 0.5)
    (whisker,) = elements(drawn, "path", "whisker")
    low, high = COLUMNS_TOP + COLUMNS_HEIGHT * 0.6, COLUMNS_TOP + COLUMNS_HEIGHT * 0.3
    assert re.match(rf"M[\d.]+ {low:.1f}V{high:.1f}", whisker.attrib["d"])
    assert texts(drawn)[-2:] == ["50.0", "Recall"]


def test_missing_column_leaves_its_gap() -> None:
    column = Column(0.5, 0.5, 0.5, "50")
    left, right = (
        float(elements(drawn, "rect", "fill")[0].attrib["x"])
        for drawn in (
            column_chart(["a"], [[column, None]], UNIT, ""),
            column_chart(["a"], [[None, column]], UNIT, ""),
        )
    )
    assert left < right


def test_histogram_draws_a_bar_for_every_bin_that_has_nodules() -> None:
    drawn = histogram([0, 3, 6, 1], [8.0, 5.0, 3.0, 2.0], UNIT, Axis("n", 0, 6, ()), "sizes")
    heights = [float(element.attrib["height"]) for element in elements(drawn, "rect", "fill")]
    assert heights == pytest.approx(
        [COLUMNS_HEIGHT / 2, COLUMNS_HEIGHT, COLUMNS_HEIGHT / 6], abs=0.06
    )


def test_expected_curve_is_drawn_only_where_it_fits() -> None:
    drawn = histogram([0, 3, 6, 1], [8.0, 5.0, 3.0, 2.0], UNIT, Axis("n", 0, 6, ()), "sizes")
    (curve,) = elements(drawn, "path", "expected")
    assert curve.attrib["d"].count("L") == 2  # three points: that of 8 is above the axis
    assert elements(histogram([1], [], UNIT, UNIT, ""), "path", "expected") == []


def test_rows_start_at_the_base_and_end_at_their_values() -> None:
    axis = Axis("difference", -1.0, 1.0, ())
    drawn = row_chart(rows_of(0.5, -0.5), axis, "differences", base=0.0)
    starts = [
        re.match(r"M([\d.]+) [\d.]+H([\d.]+)", element.attrib["d"])
        for element in elements(drawn, "path", "stem")
    ]
    (first, right), (second, left) = (
        (float(start[1]), float(start[2])) for start in starts if start
    )
    assert first == second
    assert right - first == pytest.approx(second - left, abs=0.11)
    assert right > first > left


def test_bars_of_rows_are_as_long_as_their_values() -> None:
    drawn = row_chart(rows_of(0.25, 0.5), UNIT, "rates", base=0.0, has_bars=True)
    short, long = (float(element.attrib["width"]) for element in elements(drawn, "rect", "fill"))
    assert long == pytest.approx(2 * short, abs=0.11)


def test_intervals_are_drawn_only_where_there_are_any() -> None:
    rows = [Bars("a", (Value(0.5, 0.4, 0.6),)), Bars("b", (Value(0.5),))]
    assert len(elements(row_chart(rows, UNIT, ""), "path", "whisker")) == 1


def test_long_names_are_above_their_rows() -> None:
    name = "an algorithm whose developer is fond of words"
    drawn = row_chart([Bars(name, (Value(0.5),)), Bars("b", (Value(0.1),))], UNIT, "")
    (label, _) = elements(drawn, "text", "name")
    assert "first" in label.attrib["class"]
    assert label.text == name


def test_limit_is_drawn_with_its_name() -> None:
    drawn = row_chart(rows_of(0.5), UNIT, "", limits=[(0.25, "margin")])
    assert "margin" in texts(drawn)
    assert len(elements(drawn, "path", "limit")) == 1


def test_box_has_the_quartiles_and_whiskers_end_within_the_fence() -> None:
    # quartiles 0.2 and 0.4, so the fence ends at 0.7 and 0.9 is an outlier
    values = np.array([0.1, 0.2, 0.3, 0.4, 0.9])
    drawn = box_plot([("rule", values)], [], UNIT, "recall")
    top, height = 26, 220
    (box,) = elements(drawn, "rect", "fill")
    assert float(box.attrib["y"]) == pytest.approx(top + height * 0.6, abs=0.06)
    assert float(box.attrib["height"]) == pytest.approx(height * 0.2, abs=0.06)
    (whisker,) = elements(drawn, "path", "whisker")
    assert f"V{top + height * 0.6:.1f}" in whisker.attrib["d"]  # up to 0.4
    assert f"V{top + height * 0.9:.1f}" in whisker.attrib["d"]  # down to 0.1
    assert len(elements(drawn, "g", "point")) == 5


def test_brackets_carry_their_marks_one_above_the_other() -> None:
    groups = [(name, np.array([0.2, 0.4])) for name in "abc"]
    drawn = box_plot(groups, [Bracket(0, 1, "ns"), Bracket(0, 2, "**")], UNIT, "")
    heights = {
        element.text: float(element.attrib["y"]) for element in elements(drawn, "text", "value")
    }
    assert heights["**"] < heights["ns"]


def test_heat_map_says_every_count_and_shades_by_it() -> None:
    counts = [[10, 5], [0, None]]
    drawn = heat_map(["a", "b"], ["small", "large"], counts, "size", "", whole=10, flagged=[1])
    assert texts(drawn) == ["a", "10", "5", "b", "0", "–", "small", "large *", "size"]
    shades = [float(element.attrib["fill-opacity"]) for element in elements(drawn, "rect", "heat")]
    assert shades == [0.5, 0.275, 0.05, 0.05]


def test_every_chart_escapes_its_texts() -> None:
    value = Value(0.5, text=BAD)
    for drawn in (
        row_chart([Bars(BAD, (value,))], Axis(BAD, 0, 1, ((0, BAD),)), BAD, limits=[(0.2, BAD)]),
        column_chart([BAD], [[Column(0.5, 0.4, 0.6, BAD)]], Axis(BAD, 0, 1, ()), BAD),
        box_plot([(BAD, np.array([0.1, 0.2]))], [Bracket(0, 0, BAD)], UNIT, BAD),
        heat_map([BAD], [BAD], [[1]], BAD, BAD, whole=1),
    ):
        assert "<b onload" not in drawn
        assert BAD[:5] in "".join(texts(drawn))


def test_fills_differ_without_colour() -> None:
    drawn = [Fill(number).drawn(0, 0, 40, 30) for number in range(len(HATCHES))]
    without_colour = {re.sub(r" c\d", "", fill) for fill in drawn}
    assert len(without_colour) == len(HATCHES)


@given(
    st.integers(0, 9),
    st.floats(0, 400),
    st.floats(0, 300),
    st.floats(0.5, 90),
    st.floats(0.5, 220),
)
def test_hatching_stays_inside_its_box(
    number: int, left: float, top: float, width: float, height: float
) -> None:
    box = Fill(number).drawn(left, top, width, height)
    for path in re.findall(r'class="hatch[^"]*" d="([^"]+)"', box):
        for x, y in re.findall(r"[ML]([-\d.]+) ([-\d.]+)", path):
            assert left - 0.1 <= float(x) <= left + width + 0.1
            assert top - 0.1 <= float(y) <= top + height + 0.1


def test_dot_has_a_marker_and_no_line_in_the_legend() -> None:
    assert "curve" not in Dot(1).sample
    assert Dot(1).marker(20, 6) in Dot(1).sample


def test_text_is_measured_and_shortened() -> None:
    assert text_width("漏检率") > text_width("abc")
    assert shortened("short", CANVAS_WIDTH) == "short"
    cut = shortened("a very long name of an algorithm", 80)
    assert cut.endswith("…")
    assert text_width(cut) <= 80 + 8


def test_whole_ticks_are_whole() -> None:
    assert whole_ticks(3.2) == ((0.0, "0"), (1.0, "1"), (2.0, "2"), (3.0, "3"))
    assert whole_ticks(1300)[-1][1] == "1,200"
    assert nice_ticks(0.0, 1.0)[1] == (0.2, "0.2")


def test_labels_of_a_narrow_axis_are_few_and_keep_zero() -> None:
    assert [label for _, label in few_ticks(-0.52, 0.25)] == ["−0.4", "−0.2", "0.0", "0.2"]
    assert few_ticks(0.0, 0.2) == nice_ticks(0.0, 0.2)
    for low in (-0.93, -0.5, -0.041, 0.0, 0.3):
        for span in (0.05, 0.31, 0.75, 0.999, 7.0):
            ticks = few_ticks(low, low + span)
            assert 2 <= len(ticks) <= MOST_NARROW
            assert (0.0 in [value for value, _ in ticks]) == (low <= 0 <= low + span)


def test_a_history_draws_the_best_so_far_and_what_it_is_compared_with() -> None:
    axis = Axis("CPM", 0.0, 1.0, ((0.0, "0"), (1.0, "1")))
    steps = [Step(value, None, None, "n", f"<{value}>") for value in (0.5, 0.25, 1.0)]
    drawn = str(history_chart(steps, axis, "shown", others=[(0.75, "baseline")]))
    # the inside is 190 high from 30 to 220; three steps share 408 across, from 44 on
    assert 'd="M44 125.0H44.0V125.0H180.0V125.0H316.0V30.0H452.0"' in drawn
    assert "&lt;0.25&gt;" in drawn
    assert "M44 77.5H452.0" in drawn
    lower = str(history_chart(steps, axis, "shown", is_lower_better=True))
    assert "H180.0V172.5H316.0V172.5H452.0" in lower
