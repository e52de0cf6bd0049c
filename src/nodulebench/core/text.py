"""A name that others chose, with any bytes -> text that a table, a page or a line can hold."""

import re

_HALF = re.compile("[\ud800-\udc7f\udd00-\udfff]")
"""Half of a character, as JSON can name one; the other surrogates represent bytes of a name."""


def shown(name: str) -> str:
    r"""A name as text; what of it is none is written ``\xff`` or ``\ud800``, as Python does."""
    whole = _HALF.sub(lambda found: f"\\u{ord(found[0]):04x}", name)
    return whole.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def in_a_line(text: str) -> str:
    r"""A text that cannot start a new line or control a terminal: ``\n`` is shown as such."""
    return "".join(
        character if character.isprintable() else character.encode("unicode_escape").decode()
        for character in shown(text)
    )


def counted(count: int, noun: str) -> str:
    """A count with its English noun: "1 case", "2 cases"."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"
