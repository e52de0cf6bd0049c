"""Examples + trained network -> the probability that each candidate is a nodule."""

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import replace
from functools import cache
from itertools import pairwise, product

import torch
from torch import Tensor, nn
from torch.nn.utils.fusion import fuse_conv_bn_eval

from nodulebench.detection.networks.examples import Examples
from nodulebench.detection.networks.network import Network, SamplingGrid, scaled
from nodulebench.detection.networks.patches import cut, faces, shifts_mm, turns
from nodulebench.detection.networks.recipe import Augment

GPU_BATCH, CPU_BATCH = 512, 32
"""Candidates in a batch: a GPU wants many, and a CPU as many as stay in its cache."""


def score_candidates(
    module: nn.Module, network: Network, examples: Examples, chosen: Tensor, *, tries: int = 1
) -> Tensor:
    """The probability that each of some candidates is a nodule.

    ``tries``: patches of a candidate that are averaged; the first is as it is, the others are
    turned and moved as in training, by draws that follow from the number of the try.
    """
    device = examples.place.device
    grids: list[Tensor | SamplingGrid] = [network.grid, *network.extra_grids]
    if device.type != "cpu":  # a GPU cuts by the points
        points = [torch.from_numpy(grid.offset_mm) for grid in (network.grid, *network.extra_grids)]
        grids = [point.to(device) for point in points]
    # turned and flipped, hardly moved
    augment = network.recipe.augment
    gentle = replace(augment, zoom=(1.0, 1.0), shift_mm=min(augment.shift_mm, 1.0))
    changed = network.scoring_augment or gentle
    module = in_channels_last(module, device).eval()
    scores = []
    at_once = CPU_BATCH if device.type == "cpu" else GPU_BATCH
    with full_precision():
        for part in torch.split(chosen, at_once) if len(chosen) else ():
            total = torch.zeros(len(part), device=part.device)
            for attempt, grid in product(range(tries), grids):
                random = torch.Generator(device=part.device).manual_seed(attempt)
                how = changed if attempt else Augment()
                patches = patches_around(examples, part, grid, how, random, is_learning=False)
                total += module(scaled(patches)).softmax(dim=1)[:, 1]
            scores.append(total / (tries * len(grids)))
    return torch.cat(scores) if scores else torch.zeros(0)


def area_under_roc(score: Tensor, is_nodule: Tensor) -> float:
    """The share of pairs of a nodule and another candidate in the right order."""
    ordered, _ = score[~is_nodule].sort()
    below = torch.searchsorted(ordered, score[is_nodule], right=False)
    upto = torch.searchsorted(ordered, score[is_nodule], right=True)
    pairs = (below + upto).double() / 2
    return float(pairs.mean() / max(1, len(ordered)))


def patches_around(
    examples: Examples,
    chosen: Tensor,
    grid: Tensor | SamplingGrid,
    how: Augment,
    random: torch.Generator,
    *,
    is_learning: bool,
) -> Tensor:
    """Patches of some candidates in Hounsfield units, changed at random.

    In training, faces are moved near; in scoring, only the visible part is used.
    """
    which, place = examples.which[chosen], examples.place[chosen]
    spacing_mm = examples.scans.spacing_mm[which]
    turn = None
    if how != Augment():
        turn = turns(how, len(chosen), random)
        place = place + shifts_mm(how, len(chosen), random) / spacing_mm
    if is_learning:
        low, high = faces(place, examples.scans.shape[which], spacing_mm, random)
    else:
        low, high = examples.seen[which].unbind(dim=1)
    return cut(examples.scans, which, place, grid, turn=turn, low=low, high=high)


def in_channels_last(module: nn.Module, device: torch.device) -> nn.Module:
    """A network on its device in the channels-last memory format, which convolutions prefer."""
    is_deep = any(isinstance(layer, nn.Conv3d) for layer in module.modules())
    order = torch.channels_last_3d if is_deep else torch.channels_last
    ordered: nn.Module = module.to(memory_format=order)  # type: ignore[call-overload]
    return ordered.to(device)


@contextmanager
def full_precision() -> Iterator[None]:
    """Compute outputs, without gradients, in single precision on every device.

    Half precision and a GPU's TF32 would change probabilities by up to 0.006, and with them the
    candidates above a threshold, from one type of processor to another.
    """
    exact = torch.backends.cudnn.flags(enabled=True, deterministic=True, allow_tf32=False)
    with torch.inference_mode(), exact:
        yield


Convolution = nn.Conv2d | nn.Conv3d


def fold_layers(module: nn.Module) -> nn.Module:
    """A copy with fewer layers; outputs agree but for the last bits, and it cannot be trained."""
    copied = deepcopy(module).eval()
    for part in list(copied.modules()):
        if isinstance(part, nn.Sequential):
            for number, following in pairwise(range(len(part))):
                joined = _joined(part[number], part[following])
                if joined is not None:
                    part[number], part[following] = nn.Identity(), joined
    return copied.requires_grad_(requires_grad=False)


def _joined(first: nn.Module, second: nn.Module) -> nn.Module | None:
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
    convolution = nn.Conv3d(
        single.in_channels, single.out_channels, side, side, bias=single.bias is not None
    )
    with torch.no_grad():
        convolution.weight.copy_(single.weight.expand_as(convolution.weight) / side**3)
        if single.bias is not None and convolution.bias is not None:
            convolution.bias.copy_(single.bias)
    return convolution.eval()


TRIM_THRESHOLD, MMAP_THRESHOLD = -1, -3
"""Of glibc's mallopt."""
RETAINED_BYTES, LARGEST_PIECE = 1 << 30, 1 << 25


def best_device() -> torch.device:
    if torch.cuda.is_available():
        return torch.device("cuda")
    keep_freed_memory()
    return torch.device("cpu")


@cache
def keep_freed_memory() -> bool:
    """Let the C library reuse freed memory for the next batch; return whether it supports that.

    Otherwise every batch gets its memory again, page by page: a tenth of the scoring time.
    """
    try:
        ask = ctypes.CDLL(None).mallopt
    except (OSError, TypeError, AttributeError):  # another C library than glibc
        return False
    limits = ((TRIM_THRESHOLD, RETAINED_BYTES), (MMAP_THRESHOLD, LARGEST_PIECE))
    return all(ask(which, limit) for which, limit in limits)
