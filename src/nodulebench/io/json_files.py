"""Parse JSON text and check the shape of its values, with clear messages."""

import json
import math
import re
from collections.abc import Iterator
from pathlib import Path

from nodulebench.core.errors import InputError, Problems
from nodulebench.core.json_types import JsonObject, JsonValue
from nodulebench.imaging.geometry import FARTHEST_MM
from nodulebench.io.atomic import staged_file
from nodulebench.io.csv_files import open_bytes

_MOST_BYTES = 1 << 30
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")


class _ConstantError(ValueError):
    """NaN or Infinity, which JSON does not have."""


def read_json(path: Path) -> JsonValue:
    with open_bytes(path) as file:
        content = file.read(_MOST_BYTES + 1)
    return parse_json(content, path)


def parse_json(content: bytes, path: Path) -> JsonValue:
    if len(content) > _MOST_BYTES:
        raise InputError.at(
            path, f"is larger than {_MOST_BYTES >> 30} GB.", "Write one file per case."
        )
    if not content.strip():
        raise InputError.at(path, "is empty.")
    try:
        value = json.loads(content.decode("utf-8-sig"), parse_constant=_reject_constant)
        if _SURROGATE.search(content):
            json.dumps(value, ensure_ascii=False).encode()
        return value
    except UnicodeEncodeError as error:
        half = f"\\u{ord(error.object[error.start]):04x}"
        raise InputError.at(
            path, f"holds {half}, which is half of a character.", "Write whole characters."
        ) from error
    except UnicodeDecodeError as error:
        raise InputError.at(path, "is not UTF-8 text.") from error
    except RecursionError as error:
        raise InputError.at(path, "is nested too deeply to be read.") from error
    except json.JSONDecodeError as error:
        raise InputError.at(
            f"{path.name} line {error.lineno} column {error.colno}",
            f"is not valid JSON: {error.msg}.",
        ) from error
    except ValueError as error:
        raise InputError.at(path, f"is not valid JSON: {error}.") from error


def with_schema(content: object, schema: str, path: Path, remedy: str = "") -> JsonObject:
    found = content.get("schema") if isinstance(content, dict) else None
    if not isinstance(content, dict) or found != schema:
        raise InputError.at(path, f"has the schema '{found}', not '{schema}'.", remedy)
    return content


def write_json(value: object, path: Path) -> None:
    with staged_file(path) as stage:
        stage.write_text(json.dumps(value, indent=1, allow_nan=False) + "\n", encoding="utf-8")


def entries(value: object, where: str, problems: Problems) -> Iterator[tuple[str, JsonObject]]:
    """Yield the objects of a JSON list with their locations; anything else is a problem."""
    if not isinstance(value, list):
        problems.add(where, f"is {kind_of(value)}, not a list.")
        return
    for number, item in enumerate(value):
        place = f"{where}[{number}]"
        if isinstance(item, dict):
            yield place, item
        else:
            problems.add(place, f"is {kind_of(item)}, not an object.")


def numbers(value: object, count: int, where: str, problems: Problems) -> list[float] | None:
    if not isinstance(value, list) or len(value) != count:
        problem = f"has {len(value)} values" if isinstance(value, list) else f"is {kind_of(value)}"
        problems.add(where, f"{problem}; expected a list of {count} numbers.")
        return None
    converted = [number(item, f"{where}[{place}]", problems) for place, item in enumerate(value)]
    usable = [item for item in converted if item is not None]
    return usable if len(usable) == count else None


def position_numbers(
    value: object, count: int, where: str, problems: Problems
) -> list[float] | None:
    mm = numbers(value, count, where, problems)
    if mm is not None and max(map(abs, mm)) > FARTHEST_MM:
        farthest = max(mm, key=abs)
        problems.add(where, f"{farthest:g} is too large for a position in a patient.")
        return None
    return mm


def number(value: object, where: str, problems: Problems) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        problems.add(where, f"is {kind_of(value)}, not a number.")
        return None
    try:
        converted = float(value)
    except OverflowError:
        converted = math.inf
    if not math.isfinite(converted):
        problems.add(where, "is not a finite number.")
        return None
    return converted


def kind_of(value: object) -> str:
    if isinstance(value, str):
        return f"the text '{value[:40]}'"
    kinds = {dict: "an object", list: "a list", bool: "true or false", type(None): "null"}
    return kinds.get(type(value), "a number")


def _reject_constant(name: str) -> None:
    raise _ConstantError(f"{name} is not a JSON number")
