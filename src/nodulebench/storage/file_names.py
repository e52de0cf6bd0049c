"""A name that others chose, whatever its bytes -> text that a table, a page or a line can hold."""


def shown(name: str) -> str:
    r"""A name as text; bytes of it that are not UTF-8 are written ``\xff``, as Python does."""
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def in_a_line(text: str) -> str:
    r"""A text that cannot begin a line of its own or command a terminal: ``\n`` stands as such."""
    return "".join(
        one if one.isprintable() else one.encode("unicode_escape").decode() for one in shown(text)
    )
