"""Blocks that hold others or plain text: side by side, under a heading that opens, paragraphs."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup, escape


@dataclass(frozen=True, slots=True)
class Side:
    """Blocks beside each other where the page is wide enough."""

    blocks: Sequence[Any]
    remark: str = ""

    def __html__(self) -> str:
        remark = f'<p class="remark">{escape(self.remark)}</p>' if self.remark else ""
        return f'<div class="side">{_joined(self.blocks)}</div>{remark}\n'


@dataclass(frozen=True, slots=True)
class Fold:
    """Blocks under a heading that can be opened and closed."""

    title: str
    blocks: Sequence[Any]
    is_open: bool = True
    file: str = ""
    """The file that holds the same, where print only refers to it."""

    def __html__(self) -> str:
        is_open = " open" if self.is_open else ""
        title = f"<summary>{escape(self.title)}</summary>"
        return f"<details{is_open}>{title}{_joined(self.blocks)}</details>\n"


@dataclass(frozen=True, slots=True)
class Paragraphs:
    """Sentences, a paragraph each."""

    texts: Sequence[str]

    def __html__(self) -> str:
        return "".join(f"<p>{escape(text)}</p>\n" for text in self.texts)


def _joined(blocks: Sequence[Any]) -> Markup:
    return Markup("").join(blocks)
