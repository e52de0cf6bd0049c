"""What people write in TOML -> checked records and parameters, or a problem for every wrong one.

Mark rules, reference rules and metrics have their parameters in their signatures: what has no
place there is an error, never left out in silence.
"""

import hashlib
import inspect
import json
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import TypeVar, cast, get_args, get_type_hints

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from nodulebench.core.errors import InputError, Problem, Problems, did_you_mean, raise_problems
from nodulebench.core.json_types import JsonObject

MOST_SHOWN = 80
"""Characters of a wrong value that a message repeats."""


class ConfigModel(BaseModel):
    """A file that people write: frozen, and unknown fields are errors."""

    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_inf_nan="constants")

    def digest_without(self, *excluded: str) -> str:
        """SHA-256 of the values of all other fields as JSON; the order of keys does not count."""
        values = self.model_dump(mode="json", exclude=set(excluded))
        text = json.dumps(values, sort_keys=True, separators=(",", ":"))
        return "sha256:" + hashlib.sha256(text.encode()).hexdigest()


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


def parameters_of(function: Callable[..., object]) -> dict[str, inspect.Parameter]:
    return {
        name: parameter
        for name, parameter in inspect.signature(function).parameters.items()
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY
    }


def checked_parameters(
    function: Callable[..., object], given: Mapping[str, object], where: str
) -> JsonObject:
    """What was given, each value as its parameter's annotation wants it."""
    known = parameters_of(function)
    problems = Problems(
        Problem(where, f"needs the parameter '{name}'.")
        for name, parameter in known.items()
        if parameter.default is inspect.Parameter.empty and name not in given
    )
    chosen: JsonObject = {}
    for name, value in given.items():
        if name in known:
            chosen[name], what, remedy = *_taken(function, name, value), ""
        else:
            what = f"has no parameter '{name}'."
            remedy = f"{did_you_mean(name, known)} Its parameters: {', '.join(sorted(known))}."
        if what:
            problems.add(where, what, remedy.strip())
    raise_problems(problems)
    return chosen


def _taken(function: Callable[..., object], name: str, value: object) -> tuple[object, str]:
    """A value as a parameter takes it, and why it does not."""
    from pydantic import TypeAdapter, ValidationError

    hint = get_type_hints(function, include_extras=True)[name]
    try:
        return TypeAdapter(hint).validate_python(value), ""
    except ValidationError as error:
        message = error.errors(include_url=False)[0]["msg"]
        return None, f"cannot take {name} = {value!r}: {message}."
