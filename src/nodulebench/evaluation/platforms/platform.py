"""The facts about a platform that runs a scorer in a container."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from nodulebench import __version__

PROTOCOL = "protocol.toml"
"""The protocol's file, in the image or next to the program."""


@dataclass(frozen=True, slots=True)
class Column:
    """A metric in a leaderboard."""

    key: str
    title: str
    is_lower_better: bool


@dataclass(frozen=True, slots=True)
class Platform:
    """Where a platform puts the scorer's inputs, where it reads the answer, and what to upload."""

    name: str
    marks: Path
    """The participant's marks, or the output of their algorithm."""
    reference: Path
    protocol: Path
    answer: Path
    """The file of metrics that the platform reads."""
    packed: Path
    """The reference in the packed folder."""
    packed_protocol: Path
    """The protocol in the packed folder."""
    says_version: bool
    """Whether the answer may contain text in addition to numbers."""
    files: Callable[[str, Sequence[Column]], dict[str, str | bytes]]
    """Name of the image, columns of the leaderboard -> the other files of the packed folder."""


def dockerfile(*entry: str, program: str = "") -> str:
    """An image with only the scorer of this version, run by an unprivileged user.

    Args:
        entry: the command that it starts; empty: the platform gives it.
        program: the path of the protocol in the image; empty: the protocol is elsewhere.
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
