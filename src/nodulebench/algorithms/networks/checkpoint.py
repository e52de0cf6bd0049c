"""A learner <-> a file: weights, their average, the optimiser and the step, without any pickle."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from nodulebench.errors import InputError
from nodulebench.storage.durable import replace_whole

if TYPE_CHECKING:
    from nodulebench.algorithms.networks.training import Learner

SCHEMA = "nodulebench/checkpoint@1"


def write_checkpoint(path: Path, learner: "Learner") -> None:
    """Keep a learner; the file is replaced whole."""
    tensors = {f"module.{name}": one for name, one in learner.module.state_dict().items()}
    if learner.average is not learner.module:
        tensors |= {f"average.{name}": one for name, one in learner.average.state_dict().items()}
    tensors |= {f"kept.{name}": one for name, one in learner.kept.items()}
    others: dict[str, Any] = {}
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
        "best": learner.best,
        "since_best": learner.since_best,
        "plain": others,
    }
    content = save(
        {name: plain(one) for name, one in tensors.items()},
        metadata={"about": json.dumps(about)},
    )
    replace_whole(path, content)


def plain(values: Tensor, *, is_half: bool = False) -> Tensor:
    """A tensor as a file holds it, whatever order a GPU wanted its axes in."""
    found = values.detach().cpu()
    if is_half and found.dtype.is_floating_point:
        found = found.half()
    return found.clone(memory_format=torch.contiguous_format)


def read_checkpoint(path: Path, learner: "Learner") -> None:
    """Bring a learner to where it was.

    Raises:
        InputError: if the file is damaged, or of another network.
    """
    try:
        with safe_open(path, framework="pt") as file:
            about = json.loads((file.metadata() or {})["about"])
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        learner.module.load_state_dict(_under("module.", tensors))
        if learner.average is not learner.module:
            learner.average.load_state_dict(_under("average.", tensors))
        learner.kept = _under("kept.", tensors)
        state: dict[int, dict[str, Any]] = {}
        for key, value in _under("optimizer.", tensors | about["plain"]).items():
            number, _, name = key.partition(".")
            state.setdefault(int(number), {})[name] = value
        groups = learner.optimizer.state_dict()["param_groups"]
        learner.optimizer.load_state_dict({"state": state, "param_groups": groups})
        learner.step, learner.best = int(about["step"]), float(about["best"])
        learner.since_best = int(about["since_best"])
    except (OSError, SafetensorError, KeyError, ValueError, RuntimeError) as error:
        what = str(error).partition("\n")[0]
        raise InputError.at(
            path, f"is no checkpoint of this network ({what}).", "Remove it to begin anew."
        ) from error


def _under(start: str, values: dict[str, Any]) -> dict[str, Any]:
    return {name[len(start) :]: one for name, one in values.items() if name.startswith(start)}
