import numpy as np
import pytest

from nodulebench.core.errors import InputError
from nodulebench.core.notices import Notice
from nodulebench.imaging.volume import make_volume
from nodulebench.runner.scan_variants import (
    InsertedNodule,
    cropped,
    flipped,
    insert_nodules,
    mirrored,
    place_nodules,
    sharper,
    shifted,
    smoother,
    thicker,
    with_dose,
    with_median,
    with_noise,
)

TURNED = np.array([[0.96, 0.0, 0.28], [0.0, -1.0, 0.0], [0.28, 0.0, -0.96]])


@pytest.fixture(params=[None, TURNED], ids=["upright", "turned"])
def volume(request):
    hu = np.random.default_rng(2).integers(-1000, 400, (8, 10, 12)).astype(np.int16)
    return make_volume(
        hu, spacing_mm=(0.7, 0.8, 2.0), origin_mm=(10.0, -20.0, 30.0), direction=request.param
    )


def value_at(volume, point_mm):
    i, j, k = np.rint(volume.geometry.to_index(point_mm[None])[0]).astype(int)
    return volume.hu[k, j, i]


@pytest.mark.parametrize(
    "change",
    [
        lambda scan: shifted(scan, np.array([5.0, -7.0, 11.0])),
        lambda scan: flipped(scan, 0),
        lambda scan: flipped(scan, 1),
        lambda scan: flipped(scan, 2),
        mirrored,
        lambda scan: cropped(scan, (slice(1, 7), slice(2, 9), slice(3, 11))),
    ],
    ids=["shift", "columns", "rows", "slices", "mirror", "crop"],
)
def test_every_point_keeps_its_value_where_it_is_moved_to(volume, change):
    variant = change(volume)
    for index in ((4, 4, 3), (6, 3, 5), (10, 8, 6)):
        point = volume.geometry.to_world(np.array([index], dtype=np.float64))
        moved = variant.move(point.copy())[0]
        assert value_at(variant.volume, moved) == value_at(volume, point[0])


def test_added_noise_has_its_standard_deviation():
    flat = make_volume(np.zeros((4, 60, 60), np.int16), spacing_mm=(1.0, 1.0, 1.0))
    noisy = with_noise(flat, 20.0, np.random.default_rng(0)).volume.hu.astype(float)
    assert noisy.std() == pytest.approx(20.0, rel=0.01)
    assert abs(noisy.mean()) < 2.0
    neighbours = np.corrcoef(noisy[:, :, 1:].ravel(), noisy[:, :, :-1].ravel())[0, 1]
    assert neighbours > 0.3


def test_a_quarter_of_the_dose_doubles_the_noise():
    scan = np.random.default_rng(1).normal(0, 15, (4, 80, 80))
    flat = make_volume(np.rint(scan).astype(np.int16), spacing_mm=(1.0, 1.0, 1.0))
    quarter = with_dose(flat, 1 / 4, 15.0, np.random.default_rng(3))
    assert quarter.name == Notice("variant_dose", {"part": 4})
    assert quarter.volume.hu.std() == pytest.approx(30.0, rel=0.03)


@pytest.mark.parametrize("median_hu", [-900.0, -750.0])
def test_the_lungs_get_the_median_asked_for_and_nothing_solid_moves(median_hu):
    hu = np.random.default_rng(5).normal(-820, 30, (6, 20, 20))
    hu[:, :3] = -950.0  # air next to the lungs
    hu[:, 10:12] = 40.0  # a vessel
    hu[2, 15] = -250.0  # half-way between lung and tissue
    hu[3, 15] = -1023.0
    scan = make_volume(np.rint(hu).astype(np.int16), spacing_mm=(1.0, 1.0, 1.0))
    lungs = np.zeros(hu.shape, bool)
    lungs[:, 3:] = True
    changed = with_median(scan, lungs, median_hu).volume.hu
    shift = median_hu - np.median(scan.hu[lungs])
    assert np.median(changed[lungs]) == pytest.approx(median_hu, abs=0.5)
    assert np.array_equal(changed[:, :3], scan.hu[:, :3])
    assert np.all(changed[:, 10:12] == 40)
    assert np.all(changed[2, 15] == round(-250 + shift / 2))
    assert np.all(changed[3, 15] == max(-1024, round(-1023 + shift)))
    plain = scan.hu[:, 3:10]
    assert np.all(np.abs(changed[:, 3:10] - plain - shift) <= 0.5)  # noise stays as it is


