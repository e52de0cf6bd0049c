import numpy as np
import pytest

from nodulebench.core.errors import InputError
from nodulebench.phantom.canvas import Canvas
from nodulebench.phantom.scanner import KERNELS, Scanner, make_slices, slice_weights

SIZE, PIXEL = 160, 0.5


def canvas(value=0.0, planes=6, step=1.0):
    offset = (np.arange(SIZE) - (SIZE - 1) / 2) * PIXEL
    hu = np.full((planes, SIZE, SIZE), value, dtype=np.float32)
    return Canvas(hu, offset, offset, np.arange(planes) * step)


def scanner(**changes):
    fields = {
        "slice_thickness_mm": 1.0,
        "slice_spacing_mm": 1.0,
        "pixel_mm": PIXEL,
        "matrix": SIZE,
        "kernel": "standard",
        "exposure_mas": 100.0,
    }
    return Scanner(**(fields | changes))


def noise_sd(seed=1, planes=6, **changes):
    scan = make_slices(canvas(planes=planes), scanner(**changes), np.random.default_rng(seed))
    return scan[:, 50:110, 50:110].std()


def test_noise_falls_with_the_square_root_of_dose_and_thickness():
    base = noise_sd()
    assert noise_sd(exposure_mas=400.0) == pytest.approx(base / 2, rel=0.03)
    thicker = noise_sd(slice_thickness_mm=4.0, slice_spacing_mm=1.0)
    assert thicker == pytest.approx(base / 2, rel=0.1)


def test_a_sharper_kernel_has_more_noise():
    levels = [noise_sd(kernel=kernel) for kernel in ("smooth", "standard", "sharp", "edge")]
    assert levels == sorted(levels)
    assert levels[-1] > 2.5 * levels[1]


def test_noise_is_correlated_between_overlapping_slices_only():
    def correlation(**changes):
        scan = make_slices(canvas(planes=12), scanner(**changes), np.random.default_rng(2))
        part = scan[:, 50:110, 50:110].astype(float)
        return np.corrcoef(part[:-1].ravel(), part[1:].ravel())[0, 1]

    assert abs(correlation()) < 0.05
    assert correlation(slice_thickness_mm=2.0) == pytest.approx(0.5, abs=0.06)


def test_noise_of_filtered_back_projection_has_little_power_at_low_frequencies():
    scan = make_slices(canvas(planes=8), scanner(), np.random.default_rng(3)).astype(float)
    power = (np.abs(np.fft.fft2(scan)) ** 2).mean(axis=0)
    assert power[1, 1] < 0.35 * power[12, 12]


@pytest.mark.parametrize("kernel", KERNELS)
def test_half_of_the_contrast_is_left_at_the_kernels_own_frequency(kernel):
    # a wave along x with a whole number of periods, as near the frequency as the grid allows
    periods = round(KERNELS[kernel].half_per_mm * SIZE * PIXEL)
    frequency = periods / (SIZE * PIXEL)
    drawn = canvas()
    drawn.hu[:] = 1000 * np.cos(2 * np.pi * frequency * np.arange(SIZE) * PIXEL)
    scan = make_slices(drawn, scanner(kernel=kernel, exposure_mas=1000.0), np.random.default_rng(1))
    amplitude = 2 * np.abs(np.fft.fft(scan.mean(axis=(0, 1))))[periods] / SIZE
    expected = KERNELS[kernel].transfer(np.array([frequency**2], dtype=np.float32))[0]
    assert expected == pytest.approx(0.5, abs=0.05)
    assert amplitude == pytest.approx(1000 * expected, rel=0.05)


def test_only_sharp_kernels_overshoot_edges():
    def overshoot(kernel):
        drawn = canvas(-800)
        drawn.hu[:, :, SIZE // 2 :] = 0
        drawn.hu[:, :, :8] = 0
        scan = make_slices(
            drawn, scanner(kernel=kernel, exposure_mas=1000.0), np.random.default_rng(1)
        )
        line = scan.mean(axis=(0, 1))
        return line[SIZE // 2 : SIZE // 2 + 8].max()

    assert overshoot("smooth") < 25
    assert overshoot("edge") > 60


def test_a_slices_weights_are_as_wide_as_it_is_thick():
    for thickness, spacing in ((1.0, 1.0), (5.0, 2.5), (7.0, 5.0), (0.6, 0.5)):
        sharp = scanner(slice_thickness_mm=thickness, slice_spacing_mm=spacing)
        weights = slice_weights(sharp)
        step = spacing / sharp.parts_per_slice
        assert weights.sum() == pytest.approx(1)
        assert np.array_equal(weights, weights[::-1])
        wide = np.count_nonzero(weights > weights.max() / 2) * step
        assert abs(wide - thickness) <= step + 1e-9


def test_a_thick_slice_is_the_mean_over_its_thickness():
    thick = scanner(slice_thickness_mm=5.0, slice_spacing_mm=5.0, exposure_mas=1000.0)
    drawn = canvas(0, planes=4 * thick.parts_per_slice, step=1.25)
    drawn.hu[8 + thick.parts_per_slice // 2] = 1000  # one plane, in the middle of the third slice
    scan = make_slices(drawn, thick, np.random.default_rng(1)).astype(float)
    seen = scan[:, 40:120, 40:120].mean(axis=(1, 2))
    assert seen[2] == pytest.approx(1000 * slice_weights(thick).max(), abs=3)
    assert seen[0] == pytest.approx(0, abs=3)


def test_hu_stay_within_what_a_scanner_stores():
    drawn = canvas(6000)
    drawn.hu[:, :, : SIZE // 2] = -4000
    scan = make_slices(drawn, scanner(), np.random.default_rng(1))
    assert (scan.min(), scan.max()) == (-1024, 3071)


def test_padding_marks_the_corners_outside_the_field_of_view():
    scan = make_slices(canvas(), scanner(padding_hu=-2000), np.random.default_rng(1))
    assert scan[0, 0, 0] == -2000
    assert scan[0, 80, 80] > -200
    share = np.mean(scan == -2000)
    assert share == pytest.approx(1 - np.pi / 4, abs=0.01)


def test_the_same_random_numbers_make_the_same_scan():
    first, second = (make_slices(canvas(), scanner(), np.random.default_rng(9)) for _ in range(2))
    assert np.array_equal(first, second)


def test_an_impossible_scanner_is_refused_with_every_reason():
    with pytest.raises(InputError) as error:
        scanner(slice_thickness_mm=9.0, kernel="B99", exposure_mas=0.0)
    assert [str(problem) for problem in error.value.problems] == [
        "scanner slice_thickness_mm: 9 mm is not between 0.5 and 7 mm.",
        "scanner exposure_mas: 0 mAs is not between 1 and 1000 mAs.",
        "scanner kernel: 'B99' is not one of smooth, standard, sharp, edge.",
    ]
