"""Pictures: the curve that is drawn is the curve that was given."""

import re

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from nodulebench.report.charts import FINE, HEIGHT, WIDTH, Line, clip, corners, path, plot
from nodulebench.report.pages.svg import COLOURS, DASHES, Axis, Style, rate_bar, signed_bar

UNIT = Axis("x", 0.0, 1.0, ((0.0, "0"), (1.0, "1")))
RATES = Axis("rate", 0.125, 8.0, ((1.0, "1"),), is_log=True)


def test_log_axis_gives_every_doubling_the_same_width() -> None:
    assert RATES.places(np.array([0.125, 0.25, 1.0, 8.0])).tolist() == [0.0, 1 / 6, 0.5, 1.0]
    assert RATES.place(4.0) == 5 / 6


def test_points_at_rate_zero_lie_left_of_a_log_axis() -> None:
    assert RATES.place(0.0) < 0


def test_only_corners_of_a_step_curve_remain() -> None:
    x = np.array([0.0, 0.0, 0.0, 1.0, 2.0, 3.0, 3.0, 4.0])
    y = np.array([0.0, 0.1, 0.2, 0.2, 0.2, 0.2, 0.5, 0.6])
    assert corners(x, y).tolist() == [0, 2, 5, 6, 7]
    assert corners(x[:2], y[:2]).tolist() == [0, 1]


def test_path_uses_short_steps_and_drops_what_does_not_move() -> None:
    across = np.array([0, 0, 5, 9, 9, 12])
    down = np.array([40, 40, 40, 40, 30, 20])
    units = Axis("x", 0.0, WIDTH * FINE, ()), Axis("y", 0.0, HEIGHT * FINE, ())
    assert path(across, HEIGHT * FINE - down, *units) == "M0 40h9v-10l3 -10"


def test_curve_is_cut_at_the_axis_and_tells_where_it_ends() -> None:
    x, y, end = clip(np.array([0.0, 1.0, 3.0]), np.array([0.0, 0.4, 0.6]), 0.5, 2.0)
    assert (x.tolist(), end) == ([0.5, 1.0, 2.0], 3.0)
    np.testing.assert_allclose(y, [0.2, 0.4, 0.5])


def test_curve_that_ends_before_the_axis_begins_is_a_point_at_its_last_value() -> None:
    x, y, end = clip(np.array([0.0, 0.1]), np.array([0.0, 0.7]), 0.125, 8.0)
    assert (x.tolist(), y.tolist(), end) == ([0.125], [0.7], 0.1)


def test_vertical_start_of_a_curve_is_drawn_once() -> None:
    x, y, _ = clip(np.array([0.0, 0.0, 1.0]), np.array([0.0, 0.5, 1.0]), 0.0, 1.0)
    assert (x.tolist(), y.tolist()) == ([0.0, 0.0, 1.0], [0.0, 0.5, 1.0])


@st.composite
def step_curves(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray]:
    moves = draw(st.lists(st.booleans(), min_size=1, max_size=200))
    hits = np.append(0, np.cumsum(moves))
    falses = np.append(0, np.cumsum(np.logical_not(moves)))
    return falses / max(1, falses[-1]), hits / max(1, hits[-1])


@given(step_curves())
def test_corners_lose_nothing_of_the_curve(curve: tuple[np.ndarray, np.ndarray]) -> None:
    x, y = curve
    turns = corners(x, y)
    length = np.cumsum(np.append(0.0, np.abs(np.diff(x)) + np.abs(np.diff(y))))
    np.testing.assert_allclose(np.interp(length, length[turns], x[turns]), x, atol=1e-12)
    np.testing.assert_allclose(np.interp(length, length[turns], y[turns]), y, atol=1e-12)


def points_of(drawn: str) -> np.ndarray:
    """The points of a path of M, h, v and l steps."""
    at = np.zeros(2)
    points = []
    for step, numbers in re.findall(r"([Mhvl])([-\d ]+)", drawn):
        values = [float(number) for number in numbers.split()]
        move = {"h": lambda v: (v[0], 0), "v": lambda v: (0, v[0])}.get(step, tuple)(values)
        at = np.array(move) if step == "M" else at + move
        points.append(at)
    return np.array(points)


@given(step_curves())
def test_drawn_curve_passes_every_point_within_a_tenth_of_a_pixel(
    curve: tuple[np.ndarray, np.ndarray],
) -> None:
    x, y = curve
    svg = str(plot(UNIT, UNIT, [Line(x, y, Style(0))], "test"))
    drawn = points_of(re.search(r'class="curve[^>]* d="([^"]+)"', svg)[1])
    wanted = np.column_stack([x * WIDTH * FINE, (1 - y) * HEIGHT * FINE])
    starts, ends = drawn, np.vstack([drawn[1:], drawn[-1:]])
    low, high = np.minimum(starts, ends), np.maximum(starts, ends)
    nearest = np.clip(wanted[:, None, :], low[None], high[None])  # steps are parallel to the axes
    distance = np.abs(nearest - wanted[:, None, :]).max(axis=2).min(axis=1)
    assert distance.max() <= 1.0


def test_curve_that_ends_inside_the_plot_goes_on_dotted() -> None:
    ending = Line(np.array([0.0, 0.4]), np.array([0.0, 0.5]), Style(0))
    whole = Line(np.array([0.0, 1.0]), np.array([0.0, 0.5]), Style(0))
    assert 'class="beyond' in plot(UNIT, UNIT, [ending], "a")
    assert 'class="beyond' not in plot(UNIT, UNIT, [whole], "a")


def test_band_runs_along_its_upper_bound_and_back_along_its_lower() -> None:
    x = np.array([0.0, 1.0])
    band = (x, np.array([0.2, 0.3]), np.array([0.4, 0.5]))
    svg = str(plot(UNIT, UNIT, [Line(x, x, Style(0), band)], "a"))
    drawn = re.search(r'class="band[^>]* d="([^"]+)"', svg)[1]
    assert drawn == "M0 2400l6400 -400L6400 2800l-6400 400z"


def test_marked_points_are_at_their_values_with_escaped_labels() -> None:
    line = Line(np.array([0.0, 1.0]), np.array([0.0, 1.0]), Style(1), points=((0.5, 0.25, "<b>"),))
    svg = str(plot(UNIT, UNIT, [line], '"><script>'))
    assert 'data-at="320.00 300.00"' in svg
    assert "&lt;b&gt;" in svg
    assert "<script>" not in svg


def test_forty_nine_series_differ_in_colour_or_dashes() -> None:
    styles = {(Style(number).colour, Style(number).dash) for number in range(49)}
    assert len(styles) == 49
    assert COLOURS == len(DASHES) == 7
    assert 'stroke-dasharray="9 4"' in Style(1).sample


def test_bar_is_as_long_as_the_rate_and_the_whisker_as_the_interval() -> None:
    bar = rate_bar(0.3, 0.25, 0.4, end=0.5)
    assert '<rect class="share" width="60.0"' in bar
    assert 'd="M50.0 5H80.0' in bar
    assert "path" not in rate_bar(0.3)


def test_bar_never_leaves_its_frame() -> None:
    assert 'width="100.0"' in rate_bar(0.9, end=0.5)
    assert 'd="M0.0 5H100.0' in rate_bar(0.5, -0.1, 1.2)


def test_difference_goes_left_when_it_is_a_loss() -> None:
    assert 'class="less" x="25.0" width="25.0"' in signed_bar(-0.1, 0.2)
    assert 'class="share" x="50.0" width="50.0"' in signed_bar(0.2, 0.2)
    assert 'width="0.0"' in signed_bar(0.0, 0.0)
