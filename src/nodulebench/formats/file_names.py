"""Name of a file, whatever its bytes -> text that a table or a page can hold."""


def shown(name: str) -> str:
    r"""A name as text; bytes of it that are not UTF-8 are written ``\xff``, as Python does."""
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
