"""What is known of a platform that runs a scorer in a container of its own."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from nodulebench import __version__

PROTOCOL = "protocol.toml"
"""The protocol, which goes into the image or beside the program."""


@dataclass(frozen=True, slots=True)
class Column:
    """A metric as a leaderboard shows it."""

    key: str
    title: str
    is_lower_better: bool


@dataclass(frozen=True, slots=True)
class Platform:
    """Where a platform lays what a scorer reads, where it looks for the answer, what it takes."""

    name: str
    marks: Path
    """What a participant sent, or what their algorithm wrote."""
    reference: Path
    protocol: Path
    answer: Path
    """The file of metrics that it reads."""
    packed: Path
    """Where in a packed folder the reference goes, and the protocol."""
    packed_protocol: Path
    says_version: bool
    """Whether it takes words in the answer, not numbers alone."""
    files: Callable[[str, Sequence[Column]], dict[str, str | bytes]]
    """Name of the image, columns of the leaderboard -> what else a packed folder holds."""


def dockerfile(*entry: str, program: str = "") -> str:
    """An image with nothing but the scorer of this version, run by nobody in particular.

    Args:
        entry: the command it starts; nothing: the platform says it.
        program: where the protocol lies in it; nothing: elsewhere.
    """
    lines = [
        "FROM python:3.12-slim",
        f'RUN pip install --no-cache-dir "nodulebench=={__version__}"',
        "RUN useradd --create-home scorer",
        *([f"COPY {PROTOCOL} {program}"] if program else []),
        "USER scorer",
        *([f"ENTRYPOINT [{', '.join(map(_quoted, entry))}]"] if entry else []),
    ]
    return "\n".join(lines) + "\n"


def _quoted(word: str) -> str:
    return f'"{word}"'
