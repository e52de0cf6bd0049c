"""Sizes of what was drawn, by hand."""

import math
from pathlib import Path

import numpy as np
import pytest

from builders.reading import BALL_MM, RADIUS_MM, ball, write_scans
from nodulebench.web.viewer.findings import Finding, measured
from nodulebench.web.viewer.scans import scans_in, tiles_of


def test_a_box_of_outlines_has_the_sizes_that_one_computes_by_hand(tmp_path: Path) -> None:
    (scan,) = scans_in(write_scans(tmp_path, "a"))
    tiles = tiles_of(scan, tmp_path / "cache")
    x, y = BALL_MM[:2]
    square = [(x - 2, y - 1.5), (x + 2, y - 1.5), (x + 2, y + 1.5), (x - 2, y + 1.5)]
    finding = Finding.model_validate(
        {
            "position_mm": BALL_MM.tolist(),
            "slices": [{"slice_index": k, "outline": square} for k in (11, 12, 13)],
        }
    )
    found = measured(finding, tiles)
    assert found["long_mm"] == pytest.approx(5.0)  # the diagonal of 4 x 3
    assert found["short_mm"] == pytest.approx(3.75)  # 3 / (4 / 5): across the middle of it
    assert found["average_mm"] == pytest.approx((5 + 3.75) / 2)
    assert found["volume_mm3"] == pytest.approx(3 * 12 * 2.0)
    assert found["diameter_mm"] == pytest.approx((6 * 72 / math.pi) ** (1 / 3))
    assert found["mean_hu"] == pytest.approx(50)
    one = found["slices"][0]
    assert (one["length_mm"], one["width_mm"]) == (pytest.approx(4), pytest.approx(3))
    assert (one["center_x_mm"], one["center_y_mm"]) == (pytest.approx(x), pytest.approx(y))
    assert one["area_mm2"] == pytest.approx(12)


def test_a_point_has_no_sizes(tmp_path: Path) -> None:
    (scan,) = scans_in(write_scans(tmp_path, "a"))
    tiles = tiles_of(scan, tmp_path / "cache")
    assert measured(Finding(position_mm=(0, 0, 0)), tiles) == {}


def test_circles_around_a_ball_measure_the_ball(tmp_path: Path) -> None:
    volume = ball(size=(64, 60, 40), spacing_mm=(0.8, 0.9, 1.0))
    (scan,) = scans_in(write_scans(tmp_path, "a", volume=volume))
    tiles = tiles_of(scan, tmp_path / "cache")
    turn = np.linspace(0, 2 * np.pi, 90, endpoint=False)
    slices = []
    for k in range(40):
        height = volume.geometry.to_world(np.array([[0.0, 0.0, float(k)]]))[0, 2] - BALL_MM[2]
        if abs(height) < RADIUS_MM:
            radius = math.sqrt(RADIUS_MM**2 - height**2)
            circle = BALL_MM[:2] + radius * np.column_stack([np.cos(turn), np.sin(turn)])
            slices.append({"slice_index": k, "outline": circle.tolist()})
    finding = Finding.model_validate({"position_mm": BALL_MM.tolist(), "slices": slices})
    found = measured(finding, tiles)
    assert found["diameter_mm"] == pytest.approx(2 * RADIUS_MM, rel=0.01)
    assert found["long_mm"] == pytest.approx(2 * RADIUS_MM, rel=0.01)
