"""Trained networks <-> files: weights in safetensors, with a card of their origin.

Numbers have half precision, or those of convolutions and full layers eight bits: each output's
weights are whole numbers from -127 to 127 times one step of its own.

No pickle is ever read: a weight file can hold numbers and text, and nothing that runs.
"""

import hashlib
import json
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor, nn

from nodulebench.algorithms.networks import network_named
from nodulebench.algorithms.networks.checkpoint import plain
from nodulebench.errors import InputError, UnknownNameError
from nodulebench.storage.durable import replace_whole

SCHEMA = "nodulebench/network-weights@1"
STEP = "/step"
"""Ends the name of the steps of a tensor of eight bits."""
MOST = 127


@dataclass(frozen=True)
class Card:
    """Where weights come from."""

    network: str
    seed: int
    steps: int
    data: str
    """What they were trained on, in words."""
    digest: str
    """Of the examples."""
    folds: tuple[int, ...]
    """Folds whose candidates were learnt from; a scan of another fold was never seen."""
    figures: dict[str, float] = field(default_factory=dict)
    """What was measured on candidates that were never seen."""
    series: dict[int, tuple[str, ...]] = field(default_factory=dict)
    """All folds of the data with the digests of their series (``algorithms/unseen.py``)."""
    begun_from: str = ""
    """The digest of the weights that it was tuned from; empty: drawn anew."""
    parameters: str = ""
    """The digest of its own weights, once they are in a file."""


def write_weights(path: Path, module: nn.Module, card: Card, *, is_small: bool = False) -> None:
    """Write a trained network, in half precision or, if it shall be small, in eight bits."""
    tensors: dict[str, Tensor] = {}
    for name, one in module.state_dict().items():
        if is_small and one.dtype.is_floating_point and one.ndim > 1:
            tensors[name], tensors[name + STEP] = _in_steps(plain(one))
        else:
            tensors[name] = plain(one, is_half=True)
    about = {**asdict(card), "schema": SCHEMA, "parameters": _digest(tensors)}
    card_text = json.dumps(about, sort_keys=True)
    replace_whole(path, save(tensors, metadata={"card": card_text}))


def read_card(path: Path) -> Card:
    """The card of a weight file.

    Raises:
        InputError: if it is no weight file of a network.
    """
    return _card(_about(path), path)


def read_weights(path: Path) -> tuple[nn.Module, Card]:
    """A trained network, ready to judge, and its card.

    Raises:
        InputError: if the file is damaged, was changed, or is of a network that is not known.
    """
    card = read_card(path)
    try:
        with safe_open(path, framework="pt") as file:
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        if _digest(tensors) != card.parameters:
            raise InputError.at(path, "its numbers are not those of its card.", "Fetch it anew.")
        module = network_named(card.network).build()
        module.load_state_dict(_whole(tensors))
    except UnknownNameError as error:
        raise InputError.at(path, str(error)) from error
    except (OSError, SafetensorError, RuntimeError, ValueError, KeyError) as error:
        what = str(error).partition("\n")[0]
        raise InputError.at(
            path, f"does not fit the network '{card.network}' ({what}).", "Fetch it anew."
        ) from error
    return module.float().eval(), card


def _in_steps(values: Tensor) -> tuple[Tensor, Tensor]:
    """Whole numbers, and the step of each output."""
    step = values.flatten(1).abs().amax(dim=1).clamp(min=1e-12) / MOST
    return (values / _beside(step, values)).round().to(torch.int8), step


def _whole(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """The numbers of a file as a network takes them."""
    found = {name: one for name, one in tensors.items() if not name.endswith(STEP)}
    for name in tensors.keys() - found.keys():
        whole = found[name.removesuffix(STEP)]
        found[name.removesuffix(STEP)] = whole * _beside(tensors[name], whole)
    return found


def _beside(step: Tensor, values: Tensor) -> Tensor:
    return step.reshape(-1, *[1] * (values.ndim - 1))


def _about(path: Path) -> dict[str, Any]:
    try:
        with safe_open(path, framework="pt") as file:
            about: dict[str, Any] = json.loads((file.metadata() or {})["card"])
    except (OSError, SafetensorError, KeyError, ValueError) as error:
        what = str(error).partition("\n")[0]
        raise InputError.at(
            path,
            f"is no weight file of a network ({what}).",
            "Weights are safetensors files with a card, as nodulebench writes them.",
        ) from error
    if about.get("schema") != SCHEMA:
        raise InputError.at(path, f"has the schema '{about.get('schema')}', not '{SCHEMA}'.")
    return about


def _card(about: dict[str, Any], path: Path) -> Card:
    try:
        given = {one.name: about[one.name] for one in fields(Card) if one.name in about}
        series = {int(fold): tuple(one) for fold, one in given.get("series", {}).items()}
        return Card(**{**given, "folds": tuple(given["folds"]), "series": series})
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InputError.at(path, f"its card is damaged ({error}).", "Fetch it anew.") from error


def _digest(tensors: dict[str, Tensor]) -> str:
    whole = hashlib.sha256()
    for name in sorted(tensors):
        one = tensors[name]
        whole.update(f"{name} {one.dtype} {tuple(one.shape)}\n".encode())
        whole.update(one.reshape(-1).view(torch.uint8).numpy().tobytes())
    return "sha256:" + whole.hexdigest()
