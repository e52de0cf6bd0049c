import numpy as np
import pytest

torch = pytest.importorskip("torch")

from nodulebench.detection.networks import NETWORKS
from nodulebench.detection.networks.network import parameter_count

PRINTED = {
    "cumedvis_a": 1_643_844,
    "cumedvis_b": 2_220_144,
    "cumedvis_c": 13_420_144,
    # each without its last layer, then 650 -> 128 -> 2
    "jackfpr": 1_643_844 - 302 + 2_220_144 - 502 + 13_420_144 - 502 + 651 * 128 + 129 * 2,
    # convolutions, nine streams of 48 maps of 6 x 6 to 16 features, 144 features to two answers
    "diag_convnet": 21_440 + 9 * (48 * 36 + 1) * 16 + (144 + 1) * 2,
    # 3 colours; 48 maps of 4 x 4; batch normalisation has two numbers a map
    "cadimi": 24 * (25 * 3 + 1)
    + 32 * (9 * 24 + 1)
    + 48 * (9 * 32 + 1)
    + 2 * (24 + 32 + 48)
    + 512 * (48 * 16 + 1)
    + 2 * 513,
    "m5lcad": 25 * (11**3 + 1) + 2 * 26,
}


@pytest.mark.parametrize("name", PRINTED)
def test_a_network_has_as_many_parameters_as_its_paper_says(name: str) -> None:
    assert parameter_count(NETWORKS[name].build()) == PRINTED[name]


def test_the_convolutions_of_diag_convnet_are_shared_by_its_nine_views() -> None:
    module = NETWORKS["diag_convnet"].build()

    assert parameter_count(module.convolutions) == 21_440


def test_the_wide_residual_network_has_ten_convolutions_in_each_of_three_sets() -> None:
    module = NETWORKS["znet"].build()
    maps = [
        layer.out_channels
        for layer in module.modules()
        if isinstance(layer, torch.nn.Conv2d) and layer.kernel_size == (3, 3)
    ]

    assert maps == [16] + [96] * 10 + [192] * 10 + [384] * 10


@pytest.mark.parametrize("name", [name for name in NETWORKS if name not in ("jackfpr", "znet")])
def test_a_network_answers_for_every_patch_by_itself(name: str) -> None:
    network = NETWORKS[name]
    torch.manual_seed(1)
    module = network.build().eval()
    patches = torch.rand(3, *network.grid.shape)

    with torch.inference_mode():
        together = module(patches).softmax(dim=1)
        single = module(patches[1:2]).softmax(dim=1)

    assert together.shape == (3, 2)
    assert torch.allclose(together[1:2], single, atol=1e-5)


@pytest.mark.parametrize("name", ["znet", "cadimi"])
def test_planes_are_averaged_as_probabilities(name: str) -> None:
    network = NETWORKS[name]
    torch.manual_seed(1)
    module = network.build().eval()
    patches = torch.rand(1, *network.grid.shape)

    with torch.inference_mode():
        mean = module(patches).softmax(dim=1)
        each = [module(patches[:, view : view + 1]).softmax(dim=1) for view in range(3)]

    assert torch.allclose(mean, torch.stack(each).mean(dim=0), atol=1e-6)


def test_cadimi_scores_five_patches_of_every_view() -> None:
    network = NETWORKS["cadimi"]
    moved = [(grid.offset_mm - network.grid.offset_mm)[:, 0, 0, 0] for grid in network.extra_grids]

    # 4 pixels of 1 mm, either way along the rows and the columns of each of the three views
    assert np.abs(np.stack(moved)).sum(axis=2).tolist() == [[4.0] * 3] * 4
    assert np.stack(moved).sum(axis=0).tolist() == [[0.0] * 3] * 3


def test_znet_changes_patches_alike_in_training_and_in_scoring() -> None:
    assert NETWORKS["znet"].scoring_augment == NETWORKS["znet"].recipe.augment
