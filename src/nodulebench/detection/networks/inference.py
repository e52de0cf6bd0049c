"""Examples + trained network -> the probability that each candidate is a nodule."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import product

import torch
from torch import Tensor, nn

from nodulebench.detection.networks.augment import faces, shifts_mm, turns
from nodulebench.detection.networks.examples import Examples
from nodulebench.detection.networks.looks import Look
from nodulebench.detection.networks.network import Augment, Network, scaled
from nodulebench.detection.networks.patches import cut

JUDGED_AT_ONCE, ON_CPU = 512, 32
"""Candidates in a batch: a GPU wants many, and a CPU as many as stay in its cache."""


def judge(
    module: nn.Module, network: Network, examples: Examples, chosen: Tensor, *, tries: int = 1
) -> Tensor:
    """The probability that each of some candidates is a nodule.

    Args:
        module: a trained network.
        network: which one it is.
        examples: scans and candidates.
        chosen: which candidates.
        tries: patches of a candidate that are averaged; the first is as it is, the others are
            turned and moved as in training, by draws that follow from the number of the try.
    """
    device = examples.place.device
    looks = [_there(look, device) for look in (network.look, *network.beside)]
    changed = network.judged or _gentle(network.recipe.augment)
    module = laid_out(module, device).eval()
    found = []
    at_once = ON_CPU if device.type == "cpu" else JUDGED_AT_ONCE
    with full_precision():
        for part in torch.split(chosen, at_once) if len(chosen) else ():
            total = torch.zeros(len(part), device=part.device)
            for attempt, look in product(range(tries), looks):
                random = torch.Generator(device=part.device).manual_seed(attempt)
                how = changed if attempt else Augment()
                patches = patches_around(examples, part, look, how, random, is_learning=False)
                total += module(scaled(patches)).softmax(dim=1)[:, 1]
            found.append(total / (tries * len(looks)))
    return torch.cat(found) if found else torch.zeros(0)


def area_under_roc(score: Tensor, is_nodule: Tensor) -> float:
    """The share of pairs of a nodule and another candidate that are in the right order."""
    ordered, _ = score[~is_nodule].sort()
    below = torch.searchsorted(ordered, score[is_nodule], right=False)
    upto = torch.searchsorted(ordered, score[is_nodule], right=True)
    pairs = (below + upto).double() / 2
    return float(pairs.mean() / max(1, len(ordered)))


def patches_around(
    examples: Examples,
    chosen: Tensor,
    look: Tensor | Look,
    how: Augment,
    random: torch.Generator,
    *,
    is_learning: bool,
) -> Tensor:
    """Patches of some candidates in Hounsfield units, changed at random.

    While a network learns, faces are moved near; when it judges, only what may be seen is.
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
    return cut(examples.scans, which, place, look, turn=turn, low=low, high=high)


def _there(look: Look, device: torch.device) -> Tensor | Look:
    """A look as patches are cut by it: on a GPU by its points."""
    return look if device.type == "cpu" else torch.from_numpy(look.offset_mm).to(device)


def _gentle(augment: Augment) -> Augment:
    """What may be done to a candidate that is judged: it is turned and flipped, hardly moved."""
    return replace(augment, zoom=(1.0, 1.0), shift_mm=min(augment.shift_mm, 1.0))


def laid_out(module: nn.Module, device: torch.device) -> nn.Module:
    """A network on its device, with its maps beside each other, as convolutions want them."""
    is_deep = any(isinstance(one, nn.Conv3d) for one in module.modules())
    order = torch.channels_last_3d if is_deep else torch.channels_last
    ordered: nn.Module = module.to(memory_format=order)  # type: ignore[call-overload]
    return ordered.to(device)


@contextmanager
def full_precision() -> Iterator[None]:
    """Compute answers, without gradients, in single precision on every device.

    Half precision and a GPU's TF32 would change probabilities by up to 0.006, and with them the
    candidates above a threshold, from one type of processor to another.
    """
    exact = torch.backends.cudnn.flags(enabled=True, deterministic=True, allow_tf32=False)
    with torch.inference_mode(), exact:
        yield
