"""The names that ``import nodulebench`` offers -> their page."""

import dataclasses
import inspect
from collections.abc import Callable
from typing import Any

import nodulebench
from generate.markdown import (
    code,
    docstring_body,
    docstring_section,
    docstring_text,
    fence,
    field_meanings,
    signature,
    table,
    type_name,
)
from nodulebench.core.registry import Registry

PAGES_OF_REGISTRIES = {"RULES": "mark-rules", "METRICS": "metrics", "FORMATS": "formats"}


def public_names_page() -> str:
    """Every public name: how it is called, what it gives, what it raises."""
    parts = [
        "---\nkeywords: python api, functions and classes\n---",
        "# Public names",
        "`import nodulebench` loads nothing but these names' places; each is loaded when it is "
        "first used. Other modules may change between versions.",
    ]
    for title, is_member in KINDS.items():
        names = [name for name in nodulebench.__all__ if is_member(getattr(nodulebench, name))]
        parts.append(f"## {title}")
        parts += [f"### {name}\n\n{_section(name)}" for name in names]
    return "\n\n".join([*parts, ""])


def _is_error(subject: Any) -> bool:
    return inspect.isclass(subject) and issubclass(subject, Exception)


KINDS: dict[str, Callable[[Any], bool]] = {
    "Functions": inspect.isfunction,
    "Data": lambda subject: inspect.isclass(subject) and not _is_error(subject),
    "Registries": lambda subject: isinstance(subject, Registry),
    "Errors": _is_error,
}


def _section(name: str) -> str:
    subject = getattr(nodulebench, name)
    if isinstance(subject, Registry):
        page = PAGES_OF_REGISTRIES[name]
        return (
            f"Registry: {subject.kind} by name, listed on [its page]({page}.md). Packages add to "
            f"it through the entry point group `{subject.group}`."
        )
    if inspect.isclass(subject):
        return _of_class(name, subject)
    return _of_function(name, subject)


def _of_function(name: str, function: Any) -> str:
    parts = [fence(signature(name, function), "python"), docstring_body(function)]
    arguments = docstring_section(function, "Args")
    if arguments:
        rows = ([code(one), meaning] for one, meaning in arguments.items())
        parts.append(table(["argument", "meaning"], rows))
    returned = docstring_text(function, "Returns")
    if returned:
        parts.append(f"Returns: {returned}")
    for error, when in docstring_section(function, "Raises").items():
        parts.append(f"Raises `{error}` {when}")
    return "\n\n".join(parts)


def _of_class(name: str, kind: type) -> str:
    parts = [docstring_body(kind)]
    if _is_error(kind):
        above = kind.__mro__[1].__name__
        parts.append(f"An exception; also a `{above}`.")
    types = _field_types(kind)
    if types:
        meanings = field_meanings(kind)
        parts.append(
            "\n".join(
                f"- `{one}: {type_name(its)}`{_after_colon(meanings.get(one, ''))}"
                for one, its in types.items()
            )
        )
    if name in ("TestProtocol", "RuleChoice"):
        parts.append(f"Its fields are on [their page](protocol-fields.md#{name.lower()}).")
    methods = [
        f"`{method}{_arguments(member)}`: {docstring_body(member)}"
        for method, member in vars(kind).items()
        if not method.startswith("_") and (inspect.isfunction(member) or _is_property(member))
    ]
    return "\n\n".join([*parts, *methods])


def _field_types(kind: type) -> dict[str, Any]:
    """The fields of a dataclass or a named tuple with their types; none of other classes."""
    if dataclasses.is_dataclass(kind):
        return {field.name: field.type for field in dataclasses.fields(kind)}
    return {name: kind.__annotations__[name] for name in getattr(kind, "_fields", ())}


def _arguments(member: Any) -> str:
    """The arguments of a method as it is called; nothing for a property."""
    if not inspect.isfunction(member):
        return ""
    plain = [
        parameter.replace(annotation=inspect.Parameter.empty)
        for parameter in inspect.signature(member).parameters.values()
        if parameter.name != "self"
    ]
    return str(inspect.Signature(plain))


def _after_colon(text: str) -> str:
    return f": {' '.join(text.split())}" if text else ""


def _is_property(member: Any) -> bool:
    return type(member).__name__ in ("property", "cached_property")
