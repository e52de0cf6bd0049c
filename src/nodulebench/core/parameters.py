"""A function + what was given for its keyword-only parameters -> checked values.

Mark rules, reference rules and metrics have their parameters in their signatures: what has no
place there is an error, never left out in silence.
"""

import inspect
from collections.abc import Callable, Mapping
from typing import get_type_hints

from nodulebench.core.errors import Problem, Problems, did_you_mean, raise_problems
from nodulebench.core.json_types import JsonObject


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
