"""Section: a part of a page, of any page that NoduleBench writes."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup, escape


@dataclass(frozen=True, slots=True)
class Section:
    """A part of a report: what the address bar and the contents call it, and what is in it."""

    name: str
    title: str
    blocks: Sequence[Any]

    def __html__(self) -> str:
        blocks = Markup("").join(self.blocks)
        return f'<section><h2 id="{self.name}">{escape(self.title)}</h2>\n{blocks}\n</section>'
