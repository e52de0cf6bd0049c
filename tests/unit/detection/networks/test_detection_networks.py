from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from scipy import ndimage

from nodulebench.detection.networks import DETECTION_NETWORKS, heatmap, network_named, znet
from nodulebench.detection.networks.cross_validation import Course, train_without
from nodulebench.detection.networks.detection_network import (
    Tiles,
    search,
    tile_sampling,
    tiles_around,
)
from nodulebench.detection.networks.examples import ExampleArrays, Examples, make_examples
from nodulebench.detection.networks.network import cube, parameter_count
from nodulebench.detection.networks.patches import scans_of
from nodulebench.detection.networks.recipe import Augment, Recipe
from nodulebench.detection.networks.weights import read_weights

UNITS = {"step_hu": 16.0, "lowest_hu": -1024.0}
SHAPE, SPACING_MM = (20, 40, 36), (2.0, 1.0, 1.0)


@pytest.fixture(scope="module")
def examples() -> Examples:
    """Three scans, each of another fold, with a ball of 8 mm, an ignored one, and a tube."""
    random = np.random.default_rng(3)
    images, places, is_nodule, findings = [], [], [], []
    grid = np.stack(np.meshgrid(*map(np.arange, SHAPE), indexing="ij"), axis=-1) * SPACING_MM
    for scan in range(3):
        ball = np.array([20.0, 14.0, 12.0]) + random.uniform(-3, 3, 3)
        other = np.array([20.0, 30.0, 28.0])
        image = random.normal(10, 2, SHAPE)
        for center in (ball, other):
            image[np.linalg.norm(grid - center, axis=-1) < 4] = 66
        image[np.linalg.norm((grid - (0, 32, 10))[..., 1:], axis=-1) < 2] = 66
        images.append(np.clip(image, 0, 255).astype(np.uint8))
        for center, nodule in ((ball, True), (np.array([20.0, 32.0, 10.0]), False)):
            places.append((scan, *(center / SPACING_MM)))
            is_nodule.append(nodule)
        findings.append((scan, *(ball / SPACING_MM), 8.0, 1.0))
        findings.append((scan, *(other / SPACING_MM), 8.0, 0.0))
    at = np.array(places)
    return make_examples(
        scans_of(images, [SPACING_MM] * 3, **UNITS),
        ExampleArrays(
            fold=[0, 1, 2],
            which=at[:, 0],
            place=at[:, 1:],
            is_nodule=is_nodule,
            findings=findings,
            series=["a", "b", "c"],
        ),
    )


def twice(before: int, after: int, taps: int) -> int:
    """Numbers of two convolutions without bias, each with a normalisation."""
    return taps * after * (before + after) + 2 * 2 * after


def test_the_u_net_of_slices_halves_three_times() -> None:
    maps = (16, 32, 64, 128)
    down = sum(twice(a, b, 9) for a, b in zip((1, *maps), maps, strict=False))
    up = sum(a * b * 4 + b + twice(2 * b, b, 9) for a, b in zip(maps[1:], maps, strict=False))

    assert parameter_count(DETECTION_NETWORKS["znet_unet"].build()) == down + up + maps[0] + 1


def test_the_heat_map_has_as_many_parameters_as_its_steps() -> None:
    stem = 24 * 4**3 + 2 * 24
    same = {maps: twice(maps, maps, 27) for maps in (24, 48, 64)}
    halved = twice(24, 48, 27) + 24 * 48 + twice(48, 64, 27) + 48 * 64
    up = (64 + 1) * 48 + same[48] + (48 + 1) * 24 + same[24]

    count = parameter_count(DETECTION_NETWORKS["heatmap"].build())

    assert count == stem + sum(same.values()) + halved + up + (24 + 1) * 2


@pytest.mark.parametrize("name", DETECTION_NETWORKS)
def test_answers_of_a_tile_lie_where_its_points_are(name: str) -> None:
    finder = DETECTION_NETWORKS[name]
    with torch.inference_mode():
        answers = finder.build().eval()(torch.zeros(1, *finder.tile.shape))

    assert answers[0, 0].numel() == len(finder.points_mm)
    assert torch.allclose(finder.points_mm.mean(dim=0), torch.zeros(3), atol=1e-4)
    step = finder.stride * finder.step_mm
    assert torch.allclose(finder.points_mm[1] - finder.points_mm[0], torch.tensor([0, 0, step]))


