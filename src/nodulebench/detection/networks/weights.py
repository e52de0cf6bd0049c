"""Trained networks <-> files: weights in safetensors, with a card of their origin.

Numbers have half precision, or those of convolutions and full layers eight bits: each output's
weights are whole numbers from -127 to 127 times a step of that output.

No pickle is ever read: a weight file can hold numbers and text, and nothing that runs.
"""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor, nn

from nodulebench.core.errors import InputError, UnknownNameError, first_line
from nodulebench.core.json_types import JsonObject
from nodulebench.detection.networks import network_named
from nodulebench.detection.networks.cards import SCHEMA as SCHEMA_FROM_CARDS
from nodulebench.detection.networks.cards import ModelCard, card_of, differences, stored_card
from nodulebench.io.atomic import replace_whole

if TYPE_CHECKING:
    from nodulebench.detection.networks.training import Learner


SCHEMA = "nodulebench/training-state@3"
REMEDY = "Choose another folder, or delete it to begin again."
_DAMAGED = (OSError, SafetensorError, LookupError, ValueError, TypeError, RuntimeError)


def write_checkpoint(path: Path, learner: "Learner", run: Mapping[str, object]) -> None:
    """Save a learner and the description of its training; the file is replaced as a whole."""
    tensors = {f"module.{name}": tensor for name, tensor in learner.module.state_dict().items()}
    if learner.average is not learner.module:
        tensors |= {
            f"average.{name}": tensor for name, tensor in learner.average.state_dict().items()
        }
    tensors |= {f"best.{name}": tensor for name, tensor in learner.best_weights.items()}
    others: JsonObject = {}
    for number, state in learner.optimizer.state_dict()["state"].items():
        for name, value in state.items():
            key = f"optimizer.{number}.{name}"
            if isinstance(value, Tensor):
                tensors[key] = value
            else:
                others[key] = value
    about = {
        "schema": SCHEMA,
        "step": learner.step,
        "run": run,
        "best": learner.best,
        "best_step": learner.best_step,
        "since_best": learner.since_best,
        "plain": others,
    }
    content = save(
        {name: plain(tensor) for name, tensor in tensors.items()},
        metadata={"about": json.dumps(about)},
    )
    replace_whole(path, content)


def plain(values: Tensor, *, is_half: bool = False) -> Tensor:
    """A tensor as a file holds it, in the usual order of its axes."""
    tensor = values.detach().cpu()
    if is_half and tensor.dtype.is_floating_point:
        tensor = tensor.half()
    return tensor.clone(memory_format=torch.contiguous_format)


def read_step(path: Path, run: Mapping[str, object]) -> int:
    try:
        with safe_open(path, framework="pt") as file:
            about = json.loads((file.metadata() or {})["about"])
        schema, was, step = about["schema"], dict(about.get("run", {})), int(about["step"])
    except (*_DAMAGED, AttributeError) as error:
        raise _damaged(path, error) from error
    if schema != SCHEMA:
        raise InputError.at(path, f"has the schema '{schema}', not '{SCHEMA}'.", REMEDY)
    difference = differences(was, run)
    if difference:
        raise InputError.at(path, f"is the state of another training ({difference}).", REMEDY)
    return step


def read_checkpoint(path: Path, learner: "Learner", run: Mapping[str, object]) -> None:
    step = read_step(path, run)
    try:
        with safe_open(path, framework="pt") as file:
            about = json.loads(file.metadata()["about"])
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        learner.module.load_state_dict(_under("module.", tensors))
        if learner.average is not learner.module:
            learner.average.load_state_dict(_under("average.", tensors))
        learner.best_weights = _under("best.", tensors)
        state: dict[int, JsonObject] = {}
        for key, value in _under("optimizer.", tensors | about["plain"]).items():
            number, _, name = key.partition(".")
            state.setdefault(int(number), {})[name] = value
        groups = learner.optimizer.state_dict()["param_groups"]
        learner.optimizer.load_state_dict({"state": state, "param_groups": groups})
        learner.step, learner.best = step, float(about["best"])
        learner.best_step, learner.since_best = int(about["best_step"]), int(about["since_best"])
    except _DAMAGED as error:
        raise _damaged(path, error) from error


