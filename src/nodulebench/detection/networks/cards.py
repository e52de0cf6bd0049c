"""Model card: the origin of weights; JSON <-> card, and how two trainings differ."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, asdict, dataclass, field, fields
from importlib.resources import files
from pathlib import Path
from typing import Any

from nodulebench.core.errors import InputError
from nodulebench.core.json_types import JsonObject
from nodulebench.detection.networks.recipe import Recipe

SCHEMA = "nodulebench/network-weights@1"
LARGEST = 1e300
"""No metric of a card is beyond it."""
LONGEST_SHOWN = 60
"""Letters of a value in a message."""
SHORT_DIGEST = 15
"""Letters of a digest that are enough to distinguish it."""


@dataclass(frozen=True)
class ModelCard:
    """The origin of weights."""

    network: str
    seed: int
    steps: int
    """Of the whole schedule."""
    data: str
    """A description of the training data."""
    digest: str
    """Of the examples."""
    folds: tuple[int, ...]
    """Folds whose candidates were trained on."""
    metrics: dict[str, float] = field(default_factory=dict)
    """Metrics on held-out candidates."""
    series: dict[int, tuple[str, ...]] = field(default_factory=dict)
    """All folds of the data with the digests of their series (``detection/held_out.py``)."""
    begun_from: str = ""
    """The digest of the weights that it was tuned from; empty: random weights."""
    parameters: str = ""
    """The digest of its weights, once they are in a file."""
    held_back: tuple[int, ...] = ()
    """Folds that were not trained on but decided when it stopped."""
    seen_before: tuple[str, ...] = ()
    """Digests of the series that the weights which it was tuned from, and those before, had seen;
    an empty one means series that are on no card."""
    recipe: JsonObject = field(default_factory=dict)
    """How it was trained (``recipe_facts``); empty: an older card, which does not state it."""
    steps_taken: int | None = None
    """None: an older card, which does not state it."""
    best_step: int | None = None
    """The step whose weights these are; None: the last one."""


STORED_NAMES = {"metrics": "figures", "best_step": "kept_step"}
"""Fields that have another name in files, such as those of the package."""


def stored_card(card: ModelCard) -> JsonObject:
    return {STORED_NAMES.get(name, name): value for name, value in asdict(card).items()}


def card_of(about: object, path: Path) -> ModelCard:
    """A card as a file holds it -> the card; refused with another schema or a wrong field."""
    if not isinstance(about, dict):
        raise _damaged(path, "it is not a table of names and values")
    if about.get("schema") != SCHEMA:
        raise InputError.at(path, f"has the schema '{about.get('schema')}', not '{SCHEMA}'.")
    values = {}
    for entry in fields(ModelCard):
        fits, kind, make = _KINDS[entry.name]
        stored = STORED_NAMES.get(entry.name, entry.name)
        if stored in about:
            if not fits(about[stored]):
                raise _damaged(path, f"'{stored}' is not a {kind}")
            values[entry.name] = make(about[stored])
        elif entry.default is MISSING and entry.default_factory is MISSING:
            raise _damaged(path, f"'{stored}' is missing")
    return ModelCard(**values)


def recipe_facts(recipe: Recipe, held_back: Sequence[int]) -> JsonObject:
    """How a network learns, in plain values by name.

    How often it is checked and when it stops changes nothing where no fold decides.
    """
    whole = asdict(recipe)
    augment = {f"augment {name}": value for name, value in whole.pop("augment").items()}
    if not held_back:
        del whole["check_every"], whole["patience"]
    return _plain({**whole, **augment})


def run_facts(card: ModelCard) -> JsonObject:
    """A description of a training in plain values: its card without results."""
    whole = asdict(card)
    for name in ("metrics", "parameters", "steps_taken", "best_step"):
        del whole[name]
    examples, recipe = whole.pop("digest"), whole.pop("recipe")
    if not recipe:  # an older card, which does not state these either
        del whole["held_back"], whole["seen_before"]
    return _plain({**whole, "examples": examples, **recipe})


def differences(was: Mapping[str, object], now: Mapping[str, object]) -> str:
    """How one training differs from another, as in ``seed 5, not 77``; empty: not at all."""
    parts = []
    for name in dict.fromkeys([*now, *was]):
        if was.get(name) != now.get(name):
            called, shown = name.replace("_", " "), [_shown(of.get(name)) for of in (was, now)]
            is_long = max(map(len, shown)) > LONGEST_SHOWN
            parts.append(f"other {called}" if is_long else f"{called} {shown[0]}, not {shown[1]}")
    return "; ".join(parts)


def _shown(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(map(_shown, value)) or "none"
    if isinstance(value, str) and value.startswith("sha256:"):
        return value[:SHORT_DIGEST]
    return "none" if value in (None, "") else str(value)


def _plain(facts: JsonObject) -> JsonObject:
    plain: JsonObject = json.loads(json.dumps(facts))
    return plain


def _damaged(path: Path, what: str) -> InputError:
    return InputError.at(path, f"its card is damaged ({what}).", "Download it again.")


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) < LARGEST


def _is_number(value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return -LARGEST < value < LARGEST


def _is_list(fits: Callable[[object], bool]) -> Callable[[object], bool]:
    return lambda value: isinstance(value, list) and all(map(fits, value))


def _is_table(fits: Callable[[object], bool]) -> Callable[[object], bool]:
    return lambda value: isinstance(value, dict) and all(map(fits, value.values()))


def _is_series(value: object) -> bool:
    if not isinstance(value, dict) or not _is_table(_is_list(_is_text))(value):
        return False
    return all(re.fullmatch(r"-?[0-9]{1,9}", fold) for fold in value)


def _same(value: object) -> object:
    return value


_TEXT = (_is_text, "text", _same)
_WHOLE = (_is_whole, "whole number", _same)
_STEP = (lambda value: value is None or _is_whole(value), "whole number", _same)
_FOLDS = (_is_list(_is_whole), "list of whole numbers", tuple)
_KINDS: dict[str, tuple[Callable[[object], bool], str, Callable[[Any], Any]]] = {
    "network": _TEXT,
    "seed": _WHOLE,
    "steps": _WHOLE,
    "data": _TEXT,
    "digest": _TEXT,
    "folds": _FOLDS,
    "metrics": (_is_table(_is_number), "table of numbers", _same),
    "series": (
        _is_series,
        "table of folds and lists of digests",
        lambda value: {int(fold): tuple(digests) for fold, digests in value.items()},
    ),
    "begun_from": _TEXT,
    "parameters": _TEXT,
    "held_back": _FOLDS,
    "seen_before": (_is_list(_is_text), "list of digests", tuple),
    "recipe": (_is_table(lambda _: True), "table of names and values", _same),
    "steps_taken": _STEP,
    "best_step": _STEP,
}
"""Of each field: what fits, what that is called, and what is made of it."""


_FOLDER = files("nodulebench.detection.networks") / "trained"


def networks_with_weights() -> list[str]:
    return sorted(path.name for path in Path(str(_FOLDER)).iterdir() if path.is_dir())


def is_packaged(path: Path) -> bool:
    return path.is_relative_to(Path(str(_FOLDER)))


def packaged_weights(name: str) -> Path:
    """Where the weights of a network are: a folder of files, one for each fold left out."""
    folder = Path(str(_FOLDER / name))
    if not folder.is_dir():
        remedy = "Train it with `train`, and give its weights with --weights."
        raise InputError.at(f"network '{name}'", "has no weights in the package.", remedy)
    return folder
