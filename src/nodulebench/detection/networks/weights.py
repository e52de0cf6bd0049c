"""Trained networks <-> files: weights in safetensors, with a card of their origin.

Numbers have half precision, or those of convolutions and full layers eight bits: each output's
weights are whole numbers from -127 to 127 times one step of its own.

No pickle is ever read: a weight file can hold numbers and text, and nothing that runs.
"""

import hashlib
import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor, nn

from nodulebench.core.errors import InputError, UnknownNameError
from nodulebench.detection.networks import network_named
from nodulebench.detection.networks.cards import SCHEMA, Card, card_of
from nodulebench.detection.networks.checkpoint import plain
from nodulebench.io.durable import replace_whole

STEP = "/step"
"""Ends the name of the steps of a tensor of eight bits."""
MOST = 127


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
    return card_of(_about(path), path)


def read_weights(path: Path) -> tuple[nn.Module, Card]:
    """A trained network, ready to judge, and its card.

    Raises:
        InputError: if the file is damaged, was changed, or is of a network that is not known.
    """
    card = read_card(path)
    try:
        module = network_named(card.network).build()
        with safe_open(path, framework="pt") as file:
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        if _digest(tensors) != card.parameters:
            raise InputError.at(path, "its numbers are not those of its card.", "Fetch it anew.")
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


def _about(path: Path) -> Any:
    try:
        if path.exists() and not path.is_file():  # a pipe or a device may never end
            raise ValueError("it is no plain file")
        with safe_open(path, framework="pt") as file:
            return json.loads((file.metadata() or {})["card"])
    except (OSError, SafetensorError, KeyError, ValueError, RecursionError) as error:
        _refuse_classifier(path)
        what = str(error).partition("\n")[0]
        raise InputError.at(
            path,
            f"is no weight file of a network ({what}).",
            "Weights are safetensors files with a card, as nodulebench writes them.",
        ) from error


def _refuse_classifier(path: Path) -> None:
    """Say of a file that `train` wrote for a detector what it is."""
    from nodulebench.detection.classifiers.weights import holds_classifier, read_origin

    if holds_classifier(path):
        of = read_origin(path).name or path.stem
        raise InputError.at(
            path,
            f"holds the classifier of a detector ({of}), and no network.",
            "`detect` and `run` take it with --weights.",
        )


def _digest(tensors: dict[str, Tensor]) -> str:
    whole = hashlib.sha256()
    for name in sorted(tensors):
        one = tensors[name]
        whole.update(f"{name} {one.dtype} {tuple(one.shape)}\n".encode())
        whole.update(one.reshape(-1).view(torch.uint8).numpy().tobytes())
    return "sha256:" + whole.hexdigest()
