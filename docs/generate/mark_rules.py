"""RULES -> the page of mark rules with their parameters."""

import inspect
import json
from collections.abc import Callable
from typing import Any, get_type_hints

from pydantic import TypeAdapter

from generate.markdown import allowed, code, docstring_body, docstring_section, table
from nodulebench import RULES
from nodulebench.i18n.translator import translator


def mark_rules_page() -> str:
    """Every mark rule: what it says, its parameters and their defaults."""
    uses = dict(translator().uses)
    return "\n\n".join(
        [
            "# Mark rules",
            "A rule says of every mark whether it is a hit, a false positive, a duplicate or "
            "ignored. A protocol lists one rule or several under `[[rules]]`; parameters given "
            "there replace the defaults below. The pictures show the same eight situations under "
            "each rule, and lead to its page.",
            table(
                ["rule", "in one line", "suits"],
                (
                    [f"[{name}](#{name})", _in_one_line(rule), uses.get(name, "")]
                    for name, rule in RULES.items()
                ),
            ),
            *(_section(name, rule) for name, rule in RULES.items()),
            "",
        ]
    )


def _in_one_line(rule: Callable[..., Any]) -> str:
    """The text after the rule's name in the first line of its module."""
    line = (inspect.getmodule(rule).__doc__ or "").partition("\n")[0]
    return line.partition(": ")[2].rstrip(".")


def _section(name: str, rule: Callable[..., Any]) -> str:
    hints = get_type_hints(rule, include_extras=True)
    meanings = docstring_section(rule, "Args")
    rows = [
        [
            code(parameter.name),
            meanings[parameter.name],
            allowed(TypeAdapter(hints[parameter.name]).json_schema()),
            "none" if parameter.default is None else code(json.dumps(parameter.default)),
        ]
        for parameter in inspect.signature(rule).parameters.values()
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY
    ]
    return "\n\n".join(
        [
            f"## {name}",
            docstring_body(rule),
            table(["parameter", "meaning", "allowed", "default"], rows),
            f"[![Eight situations under the rule {name}](../../pictures/rule-{name}.svg)]"
            f"(../../explanation/rules/{name}.md)",
        ]
    )
