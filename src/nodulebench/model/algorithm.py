"""AlgorithmManifest: what a developer declares about an algorithm, as written in algorithm.toml."""

import json
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import Field

from nodulebench.model.written import Written, parse_written

NoduleType = Literal[
    "solid", "part_solid", "pure_ground_glass", "calcified", "pleural", "pleural_calcified"
]


class AlgorithmManifest(Written):
    """What is declared before the test; a field nobody knows is an error."""

    name: Annotated[str, Field(min_length=1)]
    version: str = ""
    developer: str = ""
    kind: Literal["2-D", "3-D", ""] = ""
    """Whether it detects on single slices or in the volume."""
    intended_types: tuple[NoduleType, ...] = ()
    """The nodule types it is meant to find; empty: all."""
    threshold: float | None = None
    """The score from which a mark is shown to the user, fixed before the test."""
    intended_use: str = ""
    """What it is meant for, in the developer's words; only equal uses are compared."""
    description: str = ""
    training_data: str = ""

    @property
    def facts(self) -> dict[str, str]:
        """What is declared beside name and types, as text."""
        declared = self.model_dump(exclude={"name", "intended_types"}, exclude_none=True)
        return {field: str(value) for field, value in declared.items() if value != ""}

    def to_toml(self) -> str:
        """The manifest as the text of an algorithm.toml."""
        declared = self.model_dump(mode="json", exclude_defaults=True)
        return "".join(f"{field} = {_toml(value)}\n" for field, value in declared.items())


def _toml(value: object) -> str:
    # TOML writes strings, numbers and lists as JSON does, once control characters are escaped
    return json.dumps(value, ensure_ascii=True).replace("\x7f", "\\u007f")


def parse_manifest(text: str, source: str) -> AlgorithmManifest:
    """The manifest that a TOML text describes.

    Raises:
        InputError: with one problem per wrong field.
    """
    return parse_written(AlgorithmManifest, text, source)


IntendedUse = tuple[str, tuple[str, ...]]
"""What an algorithm is meant for: words, and types of nodules (none: all)."""


def intended_use(facts: Mapping[str, Any], types: Sequence[str] | None) -> IntendedUse:
    """The intended use that an algorithm declares; neither case, spaces nor order count."""
    words = " ".join(str(facts.get("intended_use") or "").casefold().split())
    return words, tuple(sorted(types or ()))
