"""The formats there are, and what each can do."""

from collections.abc import Sequence

from nodulebench.io.format import Format
from nodulebench.io.formats import FORMATS

__all__ = ["ABILITIES", "Format", "abilities", "known_formats"]

ABILITIES = {
    "read_marks": "reads marks",
    "read_reference": "reads a reference",
    "write_marks": "writes marks",
    "write_reference": "writes a reference",
    "write_cohorts": "writes labelled results",
    "read_readings": "reads readings",
    "write_readings": "writes readings",
}
"""What a format may be able to do, in words."""


def known_formats(names: Sequence[str] = ()) -> list[Format]:
    """All formats in the order in which files are tried, those of other packages last; or these.

    Raises:
        UnknownNameError: for a name that no format has.
    """
    return [FORMATS[name] for name in names or FORMATS]


def abilities(form: Format) -> list[str]:
    """What a format can do."""
    return [words for name, words in ABILITIES.items() if getattr(form, name) is not None]
