"""Pieces of Markdown: tables, docstrings, and what a JSON schema allows, in words."""

import ast
import inspect
import re
from collections.abc import Iterable, Sequence
from textwrap import dedent
from typing import Any

SECTION = re.compile(r"^(Args|Returns|Raises|Yields):$", re.MULTILINE)


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table; line ends and bars in cells are made harmless."""
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join("| " + " | ".join(_cell(cell) for cell in line) + " |" for line in lines)


def _cell(text: str) -> str:
    return " ".join(str(text).split()).replace("|", "\\|") or " "


def code(text: object) -> str:
    """Text in the code font."""
    return f"`{text}`"


def fence(text: str, language: str = "text") -> str:
    """A block of code."""
    return f"```{language}\n{text.rstrip()}\n```"


def docstring_body(subject: object) -> str:
    """The paragraphs of a docstring before its sections."""
    return SECTION.split(inspect.getdoc(subject) or "")[0].strip()


def docstring_section(subject: object, name: str) -> dict[str, str]:
    """The entries of a section such as Args: name -> meaning."""
    parts = SECTION.split(inspect.getdoc(subject) or "")
    sections = dict(zip(parts[1::2], parts[2::2], strict=True))
    entries = re.split(r"\n(?=\S)", dedent(sections.get(name, "").strip("\n")))
    pairs = (entry.partition(":") for entry in entries if entry.strip())
    return {key.strip(): " ".join(meaning.split()) for key, _, meaning in pairs}


def docstring_text(subject: object, name: str) -> str:
    """A section that has no entries but one text, such as Returns."""
    parts = SECTION.split(inspect.getdoc(subject) or "")
    sections = dict(zip(parts[1::2], parts[2::2], strict=True))
    return " ".join(sections.get(name, "").split())


def field_meanings(kind: type) -> dict[str, str]:
    """The docstrings below the fields of a class."""
    (tree,) = ast.parse(dedent(inspect.getsource(kind))).body
    if not isinstance(tree, ast.ClassDef):
        raise TypeError(f"{kind} is not defined by a class statement")
    meanings = {}
    for field, after in zip(tree.body, [*tree.body[1:], None], strict=True):
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name):
            is_explained = isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant)
            meanings[field.target.id] = inspect.cleandoc(after.value.value) if is_explained else ""
    return meanings


def signature(name: str, function: Any) -> str:
    """A call as one writes it, types without the modules they come from."""
    shown = inspect.signature(function)
    parts = [f"{name}("]
    is_marked = False
    for parameter in shown.parameters.values():
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY and not is_marked:
            parts.append("    *,")
            is_marked = True
        default = (
            ""
            if parameter.default is inspect.Parameter.empty
            else f" = {_default(parameter.default)}"
        )
        stars = "**" if parameter.kind is inspect.Parameter.VAR_KEYWORD else ""
        parts.append(f"    {stars}{parameter.name}: {type_name(parameter.annotation)}{default},")
    parts.append(f") -> {type_name(shown.return_annotation)}")
    return "\n".join(parts)


def type_name(annotation: Any) -> str:
    """A type as it is written in the code."""
    text = inspect.formatannotation(annotation)
    text = re.sub(r"\bpolars\.(\w+\.)*(?=\w)", "pl.", text)
    text = re.sub(r"\b[a-z_0-9]+\.(?!DataFrame|Series)", "", text).replace("'", "")
    for written, meant in _ARRAYS.items():
        text = text.replace(written, meant)
    return text


def _default(value: Any) -> str:
    return "..." if inspect.isfunction(value) else repr(value)


def allowed(schema: dict[str, Any]) -> str:
    """What a JSON schema allows, in words."""
    if "anyOf" in schema:
        return " or ".join(allowed(part) for part in schema["anyOf"])
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    if "enum" in schema:
        return ", ".join(code(f'"{value}"') for value in schema["enum"])
    if "const" in schema:
        return code(f'"{schema["const"]}"')
    match schema.get("type"):
        case "array":
            return f"list of {allowed(schema['items'])}"
        case "object":
            return "table of name = value"
        case "null":
            return "nothing"
        case "boolean":
            return "true or false"
        case "number" | "integer" as kind:
            word = "number" if kind == "number" else "whole number"
            bounds = [f"{sign} {schema[key]:g}" for key, sign in _BOUNDS.items() if key in schema]
            return " ".join([word, " and ".join(bounds)]).strip()
    return "text"


_ARRAYS = {
    "ndarray[tuple[Any, ...], dtype[float64]]": "FloatArray",
    "ndarray[tuple[Any, ...], dtype[int64]]": "IntArray",
}
_BOUNDS = {
    "exclusiveMinimum": ">",
    "minimum": "≥",
    "exclusiveMaximum": "<",
    "maximum": "≤",
}
