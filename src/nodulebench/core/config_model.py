"""What people write in TOML -> a checked record, or a problem for every wrong field."""

import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import fields, is_dataclass
from typing import TypeVar, cast, get_args

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from nodulebench.core.errors import InputError, Problem, did_you_mean
from nodulebench.core.json_types import JsonObject

MOST_SHOWN = 80
"""Characters of a wrong value that a message repeats."""


class ConfigModel(BaseModel):
    """A file that people write: frozen, and unknown fields are errors."""

    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_inf_nan="constants")


Record = TypeVar("Record")


def parse_config(kind: type[Record], text: str, source: str) -> Record:
    """The record that a TOML text describes."""
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError.at(source, f"is not valid TOML: {error}.") from error
    return checked(kind, content, source)


def checked(
    kind: type[Record], content: object, source: str, reader: TypeAdapter[Record] | None = None
) -> Record:
    """The record that plain values describe, by a reader of that kind if one is at hand."""
    try:
        return (reader or TypeAdapter(kind)).validate_python(content)
    except ValidationError as error:
        raise InputError(_problems(kind, error, source)) from error


def _problems(kind: type, error: ValidationError, source: str) -> Iterator[Problem]:
    for item in error.errors(include_url=False):
        place = ".".join(str(part) for part in item["loc"])
        where = f"{source} field '{place}'" if place else source
        if item["type"] == "extra_forbidden":
            known = _sibling_fields(kind, item["loc"])
            meant = did_you_mean(str(item["loc"][-1]), known)
            yield Problem(where, "is unknown.", meant.strip() or f"Known: {', '.join(known)}.")
        elif item["type"] in ("missing", "value_error"):
            message = item["msg"].removeprefix("Value error, ")
            yield Problem(where, message if message.endswith("?") else f"{message}.")
        else:
            value = repr(item["input"])
            shown = value if len(value) <= MOST_SHOWN else f"{value[:MOST_SHOWN]}..."
            yield Problem(where, f"{item['msg']}, got {shown}.")


def _sibling_fields(kind: type, place: Sequence[int | str]) -> list[str]:
    for part in place[:-1]:
        kind = _record_in(_fields_of(kind).get(str(part))) or kind
    return list(_fields_of(kind))


def _fields_of(kind: type) -> JsonObject:
    """What fields are called where they are written, and what they hold."""
    if is_dataclass(kind):
        return {field.name: field.type for field in fields(kind)}
    return {
        model_field.alias or name: model_field.annotation
        for name, model_field in cast("type[BaseModel]", kind).model_fields.items()
    }


def _record_in(annotation: object) -> type | None:
    if isinstance(annotation, type) and (
        is_dataclass(annotation) or issubclass(annotation, BaseModel)
    ):
        return annotation
    records = (_record_in(part) for part in get_args(annotation))
    return next((record for record in records if record is not None), None)
