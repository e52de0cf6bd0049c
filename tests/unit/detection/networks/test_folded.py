"""A folded network says what the network says, in fewer steps."""

import pytest

torch = pytest.importorskip("torch")

from torch import nn

from nodulebench.detection.networks import DETECTION_NETWORKS, NETWORKS, network_named
from nodulebench.detection.networks.inference import fold_layers

OURS = {"twoscale": 0, "heatmap": 0, "znet_unet": 0}
"""Normalisations that are left; ZNET's residual network normalises before it convolves."""


def trained(module: nn.Module) -> nn.Module:
    """As after learning: normalisations that change something."""
    for layer in module.modules():
        if isinstance(layer, nn.BatchNorm2d | nn.BatchNorm3d):
            nn.init.uniform_(layer.weight, 0.5, 1.5)
            nn.init.uniform_(layer.bias, -0.5, 0.5)
            nn.init.uniform_(layer.running_mean, -0.3, 0.3)
            nn.init.uniform_(layer.running_var, 0.5, 2.0)
    return module.eval()


def normalisations(module: nn.Module) -> int:
    return sum(isinstance(layer, nn.BatchNorm2d | nn.BatchNorm3d) for layer in module.modules())


@pytest.mark.slow
@pytest.mark.parametrize("name", [*NETWORKS, *DETECTION_NETWORKS])
def test_it_answers_the_same(name: str) -> None:
    torch.manual_seed(3)
    is_detector = name in DETECTION_NETWORKS
    network = network_named(name)
    module = trained(network.build())
    grid = DETECTION_NETWORKS[name].tile if is_detector else NETWORKS[name].grid
    patches = torch.rand(2, *grid.shape)
    quick = fold_layers(module)
    with torch.inference_mode():
        expected, folded_scores = module(patches), quick(patches)
    scale = expected.abs().max().clamp(min=1)
    assert ((expected - folded_scores).abs() / scale).max() < 1e-5
    if name in OURS:
        assert normalisations(quick) == OURS[name] < normalisations(module)


def test_the_network_itself_stays_and_can_learn_on() -> None:
    module = trained(nn.Sequential(nn.Conv3d(1, 2, 3), nn.BatchNorm3d(2)))
    before = {name: tensor.clone() for name, tensor in module.state_dict().items()}
    quick = fold_layers(module)
    assert all(torch.equal(tensor, before[name]) for name, tensor in module.state_dict().items())
    assert all(parameter.requires_grad for parameter in module.parameters())
    assert not any(parameter.requires_grad for parameter in quick.parameters())


@pytest.mark.parametrize("side", [1, 2, 3])
def test_the_mean_of_blocks_of_any_size_is_folded(side: int) -> None:
    torch.manual_seed(5)
    module = nn.Sequential(nn.AvgPool3d(side), nn.Conv3d(3, 4, 1), nn.BatchNorm3d(4)).eval()
    maps = torch.rand(2, 3, 7, 8, 9)
    quick = fold_layers(module)
    assert [type(layer) for layer in quick] == [nn.Identity, nn.Identity, nn.Conv3d]
    torch.testing.assert_close(quick(maps), module(maps))


def test_what_cannot_be_folded_stays() -> None:
    overlapping = nn.Sequential(nn.AvgPool3d(3, 1), nn.Conv3d(1, 1, 1))
    wide = nn.Sequential(nn.AvgPool3d(2), nn.Conv3d(1, 1, 3))
    for module in (overlapping, wide):
        assert isinstance(fold_layers(module)[0], nn.AvgPool3d)
