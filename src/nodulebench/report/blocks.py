"""Blocks that hold others or plain text: side by side, under a heading that opens, paragraphs."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from nodulebench.report.pages.templates import Block


@dataclass(frozen=True, slots=True)
class Section(Block):
    """A part of a page: what the address bar and the contents call it, and what is in it."""

    macro: ClassVar[str] = "section"
    name: str
    title: str
    blocks: Sequence[Any]
    is_open: bool = True


@dataclass(frozen=True, slots=True)
class Switch(Block):
    """Blocks of one kind of which a page shows one at a time; print shows them all."""

    macro: ClassVar[str] = "switch"
    choices: Sequence[tuple[str, Any]]
    """What each is called, and the block."""


@dataclass(frozen=True, slots=True)
class Side(Block):
    """Blocks beside each other where the page is wide enough."""

    macro: ClassVar[str] = "side"
    blocks: Sequence[Any]
    remark: str = ""


@dataclass(frozen=True, slots=True)
class Fold(Block):
    """Blocks under a heading that can be opened and closed."""

    macro: ClassVar[str] = "fold"
    title: str
    blocks: Sequence[Any]
    is_open: bool = True
    file: str = ""
    """The file that holds the same, where print only refers to it."""


@dataclass(frozen=True, slots=True)
class Paragraphs(Block):
    """Sentences, a paragraph each."""

    macro: ClassVar[str] = "paragraphs"
    texts: Sequence[str]
