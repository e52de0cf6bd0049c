"""Results -> values that JSON knows: dictionaries, lists, text, numbers, null."""

import math
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
import polars as pl
from pydantic import BaseModel


def as_json(value: Any) -> Any:
    """A value as JSON knows it: records as dictionaries, tables as rows, arrays as lists.

    A record that has a ``to_json`` says itself what is shown of it. JSON has no infinity and no
    NaN: they become ``"inf"``, ``"-inf"`` and null.

    Raises:
        TypeError: for a kind of value that has no place in a document.
    """
    match value:
        case None | bool() | str() | int():
            return value
        case float():
            return _number(value)
        case dict():
            return {str(key): as_json(item) for key, item in value.items()}
        case list() | tuple():
            return [as_json(item) for item in value]
        case pl.DataFrame():
            return [as_json(row) for row in value.iter_rows(named=True)]
        case np.ndarray() | np.generic():
            return as_json(value.tolist())
        case BaseModel():
            return as_json(value.model_dump())
    if hasattr(value, "to_json"):
        return as_json(value.to_json())
    if is_dataclass(value):
        return record(value)
    raise TypeError(f"a {type(value).__name__} has no place in a document")


def record(value: Any) -> dict[str, Any]:
    """Every field of a record by its name, in their order."""
    return {field.name: as_json(getattr(value, field.name)) for field in fields(value)}


def _number(value: float) -> float | str | None:
    if math.isfinite(value):
        return value
    if math.isnan(value):
        return None
    return "inf" if value > 0 else "-inf"