def test_thicker_slices_are_means_at_their_middle(volume):
    thick = thicker(volume, 3).volume
    assert thick.shape == (2, 10, 12)
    assert thick.geometry.spacing_mm.tolist() == pytest.approx([0.7, 0.8, 6.0])
    assert np.array_equal(thick.hu[1], np.rint(volume.hu[3:6].mean(axis=0)))
    middle = volume.geometry.to_world(np.array([[2.0, 3.0, 4.0]]))
    assert thick.geometry.to_index(middle)[0] == pytest.approx([2.0, 3.0, 1.0])


def test_kernels_keep_the_mean_and_change_the_edges():
    hu = np.full((2, 40, 40), -800, np.int16)
    hu[:, :, 20:] = 0
    edge = make_volume(hu, spacing_mm=(0.7, 0.7, 2.0))
    soft, hard = smoother(edge, 0.8).volume.hu, sharper(edge, 0.8, 0.8).volume.hu
    assert -800 < soft[0, 20, 19] < soft[0, 20, 20] < 0
    assert hard.min() < -820
    assert hard.max() > 20
    for changed in (soft, hard):
        assert changed[0, 20, 2] == -800
        assert changed.mean() == pytest.approx(hu.mean(), abs=1.0)


def test_an_inserted_ball_has_its_density_place_and_volume():
    noise = np.random.default_rng(0).normal(0, 10, (40, 50, 50))
    lung = make_volume(
        np.rint(-850 + noise).astype(np.int16), spacing_mm=(0.7, 0.7, 1.0), origin_mm=(5, 6, 7)
    )
    ball = InsertedNodule(22.0, 23.5, 27.3, 12.0)
    drawn = insert_nodules(lung, [ball], 50.0)
    change = drawn.hu.astype(float) - lung.hu
    assert change.sum() / 900 * lung.voxel_mm3 == pytest.approx(np.pi * 12**3 / 6, rel=0.03)
    index = np.indices(change.shape)[::-1].reshape(3, -1)
    middle = (index * change.ravel()).sum(axis=1) / change.sum()
    assert lung.geometry.to_world(middle[None])[0] == pytest.approx(ball.center_mm, abs=0.05)
    inside = change > 890
    assert drawn.hu[inside].mean() == pytest.approx(50.0, abs=3.0)
    assert drawn.hu[inside].std() == pytest.approx(10.0, rel=0.15)  # noise goes on


def test_nodules_are_placed_in_clear_lung_apart_from_each_other_and_from_marks():
    hu = np.full((60, 60, 60), -860, np.int16)
    hu[:, 28:32] = 30  # a vessel across
    lung = make_volume(hu, spacing_mm=(2.0, 2.0, 2.0))
    mask = np.zeros(hu.shape, bool)
    mask[5:55, 5:55, 5:55] = True
    marks = np.array([[40.0, 40.0, 40.0]])
    placed = place_nodules(lung, mask, (6, 12), marks, np.random.default_rng(0))
    assert [nodule.diameter_mm for nodule in placed] == [12, 6]
    large, small = (nodule.center_mm for nodule in placed)
    assert np.linalg.norm(large - small) > 36
    for nodule in placed:
        radius = nodule.diameter_mm / 2
        assert np.all(nodule.center_mm - radius - 5 >= 8)
        assert np.all(nodule.center_mm + radius + 5 <= 112)
        assert abs(nodule.y_mm - 59) > 3 + radius
        assert np.linalg.norm(nodule.center_mm - marks[0]) > radius + 10


def test_too_many_nodules_for_a_lung_are_reported():
    lung = make_volume(np.full((30, 30, 30), -860, np.int16), spacing_mm=(2.0, 2.0, 2.0))
    with pytest.raises(InputError) as error:
        place_nodules(
            lung, np.ones(lung.shape, bool), (12,) * 20, np.empty((0, 3)), np.random.default_rng(0)
        )
    assert "a nodule of 12 mm: has no clear position in the lungs next to" in str(error.value)
