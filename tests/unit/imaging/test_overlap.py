import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nodulebench.imaging.outlines import areas_and_overlap_mm2, box_outline


def outline(*corners: tuple[float, float]) -> np.ndarray:
    return np.array(corners, dtype=np.float64)


SQUARE = box_outline(0, 0, 2, 2)
DIAMOND = outline((1.5, 0), (0, 1.5), (-1.5, 0), (0, -1.5))
CUP = outline((0, 0), (3, 0), (3, 3), (2, 3), (2, 1), (1, 1), (1, 3), (0, 3))


def test_a_diamond_loses_its_four_tips_to_a_square() -> None:
    assert areas_and_overlap_mm2(SQUARE, DIAMOND) == pytest.approx((4.0, 4.5, 4.5 - 4 * 0.25))


def test_a_concave_outline_may_overlap_in_two_pieces() -> None:
    lid = outline((0.5, 2), (2.5, 2), (2.5, 4), (0.5, 4))
    assert areas_and_overlap_mm2(CUP, lid) == pytest.approx((7.0, 4.0, 0.5 + 0.5))


def test_an_outline_inside_another_is_shared_whole() -> None:
    inner = box_outline(0.2, -0.1, 0.5, 0.5)
    assert areas_and_overlap_mm2(SQUARE, inner) == pytest.approx((4.0, 0.25, 0.25))


def test_outlines_that_only_touch_share_nothing() -> None:
    assert areas_and_overlap_mm2(SQUARE, box_outline(2, 0, 2, 2))[2] == pytest.approx(0, abs=1e-12)


def test_an_outline_shares_all_with_itself() -> None:
    assert areas_and_overlap_mm2(CUP, CUP) == pytest.approx((7.0, 7.0, 7.0))


def test_a_crossed_outline_encloses_both_its_loops() -> None:
    bow = outline((0, 0), (2, 2), (2, 0), (0, 2))
    assert areas_and_overlap_mm2(bow, box_outline(1.5, 1, 1, 2)) == pytest.approx((2.0, 2.0, 1.0))


def test_fewer_than_three_corners_enclose_nothing() -> None:
    assert areas_and_overlap_mm2(SQUARE, outline((0, 0), (0.5, 0.5))) == pytest.approx(
        (4.0, 0.0, 0.0)
    )
    assert areas_and_overlap_mm2(outline((0, 0)), SQUARE) == pytest.approx((0.0, 4.0, 0.0))
    assert areas_and_overlap_mm2(np.empty((0, 2)), SQUARE) == pytest.approx((0.0, 4.0, 0.0))
    assert areas_and_overlap_mm2(np.empty((0, 2)), np.empty((0, 2))) == (0.0, 0.0, 0.0)


def test_two_discs_share_a_lens() -> None:
    angle = np.linspace(0, 2 * np.pi, 400, endpoint=False)
    disc = np.column_stack([np.cos(angle), np.sin(angle)])
    lens = 2 * np.arccos(0.5) - 0.5 * np.sqrt(3)  # unit discs, centres 1 apart
    areas = areas_and_overlap_mm2(disc, disc + np.array([1.0, 0.0]))
    assert areas == pytest.approx((np.pi, np.pi, lens), rel=2e-4)


def clip(subject: np.ndarray, window: np.ndarray) -> np.ndarray:
    """Sutherland and Hodgman's clipping by a convex window, corners counter-clockwise."""
    kept = subject
    for start, stop in zip(window, np.roll(window, -1, axis=0), strict=True):
        along = stop - start
        side = along[0] * (kept[:, 1] - start[1]) - along[1] * (kept[:, 0] - start[0])
        corners = []
        for index in range(len(kept)):
            here, there = index - 1, index
            if (side[here] >= 0) != (side[there] >= 0):
                share = side[here] / (side[here] - side[there])
                corners.append(kept[here] + share * (kept[there] - kept[here]))
            if side[there] >= 0:
                corners.append(kept[there])
        kept = np.array(corners).reshape(-1, 2)
    return kept


def shoelace(corners: np.ndarray) -> float:
    x, y = corners[:, 0], corners[:, 1]
    return float(abs(x @ np.roll(y, -1) - y @ np.roll(x, -1)) / 2)


@st.composite
def convex_outlines(draw: st.DrawFn) -> np.ndarray:
    """Corners on an ellipse, counter-clockwise."""
    angles = draw(st.lists(st.integers(0, 71), min_size=3, max_size=9, unique=True))
    radius = np.array([draw(st.integers(2, 8)), draw(st.integers(2, 8))]) / 2
    center = np.array([draw(st.integers(-8, 8)), draw(st.integers(-8, 8))]) / 4
    angle = np.sort(angles) * np.pi / 36
    return center + radius * np.column_stack([np.cos(angle), np.sin(angle)])


@settings(max_examples=200, deadline=None)
@given(convex_outlines(), convex_outlines())
def test_convex_outlines_agree_with_clipping_and_shoelace(
    first: np.ndarray, second: np.ndarray
) -> None:
    expected = shoelace(first), shoelace(second), shoelace(clip(first, second))
    assert areas_and_overlap_mm2(first, second) == pytest.approx(expected, rel=1e-9, abs=1e-9)


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.tuples(st.integers(-5, 5), st.integers(-5, 5)), min_size=3, max_size=8),
    convex_outlines(),
)
def test_the_order_of_two_outlines_is_free(
    corners: list[tuple[int, int]], second: np.ndarray
) -> None:
    first = np.array(corners, dtype=np.float64)
    one, other, shared = areas_and_overlap_mm2(first, second)
    assert areas_and_overlap_mm2(second, first) == pytest.approx((other, one, shared), abs=1e-9)
    turned = areas_and_overlap_mm2(first[:, ::-1], second[:, ::-1])
    assert turned == pytest.approx((one, other, shared), abs=1e-9)
    assert -1e-9 <= shared <= min(one, other) + 1e-9
