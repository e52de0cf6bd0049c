"""A name that others chose, whatever its bytes -> text that a table, a page or a line can hold."""

import re

_HALF = re.compile("[\ud800-\udc7f\udd00-\udfff]")
"""Half of a character, as JSON can name one; the other surrogates stand for bytes of a name."""


def shown(name: str) -> str:
    r"""A name as text; what of it is none is written ``\xff`` or ``\ud800``, as Python does."""
    whole = _HALF.sub(lambda found: f"\\u{ord(found[0]):04x}", name)
    return whole.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def in_a_line(text: str) -> str:
    r"""A text that cannot begin a line of its own or command a terminal: ``\n`` stands as such."""
    return "".join(
        one if one.isprintable() else one.encode("unicode_escape").decode() for one in shown(text)
    )
