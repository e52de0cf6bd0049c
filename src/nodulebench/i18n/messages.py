"""The template of a notice and its values -> text.

A template names values in braces. After a colon follows how the value is shown: the format of a
number; ``word``, a name as words; ``names``, a list of quoted names, shortened if it is long;
``list``, items one after another, which may be notices or have a count or share each; ``words``,
these as words; ``either`` and ``all``, the same with *or* and *and* between them; or choices, as in
``1=case|*=cases``. Text in square brackets is left out if one of its values is not disclosed, or is
replaced by the text after a bar: the same template serves readers who may not see every value.
"""

import re
from collections.abc import Mapping, Sequence
from string import Formatter
from typing import Protocol

from nodulebench.core.notices import Notice, is_notice
from nodulebench.core.text import in_a_line

MOST_NAMED = 3
"""How many names of a list are given."""
UNDISCLOSED = "–"
JOINTS = {
    "names": "list.comma",
    "list": "list.comma",
    "words": "list.comma",
    "either": "list.or",
    "all": "list.both",
}
"""How a list is shown -> the key of its separator."""

_OPTIONAL = re.compile(r"\[([^|\]]*)\|?([^\]]*)\]")


class TextSource(Protocol):
    """What the text of a notice needs of a language."""

    def __call__(self, key: str, **values: object) -> str:
        """The text of a key."""

    def word(self, name: str) -> str:
        """A name as words."""

    def message(self, notice: object) -> str:
        """The text of another notice."""


class NoticeFormatter(Formatter):
    """Fills the templates of notices in one language."""

    def __init__(self, translate: TextSource) -> None:
        self.translate = translate

    def words(self, template: str, values: Mapping[str, object]) -> str:
        def chosen(match: re.Match[str]) -> str:
            is_disclosed = all(values.get(name) not in (None, "") for name in fields(match[1]))
            return match[1] if is_disclosed else match[2]

        return self.vformat(_OPTIONAL.sub(chosen, template), (), values)

    def get_value(
        self, key: int | str, args: Sequence[object], kwargs: Mapping[str, object]
    ) -> object:
        """A value; a dash if it is not disclosed."""
        del args
        return kwargs.get(str(key), UNDISCLOSED)

    def format_field(self, value: object, format_spec: str) -> str:
        if isinstance(value, Notice) or is_notice(value):
            return self.translate.message(value)
        if "=" in format_spec:
            choices = dict(choice.split("=", 1) for choice in format_spec.split("|"))
            return choices.get(str(value), choices.get("*", str(value)))
        if isinstance(value, str) and not value.isprintable():
            value = in_a_line(value)  # a name cannot begin a new line
        if format_spec == "word":
            return self.translate.word(str(value))
        if format_spec in JOINTS:
            return self._listed(value, format_spec)
        try:
            return format(value, format_spec)
        except (TypeError, ValueError):
            return str(value)

    def _listed(self, value: object, shape: str) -> str:
        joint, of_item = self.translate(JOINTS[shape]), "word" if shape == "words" else ""
        if isinstance(value, Mapping):
            counted = ((self.format_field(name, of_item), value[name]) for name in value)
            return joint.join(f"{name} {_amount(number)}" for name, number in counted)
        several = value if isinstance(value, list | tuple) else [value]
        items = [self.format_field(item, of_item) for item in several]
        if shape != "names":
            return joint.join(items)
        shown = [self.translate("list.quoted", name=item) for item in items[:MOST_NAMED]]
        return joint.join(shown) + (self.translate("list.more") if len(items) > MOST_NAMED else "")


def _amount(number: float) -> str:
    return f"{number:,}" if isinstance(number, int) else f"{number:.1%}"


def fields(template: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(template) if name}


def untranslated(notice: Notice) -> str:
    """A notice without a text here, as of another program: its code and its values."""
    values = ", ".join(f"{name} {value}" for name, value in notice.values.items())
    return f"{notice.code} ({values})" if values else notice.code