def _damaged(path: Path, error: Exception) -> InputError:
    what = first_line(error)
    return InputError.at(
        path, f"is not a checkpoint of this network ({what}).", "Delete it to begin again."
    )


def _under(start: str, values: JsonObject) -> JsonObject:
    return {name[len(start) :]: value for name, value in values.items() if name.startswith(start)}


STEP = "/step"
"""Ends the name of the steps of a tensor of eight bits."""
MOST = 127


def write_weights(
    path: Path, module: nn.Module, card: ModelCard, *, is_small: bool = False
) -> None:
    """Write a trained network in half precision, or with ``is_small`` in eight bits."""
    tensors: dict[str, Tensor] = {}
    for name, tensor in module.state_dict().items():
        if is_small and tensor.dtype.is_floating_point and tensor.ndim > 1:
            tensors[name], tensors[name + STEP] = _in_steps(plain(tensor))
        else:
            tensors[name] = plain(tensor, is_half=True)
    about = {**stored_card(card), "schema": SCHEMA_FROM_CARDS, "parameters": _digest(tensors)}
    card_text = json.dumps(about, sort_keys=True)
    replace_whole(path, save(tensors, metadata={"card": card_text}))


def read_card(path: Path) -> ModelCard:
    return card_of(_about(path), path)


def read_weights(path: Path) -> tuple[nn.Module, ModelCard]:
    """A trained network, ready to score, and its card; refused if damaged, changed or not known."""
    card = read_card(path)
    try:
        module = network_named(card.network).build()
        with safe_open(path, framework="pt") as file:
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        if _digest(tensors) != card.parameters:
            raise InputError.at(
                path, "its numbers are not those of its card.", "Download it again."
            )
        module.load_state_dict(_whole(tensors))
    except UnknownNameError as error:
        raise InputError.at(path, str(error)) from error
    except (OSError, SafetensorError, RuntimeError, ValueError, KeyError) as error:
        what = str(error).partition("\n")[0]
        raise InputError.at(
            path, f"does not fit the network '{card.network}' ({what}).", "Download it again."
        ) from error
    return module.float().eval(), card


def _in_steps(values: Tensor) -> tuple[Tensor, Tensor]:
    """Whole numbers, and the step of each output."""
    step = values.flatten(1).abs().amax(dim=1).clamp(min=1e-12) / MOST
    return (values / _sibling(step, values)).round().to(torch.int8), step


def _whole(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """The numbers of a file as a network takes them."""
    plain_tensors = {name: tensor for name, tensor in tensors.items() if not name.endswith(STEP)}
    for name in tensors.keys() - plain_tensors.keys():
        whole = plain_tensors[name.removesuffix(STEP)]
        plain_tensors[name.removesuffix(STEP)] = whole * _sibling(tensors[name], whole)
    return plain_tensors


def _sibling(step: Tensor, values: Tensor) -> Tensor:
    return step.reshape(-1, *[1] * (values.ndim - 1))


def _about(path: Path) -> object:
    try:
        if path.exists() and not path.is_file():  # a pipe or a device may never end
            raise ValueError("it is not a plain file")
        with safe_open(path, framework="pt") as file:
            return json.loads((file.metadata() or {})["card"])
    except (OSError, SafetensorError, KeyError, ValueError, RecursionError) as error:
        _reject_classifier(path)
        what = str(error).partition("\n")[0]
        remedy = "Weights are safetensors files with a card, as nodulebench writes them."
        raise InputError.at(path, f"is not a weight file of a network ({what}).", remedy) from error


def _reject_classifier(path: Path) -> None:
    from nodulebench.detection.classifiers.weights import holds_classifier, read_origin

    if holds_classifier(path):
        of = read_origin(path).name or path.stem
        what = f"holds the classifier of a detector ({of}), not a network."
        raise InputError.at(path, what, "`detect` and `run` take it with --weights.")


def _digest(tensors: dict[str, Tensor]) -> str:
    whole = hashlib.sha256()
    for name in sorted(tensors):
        tensor = tensors[name]
        whole.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}\n".encode())
        whole.update(tensor.reshape(-1).view(torch.uint8).numpy().tobytes())
    return "sha256:" + whole.hexdigest()
