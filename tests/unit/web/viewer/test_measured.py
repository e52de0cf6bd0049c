"""Sizes of findings, compared with calculations by hand."""

import math
from pathlib import Path

import numpy as np
import pytest

from builders.reading import BALL_MM, RADIUS_MM, ball, write_scans
from nodulebench.web.viewer.findings import Finding, measure_finding
from nodulebench.web.viewer.scans import scans_in, tiles_of


def test_sizes_of_a_box_match_a_calculation_by_hand(tmp_path: Path) -> None:
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
    sizes = measure_finding(finding, tiles)
    assert sizes["long_mm"] == pytest.approx(5.0)  # the diagonal of 4 x 3
    assert sizes["short_mm"] == pytest.approx(3.75)  # 3 / (4 / 5): across the middle of it
    assert sizes["average_mm"] == pytest.approx((5 + 3.75) / 2)
    assert sizes["volume_mm3"] == pytest.approx(3 * 12 * 2.0)
    assert sizes["diameter_mm"] == pytest.approx((6 * 72 / math.pi) ** (1 / 3))
    assert sizes["mean_hu"] == pytest.approx(50)
    slice_ = sizes["slices"][0]
    assert (slice_["length_mm"], slice_["width_mm"]) == (pytest.approx(4), pytest.approx(3))
    assert (slice_["center_x_mm"], slice_["center_y_mm"]) == (pytest.approx(x), pytest.approx(y))
    assert slice_["area_mm2"] == pytest.approx(12)


def test_a_point_has_no_sizes(tmp_path: Path) -> None:
    (scan,) = scans_in(write_scans(tmp_path, "a"))
    tiles = tiles_of(scan, tmp_path / "cache")
    assert measure_finding(Finding(position_mm=(0, 0, 0)), tiles) == {}


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
    sizes = measure_finding(finding, tiles)
    assert sizes["diameter_mm"] == pytest.approx(2 * RADIUS_MM, rel=0.01)
    assert sizes["long_mm"] == pytest.approx(2 * RADIUS_MM, rel=0.01)
