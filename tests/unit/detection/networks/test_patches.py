import numpy as np
import pytest

torch = pytest.importorskip("torch")

from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.ndimage import map_coordinates

from nodulebench.detection.networks import patches as module
from nodulebench.detection.networks.network import SYMMETRY, cube, planes, stacked
from nodulebench.detection.networks.patches import cut, scans_of


def a_scan(seed: int = 0, shape: tuple[int, int, int] = (9, 12, 11)) -> np.ndarray:
    return np.random.default_rng(seed).integers(-1000, 400, shape).astype(np.int16)


def places(*given: list[float]) -> "torch.Tensor":
    return torch.tensor(given, dtype=torch.float32)


def test_a_voxel_is_seen_as_it_is() -> None:
    image = a_scan()
    scans = scans_of([image], [[2.0, 1.0, 1.0]])

    patches = cut(scans, torch.tensor([0]), places([4, 5, 6]), cube((3, 3, 3), (2.0, 1.0, 1.0)))

    assert np.array_equal(patches[0].numpy(), image[3:6, 4:7, 5:8])


@settings(deadline=None, max_examples=30)
@given(
    place=st.tuples(*[st.floats(-6, 16)] * 3),
    step=st.tuples(*[st.floats(0.3, 2.5)] * 3),
    spacing=st.tuples(*[st.floats(0.5, 3.0)] * 3),
)
def test_patches_are_those_of_another_interpolation_mirrored_at_the_faces(
    place: tuple[float, ...], step: tuple[float, ...], spacing: tuple[float, ...]
) -> None:
    image, grid = a_scan(), cube((3, 4, 5), step)  # type: ignore[arg-type]
    scans = scans_of([a_scan(1), image], [[1.0, 1.0, 1.0], spacing])

    patches = cut(scans, torch.tensor([1]), places(list(place)), grid)

    at = np.array(place) + grid.offset_mm / np.array(spacing)
    expected = map_coordinates(
        image.astype(np.float64), np.moveaxis(at, -1, 0), order=1, mode="mirror"
    )
    assert np.allclose(patches[0].numpy(), expected, atol=0.5)


@pytest.mark.parametrize("plane", range(9))
def test_a_ramp_is_cut_exactly_along_every_plane_of_symmetry(plane: int) -> None:
    """Interpolation by parts is exact where the image changes evenly, in every direction."""
    slope = np.array([7.0, -3.0, 2.0])
    index = np.stack(np.meshgrid(*[np.arange(40)] * 3, indexing="ij"), axis=-1)
    spacing = np.array([2.0, 1.0, 0.5])
    image = (index * spacing * slope).sum(axis=-1).astype(np.int16)
    scans, grid = scans_of([image], [spacing]), planes(SYMMETRY, 7, 0.8)

    patches = cut(scans, torch.tensor([0]), places([20, 20, 20]), grid)

    expected = ((np.array([20, 20, 20]) * spacing + grid.offset_mm[plane]) * slope).sum(axis=-1)
    assert np.allclose(patches[0, plane].numpy(), expected, atol=1e-2)


def test_a_turn_shows_the_voxels_along_the_turned_axes() -> None:
    image = a_scan()
    scans = scans_of([image], [[1.0, 1.0, 1.0]])
    quarter = torch.tensor([[[1.0, 0, 0], [0, 0, -1], [0, 1, 0]]])

    patches = cut(
        scans, torch.tensor([0]), places([4, 5, 5]), cube((1, 3, 3), (1.0, 1.0, 1.0)), turn=quarter
    )

    assert np.array_equal(patches[0, 0].numpy(), np.rot90(image[4, 4:7, 4:7], -1))


def test_beyond_a_bound_the_scan_is_mirrored_as_if_it_ended_there() -> None:
    image = a_scan()
    whole, part = (scans_of([array], [[1.0, 1.0, 1.0]]) for array in (image, image[2:7, 1:, :8]))
    grid = cube((7, 7, 7), (1.0, 1.0, 1.0))

    bounded = cut(
        whole,
        torch.tensor([0]),
        places([4, 5, 6]),
        grid,
        low=torch.tensor([[2, 1, 0]]),
        high=torch.tensor([[6, 11, 7]]),
    )

    assert torch.equal(bounded, cut(part, torch.tensor([0]), places([2, 4, 6]), grid))


def test_bytes_are_turned_into_hounsfield_units() -> None:
    scans = scans_of(
        [np.full((2, 2, 2), 64, np.uint8)], [[1.0, 1.0, 1.0]], step_hu=16, lowest_hu=-1024
    )

    patches = cut(scans, torch.tensor([0]), places([0.5, 0.5, 0.5]), cube((1, 1, 1), (1, 1, 1)))

    assert patches.item() == 0.0


def test_many_places_are_cut_in_parts_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    scans = scans_of([a_scan()], [[1.0, 1.0, 1.0]])
    which, grid = torch.zeros(7, dtype=torch.int64), cube((3, 3, 3), (1.0, 1.0, 1.0))
    at = places(*np.random.default_rng(3).uniform(0, 9, (7, 3)).tolist())
    offsets = torch.from_numpy(grid.offset_mm)
    points, boxes = cut(scans, which, at, offsets), cut(scans, which, at, grid)
    monkeypatch.setattr(module, "MOST_POINTS", 60)
    monkeypatch.setattr(module, "BOXES_AT_ONCE", 2)

    assert torch.equal(cut(scans, which, at, offsets), points)
    assert torch.allclose(cut(scans, which, at, grid), boxes, atol=1e-3)
    assert cut(scans, which[:0], at[:0], offsets).shape == (0, 3, 3, 3)


@settings(deadline=None, max_examples=20)
@given(
    at=st.lists(st.tuples(*[st.floats(-3, 13)] * 3), min_size=1, max_size=4),
    spacing=st.tuples(*[st.floats(0.5, 3.0)] * 3),
)
def test_boxes_are_cut_as_single_points_are(
    at: list[tuple[float, ...]], spacing: tuple[float, ...]
) -> None:
    scans = scans_of([a_scan(1), a_scan()], [[1.0, 1.0, 1.0], spacing])
    grid = stacked(cube((3, 4, 5), (1.0, 0.7, 1.5)), cube((3, 4, 5), (2.0, 2.0, 0.4)))
    which = torch.arange(len(at)) % 2
    place = places(*(list(position) for position in at))
    low = torch.tensor([[1, 0, 2]]).repeat(len(at), 1)
    high = torch.tensor([[6, 11, 9]]).repeat(len(at), 1)

    boxes = cut(scans, which, place, grid, low=low, high=high)

    points = cut(scans, which, place, torch.from_numpy(grid.offset_mm), low=low, high=high)
    assert boxes.shape == points.shape == (len(at), 2, 3, 4, 5)
    assert torch.allclose(boxes, points, atol=0.1)  # of 1,400 HU


def test_no_place_gives_no_box() -> None:
    scans = scans_of([a_scan()], [[1.0, 1.0, 1.0]])
    grid = cube((3, 4, 5), (1.0, 1.0, 1.0))

    patches = cut(scans, torch.zeros(0, dtype=torch.int64), torch.zeros(0, 3), grid)

    assert patches.shape == (0, 3, 4, 5)