def test_findings_of_a_tile_are_where_they_are_seen_however_it_is_turned(
    examples: Examples,
) -> None:
    finder = DETECTION_NETWORKS["heatmap"]
    finder = replace(finder, tile=cube((24, 24, 24), (1.0, 1.0, 1.0)), stride=1)
    how = Recipe(augment=Augment((0.85, 1.2), is_turned_freely=True, is_flipped=True))
    chosen = torch.tensor([0, 2, 4]).repeat(8)
    tiles = tiles_around(
        examples,
        chosen,
        tile_sampling(finder, examples.place.device),
        how,
        torch.Generator().manual_seed(2),
    )

    on_nodule = ((tiles.apart_mm < tiles.diameter_mm / 2 - 1) & tiles.is_nodule).any(dim=2)
    far = (tiles.apart_mm > tiles.diameter_mm / 2 + 1.5) | (tiles.diameter_mm == 0)
    bright = tiles.seen.flatten(1) > 0.5
    assert on_nodule.sum() > 1000
    assert bright[on_nodule & tiles.is_inside].float().mean() > 0.97
    # the tube is not a finding
    assert bright[far.all(dim=2) & tiles.is_inside].float().mean() < 0.1
    ignored = tiles.is_ignored(-1.0) & tiles.is_inside
    assert ignored.sum() > 100
    assert bright[ignored].float().mean() > 0.97


def tiles_of(apart: list[float], diameter: float, *, is_nodule: bool) -> Tiles:
    return Tiles(
        torch.zeros(1, 1, 1, len(apart)),
        torch.ones(1, len(apart), dtype=torch.bool),
        torch.tensor(apart).reshape(1, -1, 1),
        torch.tensor([[[diameter]]]),
        torch.tensor([[[is_nodule]]]),
    )


def test_the_loss_of_a_map_is_that_of_its_formula() -> None:
    # in the middle, 2 mm beyond the core of 2 mm, and far away; all answers are p = .5 and 8 mm
    tiles = tiles_of([0.0, 4.0, 40.0], 8.0, is_nodule=True)
    answers = torch.tensor([0.0, np.log(8.0)]).reshape(1, 2, 1).repeat(1, 1, 3)[..., None, None]
    near = np.exp(-1 / 2)

    wanted = 0.25 * np.log(2) * (1 + (1 - near) ** 4 + 1)

    assert float(heatmap.heat_loss(answers, tiles)) == pytest.approx(wanted, rel=1e-5)
    ignored = tiles_of([0.0, 4.0, 40.0], 8.0, is_nodule=False)
    assert float(heatmap.heat_loss(answers, ignored)) == pytest.approx(0.25 * np.log(2))


def test_the_loss_of_pixels_is_cross_entropy_and_overlap() -> None:
    tiles = tiles_of([1.0, 9.0, 9.0, 9.0], 8.0, is_nodule=True)
    logit = torch.tensor([np.log(3.0), 0.0, 0.0, 0.0]).reshape(1, 1, 1, 1, 4)

    loss = float(znet.overlap_loss(logit, tiles))

    # one pixel of the nodule counts as much as the three others
    entropy = (np.log(4 / 3) + np.log(2)) / 2
    assert loss == pytest.approx(entropy + 1 - 2 * 0.75 / (0.75 + 1.5 + 1.0 + 1.0))


def test_components_are_those_of_an_image() -> None:
    random = np.random.default_rng(4)
    image = random.random((6, 20, 20)) < 0.25
    at = np.argwhere(image)
    rows = np.column_stack([at, random.random(len(at)), np.zeros(len(at))])

    components = znet.components(torch.from_numpy(rows[random.permutation(len(rows))]), 0.5)

    label, count = ndimage.label(image)
    wanted = ndimage.center_of_mass(image, label, range(1, count + 1))
    assert len(components) == count
    assert sorted(map(tuple, components[:, :3].numpy().round(6))) == sorted(
        map(tuple, np.array(wanted).round(6))
    )
    assert components[:, 3].diff().max() <= 0


def test_a_pixel_stays_where_its_four_neighbours_are_likely() -> None:
    logit = torch.full((1, 1, 1, 5, 5), -9.0)
    logit[0, 0, 0, 1:4, 1:4] = 9.0

    pixels = znet.likely_pixels(logit)

    assert pixels[:, :3].tolist() == [[0, 2, 2]]


