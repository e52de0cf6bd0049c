import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from builders.bodies import CHESTS, NO_CHESTS, cut_chest, head
from nodulebench.curation.series_image import (
    best_threshold,
    enclosed_air,
    see_anatomy,
    thinned_out,
    two_levels,
    without_padding,
)


def body():
    """A block of tissue in air with one cavity of 10 x 20 x 30 voxels, and air around it."""
    hu = np.full((20, 60, 60), -1000.0, np.float32)
    hu[:, 10:50, 10:50] = 40.0
    hu[5:15, 20:40, 15:45] = -860.0
    hu[5:15, 21:40:3, 16:45:4] = -600.0  # vessels
    return hu


def test_lung_volume_is_the_air_within_the_body():
    seen = see_anatomy(body(), np.array([5.0, 4.0, 4.0]))
    # 10 slices of 5 mm, 20 x 30 voxels of 16 mm2: 480 ml, 96 cm2 on a slice
    assert seen.lung_ml == pytest.approx(480.0)
    assert seen.widest_cm2 == pytest.approx(96.0)
    assert (seen.lowest_cm2, seen.highest_cm2, seen.cut_mm) == (0.0, 0.0, 0.0)
    # the even air around the body counts as padding
    assert (seen.air_hu, seen.tissue_hu) == (-860.0, 40.0)


def test_air_that_a_slice_connects_with_the_outside_is_not_lung():
    hu = body()
    hu[5:15, 0:21, 30] = -1000.0
    assert not enclosed_air(hu, -400.0).any()


def test_air_that_leaves_the_body_through_other_slices_stays_lung():
    hu = body()
    hu[15:, 28:32, 28:32] = -1000.0  # an airway that is cut at the top
    assert enclosed_air(hu, -400.0).sum() == 10 * 20 * 30 + 5 * 16


def test_small_gas_next_to_large_lungs_does_not_count():
    hu = body()
    hu[17:19, 42:46, 42:46] = -900.0
    assert enclosed_air(hu, -400.0).sum() == 10 * 20 * 30


def test_lung_that_the_edge_cuts_is_measured_along_the_body():
    cut = body()[:, :, 20:]
    assert see_anatomy(cut, np.array([5.0, 4.0, 4.0])).cut_mm == pytest.approx(50.0)


def test_lung_that_a_round_field_of_view_cuts_is_found():
    hu = body()
    down, across = np.mgrid[:60, :60]
    hu[:, (down - 29.5) ** 2 + (across - 29.5) ** 2 > 14**2] = -2048.0
    assert see_anatomy(hu, np.array([5.0, 4.0, 4.0])).cut_mm == pytest.approx(50.0)


def test_a_table_below_the_body_is_not_a_cut_lung():
    hu = body()
    hu[:, 53:54] = 100.0
    hu[:, 54:] = -900.0
    assert see_anatomy(hu, np.array([5.0, 4.0, 4.0])).cut_mm == 0.0


@pytest.mark.parametrize("name", CHESTS)
def test_lungs_of_every_kind_are_found(name):
    body = CHESTS[name]()
    seen = see_anatomy(*body.seen())
    enclosed = enclosed_air(body.hu, -400.0).sum() * 5.0 * 3.5**2 / 1000
    assert seen.lung_ml > 1500
    # the table's foam is larger than what may be missed of the lungs
    assert seen.lung_ml < enclosed
    assert seen.cut_mm == 0.0


@pytest.mark.parametrize("name", NO_CHESTS)
def test_other_body_parts_show_no_lung(name):
    body = NO_CHESTS[name]()
    assert see_anatomy(*body.seen()).lung_ml == 0.0


@pytest.mark.parametrize(
    "name", [no_chest for no_chest in NO_CHESTS if no_chest != "water phantom"]
)
def test_air_outside_of_a_chest_would_be_enough_for_one(name):
    """Each encloses more than half a litre of air: by volume it would be admitted."""
    body = NO_CHESTS[name]()
    assert enclosed_air(body.hu, -400.0).sum() * 5.0 * 3.5**2 / 1000 > 500


def test_a_head_with_lungs_below_it_is_cut_at_the_feet():
    body = head()
    body.fill(body.ellipse(0, 0, 170, 118) & (body.z < -90), 50.0)
    for side in (-1, 1):
        body.lung(body.ellipsoid(side * 78, -5, -150, 58, 80, 55))
    seen = see_anatomy(*body.seen())
    assert seen.lowest_cm2 > 0.5 * seen.widest_cm2 > 0


def test_a_chest_whose_field_of_view_is_too_small_has_cut_lungs():
    assert see_anatomy(*cut_chest().seen()).cut_mm > 100


def test_both_ends_are_among_the_slices_that_are_looked_at():
    hu = np.arange(12, dtype=np.float32)[:, None, None] * np.ones((1, 2, 2), np.float32)
    few, step = thinned_out(hu, np.array([1.0, 3.0, 3.0]))
    assert few[:, 0, 0].tolist() == [0.0, 6.0, 11.0]
    assert step.tolist() == [5.5, 3.0, 3.0]


def test_padding_outside_the_field_of_view_does_not_count():
    hu = np.full((2, 10, 10), -1000.0, np.float32)
    hu[:, :5] = 40.0
    hu[:, 8:] = -3024.0
    assert without_padding(hu).min() == -1000.0
    levels = two_levels(hu)
    assert (levels.air_hu, levels.tissue_hu) == (-1000.0, 40.0)
    assert -1000.0 < levels.threshold_hu <= 40.0


@given(arrays(np.float32, (3, 5, 5), elements=st.floats(-1000, 1000, width=32)))
def test_the_threshold_parts_best_of_all(values):
    """Otsu's threshold, against trying every cut of the same histogram."""
    unpadded = without_padding(values)
    if np.ptp(unpadded) < 1:
        return
    counts, edges = np.histogram(unpadded, bins=256)
    middles = (edges[1:] + edges[:-1]) / 2

    def spread(cut):
        low, high = counts[:cut], counts[cut:]
        if not low.sum() or not high.sum():
            return 0.0
        means = (low @ middles[:cut] / low.sum(), high @ middles[cut:] / high.sum())
        return low.sum() * high.sum() * (means[1] - means[0]) ** 2

    chosen = int(np.argmin(np.abs(edges - best_threshold(unpadded))))
    best = max(spread(cut) for cut in range(1, 256))
    assert spread(chosen) == pytest.approx(best, rel=1e-6)
