"""A notice's template and values -> words.

A template names values in braces. After a colon stands how a value is shown: a number's format;
``word``, a name in words; ``names``, a list of quoted names, a long one shortened; ``list``, items
one after another, which may be notices or have a count or share each; ``words``, these in words;
``either`` and ``all``, the same with *or* and *and* between them; or choices as
``1=case|*=cases``. What stands in square brackets is left out where one of its values is not told,
or gives way to what stands there after a bar: the same template serves an audience that may not
see every value.
"""

import re
from collections.abc import Mapping, Sequence
from string import Formatter
from typing import Any, Protocol

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
"""How a list is shown -> the key of what stands between its items."""

_OPTIONAL = re.compile(r"\[([^|\]]*)\|?([^\]]*)\]")


class TextSource(Protocol):
    """What a language gives to the words of a notice."""

    def __call__(self, key: str, **values: object) -> str:
        """The text of a key."""

    def word(self, name: str) -> str:
        """A name in words."""

    def message(self, told: Any) -> str:
        """Another notice in words."""


class NoticeFormatter(Formatter):
    """Fills the templates of notices in one language."""

    def __init__(self, translate: TextSource) -> None:
        self.translate = translate

    def words(self, template: str, values: Mapping[str, Any]) -> str:
        """The sentence."""

        def chosen(found: re.Match[str]) -> str:
            is_told = all(values.get(name) not in (None, "") for name in fields(found[1]))
            return found[1] if is_told else found[2]

        return self.vformat(_OPTIONAL.sub(chosen, template), (), values)

    def get_value(self, key: int | str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """A value; a dash where it is not told."""
        del args
        return kwargs.get(str(key), UNDISCLOSED)

    def format_field(self, value: Any, format_spec: str) -> str:
        """One value as its template wants it."""
        if isinstance(value, Notice) or is_notice(value):
            return self.translate.message(value)
        if "=" in format_spec:
            choices = dict(one.split("=", 1) for one in format_spec.split("|"))
            return choices.get(str(value), choices.get("*", str(value)))
        if isinstance(value, str) and not value.isprintable():
            value = in_a_line(value)  # a name cannot begin a line of its own
        if format_spec == "word":
            return self.translate.word(str(value))
        if format_spec in JOINTS:
            return self._listed(value, format_spec)
        try:
            return format(value, format_spec)
        except (TypeError, ValueError):
            return str(value)

    def _listed(self, value: Any, shape: str) -> str:
        joint, of_item = self.translate(JOINTS[shape]), "word" if shape == "words" else ""
        if isinstance(value, Mapping):
            counted = ((self.format_field(one, of_item), value[one]) for one in value)
            return joint.join(f"{one} {_amount(number)}" for one, number in counted)
        several = value if isinstance(value, list | tuple) else [value]
        items = [self.format_field(one, of_item) for one in several]
        if shape != "names":
            return joint.join(items)
        shown = [self.translate("list.quoted", name=item) for item in items[:MOST_NAMED]]
        return joint.join(shown) + (self.translate("list.more") if len(items) > MOST_NAMED else "")


def _amount(number: float) -> str:
    return f"{number:,}" if isinstance(number, int) else f"{number:.1%}"


def fields(template: str) -> set[str]:
    """The values that a template names."""
    return {name for _, name, _, _ in Formatter().parse(template) if name}


def untranslated(notice: Notice) -> str:
    """A notice whose code has no words here, as of another program: the code and its values."""
    told = ", ".join(f"{name} {value}" for name, value in notice.values.items())
    return f"{notice.code} ({told})" if told else notice.code
