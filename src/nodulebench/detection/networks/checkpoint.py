"""A learner <-> a file: weights, their average, the optimiser and the step, without any pickle.

The file says of which training it is, so that no other goes on with it.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from nodulebench.core.errors import InputError, first_line
from nodulebench.detection.networks.cards import differences
from nodulebench.io.durable import replace_whole

if TYPE_CHECKING:
    from nodulebench.detection.networks.training import Learner

SCHEMA = "nodulebench/checkpoint@2"
REMEDY = "Choose another folder, or delete it to begin anew."
_DAMAGED = (OSError, SafetensorError, LookupError, ValueError, TypeError, RuntimeError)


def write_checkpoint(path: Path, learner: "Learner", run: Mapping[str, Any]) -> None:
    """Keep a learner and what its training is; the file is replaced whole."""
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
        "run": run,
        "best": learner.best,
        "best_step": learner.best_step,
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


def read_step(path: Path, run: Mapping[str, Any]) -> int:
    """The step that a training was at.

    Raises:
        InputError: if the file is damaged, or of another training.
    """
    try:
        with safe_open(path, framework="pt") as file:
            about = json.loads((file.metadata() or {})["about"])
        schema, was, step = about["schema"], dict(about.get("run", {})), int(about["step"])
    except (*_DAMAGED, AttributeError) as error:
        raise _damaged(path, error) from error
    if schema != SCHEMA:
        raise InputError.at(path, f"has the schema '{schema}', not '{SCHEMA}'.", REMEDY)
    told = differences(was, run)
    if told:
        raise InputError.at(path, f"is the state of another training ({told}).", REMEDY)
    return step


def read_checkpoint(path: Path, learner: "Learner", run: Mapping[str, Any]) -> None:
    """Bring a learner to where it was.

    Raises:
        InputError: if the file is damaged, or of another training.
    """
    step = read_step(path, run)
    try:
        with safe_open(path, framework="pt") as file:
            about = json.loads(file.metadata()["about"])
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
        learner.step, learner.best = step, float(about["best"])
        learner.best_step, learner.since_best = int(about["best_step"]), int(about["since_best"])
    except _DAMAGED as error:
        raise _damaged(path, error) from error


def _damaged(path: Path, error: Exception) -> InputError:
    what = first_line(error)
    return InputError.at(
        path, f"is no checkpoint of this network ({what}).", "Delete it to begin anew."
    )


def _under(start: str, values: dict[str, Any]) -> dict[str, Any]:
    return {name[len(start) :]: one for name, one in values.items() if name.startswith(start)}
