"""Lungs stay as they are whatever joins them with the air around, cuts them or lies beside them.

The chest is drawn, so that its lungs are known without being found.
"""

import numpy as np
import pytest

from builders.bodies import AIR, LUNG, MUSCLE, PLASTIC, WATER, chest, lungs_of
from nodulebench.imaging.lungs import LEFT, RIGHT, segment_lungs
from nodulebench.imaging.volume import make_volume

STEP_MM, SHAPE = (3.0, 2.0, 2.0), (94, 170, 185)


@pytest.fixture(scope="module")
def whole():
    """A chest on voxels of 2 x 2 x 3 mm: the body, and where its lungs are."""
    body = chest(LUNG, 0, STEP_MM, SHAPE)
    body.hu += body.random.normal(0, 15, SHAPE).astype(np.float32)
    return body, *lungs_of(body)


@pytest.fixture
def body(whole):
    """The same chest, to be changed."""
    changed = type(whole[0]).__new__(type(whole[0]))
    changed.__dict__.update(whole[0].__dict__)
    changed.hu = whole[0].hu.copy()
    return changed


def found(hu):
    return segment_lungs(make_volume(np.rint(hu).astype(np.int16), spacing_mm=STEP_MM[::-1]))


def dice(one, other):
    return 2 * np.count_nonzero(one & other) / (np.count_nonzero(one) + np.count_nonzero(other))


def assert_lungs(lungs, right, left, least=0.98):
    assert dice(lungs.mask, right | left) >= least
    assert abs(np.count_nonzero(lungs.mask) / np.count_nonzero(right | left) - 1) <= 0.02
    assert dice(lungs.label == RIGHT, right) >= least
    assert dice(lungs.label == LEFT, left) >= least
    assert lungs.warnings == ()