def test_peaks_lie_in_the_middle_of_their_weight_and_weaker_ones_inside_are_dropped() -> None:
    answers = torch.full((1, 2, 8, 8, 8), -20.0)
    answers[0, 1] = np.log(6.0)
    answers[0, 0, 2, 2, 2] = answers[0, 0, 2, 2, 3] = 3.0
    answers[0, 0, 2, 2, 2] += 1e-3
    answers[0, 0, 6, 6, 6] = 1.0

    separated = heatmap.separate(heatmap.peaks(answers), 1.0)

    assert separated[:, :3].numpy() == pytest.approx(
        np.array([[4.5, 4.5, 5.5], [12.5] * 3]), abs=1e-2
    )
    assert separated[:, 4].tolist() == pytest.approx([6.0, 6.0])
    close = torch.tensor([[0.0, 0, 0, 0.9, 6], [0, 0, 2.9, 0.8, 6], [0, 0, 3.1, 0.7, 6]])
    assert heatmap.separate(close, 1.0)[:, 3].tolist() == pytest.approx([0.9, 0.7])


class Bright(torch.nn.Module):
    """Answers where it is bright, and 5 mm: what a trained finder does."""

    def forward(self, seen: "torch.Tensor") -> "torch.Tensor":
        means = torch.nn.functional.avg_pool3d(seen[:, None], 2)
        smooth = torch.nn.functional.avg_pool3d(means, 3, 1, 1)
        return torch.cat([(smooth - 0.4) * 20, torch.full_like(smooth, np.log(5.0))], dim=1)


def test_a_scan_is_searched_in_slabs_as_if_in_one() -> None:
    finder = DETECTION_NETWORKS["heatmap"]
    spacing = (1.5, 0.8, 0.9)
    grid = np.stack(np.meshgrid(*map(np.arange, (90, 50, 70)), indexing="ij"), axis=-1) * spacing
    centers = np.array(
        [[10.0, 20, 30], [39.5, 12, 50], [48.0, 30, 20], [96.2, 25, 25], [130, 9, 9]]
    )
    image = np.full((90, 50, 70), 10, dtype=np.uint8)
    for center in centers:
        image[np.linalg.norm(grid - center, axis=-1) < 4] = 80
    scans = scans_of([image], [spacing], **UNITS)
    low, high = torch.zeros(3, dtype=torch.int64), scans.shape[0] - 1

    result = search(Bright(), finder, scans, 0, low, high)
    whole = search(Bright(), replace(finder, slab=160, margin=8), scans, 0, low, high)
    part = search(Bright(), finder, scans, 0, torch.tensor([20, 0, 0]), high)

    place = result.place.numpy() * spacing
    assert len(result) == len(centers)
    apart = np.linalg.norm(place[:, None] - centers[None], axis=-1)
    assert apart.min(axis=1).max() < 1.0
    assert torch.allclose(result.place.sort(dim=0)[0], whole.place.sort(dim=0)[0], atol=0.2)
    assert result.diameter_mm.tolist() == pytest.approx([5.0] * 5)
    assert len(part) == 4


@pytest.mark.slow
@pytest.mark.parametrize("name", DETECTION_NETWORKS)
def test_a_finder_learns_to_find_a_ball(
    name: str, examples: Examples, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    finder = network_named(name)
    smaller = (16, 16, 16) if name == "heatmap" else (1, 32, 32)
    tiny = replace(
        finder,
        tile=cube(smaller, (finder.step_mm,) * 3),
        shift_mm=(2.0, 3.0, 3.0),
        slab=24 if name == "heatmap" else 4,
        margin=4 if name == "heatmap" else 0,
    )
    monkeypatch.setitem(DETECTION_NETWORKS._loaded, name, tiny)
    recipe = replace(
        finder.recipe,
        steps=25 if name == "heatmap" else 70,
        batch=4,
        check_every=5,
        average=0.85,
        rate=5e-3,
        augment=Augment(),
    )
    done = train_without(name, 0, Course(examples, tmp_path, recipe))

    assert done.curve[-1].loss < 0.8 * done.curve[0].loss
    with np.load(tmp_path / f"{name}-0.npz") as stored:
        assert set(stored["which"].tolist()) == {0}
        best = stored["place"][stored["score"].argsort()[-2:]] * SPACING_MM
    both = examples.findings[:2, 1:4].numpy() * SPACING_MM
    assert np.linalg.norm(best[:, None] - both[None], axis=2).min(axis=1).max() < 3
    assert done.card.metrics["sensitivity"] == 1.0
    module, card = read_weights(done.path)
    assert (card.network, card.folds) == (name, (1, 2))
    assert not module.training
