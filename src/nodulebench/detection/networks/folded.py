"""A trained network -> the same in fewer steps: for judging, not for learning.

A normalisation after a convolution is a convolution with other numbers, and so is the mean of
blocks of voxels before a convolution of single ones.
"""

from copy import deepcopy
from itertools import pairwise

import torch
from torch import nn
from torch.nn.utils.fusion import fuse_conv_bn_eval

Convolution = nn.Conv2d | nn.Conv3d


def folded(module: nn.Module) -> nn.Module:
    """A copy that answers the same, but for the last bits, and cannot learn."""
    found = deepcopy(module).eval()
    for part in list(found.modules()):
        if isinstance(part, nn.Sequential):
            for number, following in pairwise(range(len(part))):
                joined = _joined(part[number], part[following])
                if joined is not None:
                    part[number], part[following] = nn.Identity(), joined
    return found.requires_grad_(requires_grad=False)


def _joined(first: nn.Module, second: nn.Module) -> nn.Module | None:
    """Two steps as one convolution; None: they are none."""
    if isinstance(first, Convolution) and isinstance(second, nn.BatchNorm2d | nn.BatchNorm3d):
        return fuse_conv_bn_eval(first, second)
    if isinstance(first, nn.AvgPool3d) and isinstance(second, nn.Conv3d):
        return _of_blocks(first, second)
    return None


def _of_blocks(pool: nn.AvgPool3d, single: nn.Conv3d) -> nn.Conv3d | None:
    """A convolution of single voxels after the mean of blocks, as one of blocks."""
    side = pool.kernel_size
    if not isinstance(side, int) or pool.stride != side or single.kernel_size != (1, 1, 1):
        return None
    found = nn.Conv3d(
        single.in_channels, single.out_channels, side, side, bias=single.bias is not None
    )
    with torch.no_grad():
        found.weight.copy_(single.weight.expand_as(found.weight) / side**3)
        if single.bias is not None and found.bias is not None:
            found.bias.copy_(single.bias)
    return found.eval()