@pytest.mark.slow
@pytest.mark.parametrize("hu", [AIR, -600.0])
@pytest.mark.parametrize("width", [1, 2, 3, 5])
def test_a_path_through_the_skin_at_the_apex_lets_no_lung_out(whole, body, width, hu):
    _, right, left = whole
    first = SHAPE[0] - 14
    rows = slice(85, 85 + width)
    slices = slice(first, first + max(1, width * 2 // 3))
    body.hu[slices, rows, :60] = hu
    assert_lungs(found(body.hu), right, left)


@pytest.mark.slow
def test_paths_on_both_sides_in_several_slices_let_no_lung_out(whole, body):
    _, right, left = whole
    for number, place in enumerate(range(20, 75, 5)):
        body.hu[place, 60 + 4 * number : 63 + 4 * number] = AIR
    assert_lungs(found(body.hu), right, left, least=0.975)


@pytest.mark.slow
def test_a_dark_streak_as_wide_as_a_hand_on_two_slices_lets_no_lung_out(whole, body):
    _, right, left = whole
    body.hu[70:72, 60:110] -= 650
    assert_lungs(found(body.hu), right, left, least=0.97)


def test_a_wound_of_three_centimetres_lets_no_lung_out(whole, body):
    _, right, left = whole
    body.hu[40:50, 75:90, :50] = AIR
    assert_lungs(found(body.hu), right, left)


@pytest.mark.slow
def test_noise_does_not_matter(whole, body):
    _, right, left = whole
    body.hu += np.random.default_rng(1).normal(0, 60, SHAPE)
    body.hu = np.maximum(body.hu, -1024)
    assert_lungs(found(body.hu), right, left)


def test_a_windpipe_that_leads_to_the_mouth_lets_no_lung_out(whole, body):
    _, right, left = whole
    body.hu[-4:, :95, 88:97] = AIR
    body.fill(body.ellipsoid(-45, 15, 30, 52, 7, 7), AIR)  # and its main bronchus into the lung
    assert_lungs(found(body.hu), right, left)


def test_a_patient_lying_on_the_belly_has_the_same_lungs(whole, body):
    _, right, left = whole
    assert_lungs(found(body.hu[:, ::-1]), right[:, ::-1], left[:, ::-1])


def test_a_field_of_view_that_cuts_both_flanks_leaves_the_rest_of_the_lungs(whole, body):
    _, right, left = whole
    seen = slice(32, -32)
    assert right[:, :, 32].any()
    assert_lungs(found(body.hu[:, :, seen]), right[:, :, seen], left[:, :, seen])


@pytest.mark.parametrize(("radius_mm", "padding"), [(130, -3024), (120, -2048), (113, -1024)])
def test_a_round_field_of_view_leaves_all_the_lung_that_it_shows(whole, body, radius_mm, padding):
    _, right, left = whole
    seen = body.x**2 + body.y**2 <= radius_mm**2
    body.hu[~seen] = padding
    lungs = found(body.hu)
    assert_lungs(lungs, right & seen, left & seen, least=0.995)
    assert not (lungs.mask & ~seen).any()


@pytest.mark.slow
@pytest.mark.parametrize("padding", [-3024, -2048, -1024])
def test_lung_that_a_round_field_of_view_leaves_without_a_wall_is_lung(whole, body, padding):
    _, right, left = whole
    deep = body.ellipsoid(0, 0, 0, 136, 104, 125)
    right, left = right | (deep & (body.x < -20)), left | (deep & (body.x > 20))
    body.lung(right | left)
    seen = body.x**2 + body.y**2 <= 95**2
    assert (right | ~seen)[47, :, body.x[0, 0] < -20].all()  # up to the edge on all sides but one
    body.hu[~seen] = padding
    assert_lungs(found(body.hu), right & seen, left & seen)


def test_of_a_lung_half_consolidated_the_rest_is_found(whole, body):
    _, right, left = whole
    full = right & (body.z < 0)
    body.fill(full, MUSCLE)
    lungs = found(body.hu)
    assert dice(lungs.label == RIGHT, right & ~full) >= 0.98
    assert dice(lungs.label == LEFT, left) >= 0.98
    assert lungs.warnings == ()


def test_of_a_lung_above_an_effusion_the_rest_is_found(whole, body):
    _, right, left = whole
    fluid = left & (body.y > 30)
    body.fill(fluid, WATER)
    lungs = found(body.hu)
    assert dice(lungs.mask, (right | left) & ~fluid) >= 0.98
    assert lungs.warnings == ()


def test_a_single_lung_that_leaks_is_found_and_reported_and_plausible(whole, body):
    _, right, left = whole
    body.fill(left, WATER)
    body.hu[60, 85:87, :60] = AIR
    lungs = found(body.hu)
    assert dice(lungs.label == RIGHT, right) >= 0.98
    assert not (lungs.label == LEFT).any()
    assert [doubt.code for doubt in lungs.warnings] == ["one_lung"]
    assert lungs.is_plausible


@pytest.mark.slow
def test_bowel_gas_that_touches_a_lung_is_not_a_lung(whole, body):
    _, right, left = whole
    bowel = body.ellipsoid(78, -45, -140, 50, 40, 55) & ~left
    bowel &= ~np.roll(left, -2, axis=0)
    assert np.count_nonzero(bowel) * 0.012 > 150  # ml
    body.fill(bowel, AIR)
    body.hu[10:30, 63:65, 130:132] = AIR
    lungs = found(body.hu)
    assert_lungs(lungs, right, left)
    assert not lungs.mask[bowel].any()


def test_air_below_a_blanket_is_not_a_lung(whole, body):
    _, right, left = whole
    body.fill(body.ellipse(0, 0, 184, 132) & ~body.ellipse(0, 0, 178, 126), PLASTIC)
    body.hu[60, 85:87, :60] = AIR
    assert_lungs(found(body.hu), right, left)


def test_lungs_all_emphysema_are_lungs(whole, body):
    _, right, left = whole
    lung = right | left
    body.hu[lung] -= 115  # a median of -975 HU
    assert_lungs(found(body.hu), right, left)
