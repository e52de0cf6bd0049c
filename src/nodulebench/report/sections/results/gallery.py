"""Patches cut around nodules and marks -> a gallery: what was found, missed and wrongly marked."""

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from nodulebench.language import Language
from nodulebench.pages.templates import Block

VIEWS = ("axial", "coronal", "sagittal")
SIDE_MM = 50
"""Patches show 50 x 50 mm with the lesion in the middle (LUNA16, figure 2)."""
KINDS = ("missed", "hit", "false_positive")


@dataclass(frozen=True, slots=True)
class Patch:
    """Three views of one nodule or mark, as PNG files."""

    algorithm: str
    kind: str
    """missed, hit or false_positive."""
    case_id: str
    name: str
    """The nodule or the mark."""
    views: tuple[bytes, bytes, bytes]
    """Axial, coronal and sagittal."""
    type: str = ""
    diameter_mm: float | None = None

    def caption(self, say: Language) -> str:
        """What it shows: type and size, and where it is."""
        facts = [say.word(self.type)] if self.type else []
        facts += [] if self.diameter_mm is None else [f"{self.diameter_mm:.1f} mm"]
        return say.listed([*facts, f"{self.case_id} / {self.name}"])


@dataclass(frozen=True, slots=True)
class Gallery(Block):
    """Patches of one algorithm and kind, under a heading."""

    macro: ClassVar[str] = "gallery"
    title: str
    patches: Sequence[Patch]
    say: Language

    def views(self, patch: Patch) -> list[tuple[str, str]]:
        """For each view of a patch its name and its picture as an address."""
        return [
            (self.say.word(view), f"data:image/png;base64,{base64.b64encode(png).decode()}")
            for view, png in zip(VIEWS, patch.views, strict=True)
        ]


def galleries(patches: Sequence[Patch], say: Language) -> list[Gallery]:
    """The patches by algorithm and kind, missed nodules first."""
    names = dict.fromkeys(one.algorithm for one in patches)
    found = [
        (name, kind, [one for one in patches if one.algorithm == name and one.kind == kind])
        for name in names
        for kind in KINDS
    ]
    return [
        Gallery(say(f"gallery.{kind}", name=name), having, say)
        for name, kind, having in found
        if having
    ]
