"""Patches cut around nodules and marks -> a gallery: what was found, missed and wrongly marked."""

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from nodulebench.i18n.numbers import decimals, significant
from nodulebench.i18n.translator import Language
from nodulebench.report.pages.templates import Block
from nodulebench.report.sections.misses import (
    found_words,
    near_mark_words,
    near_nodule_words,
    place_words,
)

VIEWS = ("axial", "coronal", "sagittal")
SIDE_MM = 50
"""Patches show 50 x 50 mm with the lesion in the middle (LUNA16, figure 2)."""
KINDS = ("missed", "false_positive", "hit")


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
    facts: Mapping[str, Any] = field(default_factory=dict)
    """The row of MISSES or FALSE_POSITIVES, or nothing."""

    def caption(self, say: Language) -> str:
        """What it shows: type and size, which nodule or mark of which case."""
        facts = [say.word(self.type)] if self.type else []
        facts += [] if self.diameter_mm is None else [f"{decimals(self.diameter_mm, 1)} mm"]
        return say.listed([*facts, f"{self.case_id} / {self.name}"])

    def details(self, say: Language) -> list[str]:
        """Its place, how it was found or missed, and what is nearest to it."""
        facts = self.facts
        if not facts:
            return []
        told = [say("gallery.place", place=place_words(facts))]
        if self.kind == "missed":
            told += [
                say("gallery.found", found=found_words(facts, say)),
                say("gallery.nearest_mark", nearest=near_mark_words(facts, say)),
            ]
        else:
            score = facts.get("score")
            told += [] if score is None else [say("gallery.score", score=significant(score))]
        if self.kind == "false_positive":
            told.append(say("gallery.nearest", nearest=near_nodule_words(facts, say)))
        return told


@dataclass(frozen=True, slots=True)
class Gallery(Block):
    """Patches of one algorithm and kind, under a heading."""

    macro: ClassVar[str] = "gallery"
    title: str
    patches: Sequence[Patch]
    say: Language
    left_out: int = 0
    """How many more there are, in the files beside the report."""

    @property
    def remark(self) -> str:
        """What the pictures are, and how many are not shown."""
        told = [self.say("gallery.remark")]
        told += [self.say("gallery.more", count=self.left_out)] if self.left_out else []
        return self.say("list.sentence").join(told)

    def views(self, patch: Patch) -> list[tuple[str, str]]:
        """For each view of a patch its name and its picture as an address."""
        return [
            (self.say.word(view), f"data:image/png;base64,{base64.b64encode(png).decode()}")
            for view, png in zip(VIEWS, patch.views, strict=True)
        ]


def galleries(
    patches: Sequence[Patch], say: Language, counts: Mapping[str, int] | None = None
) -> list[Gallery]:
    """The patches by algorithm and kind, missed nodules first.

    Args:
        patches: what is shown.
        say: the language.
        counts: how many nodules are missed and marks false positives, of the only algorithm.
    """
    names = dict.fromkeys(one.algorithm for one in patches)
    found = [
        (name, kind, [one for one in patches if one.algorithm == name and one.kind == kind])
        for name in names
        for kind in KINDS
    ]
    return [
        Gallery(
            say(f"gallery.{kind}", name=name),
            having,
            say,
            left_out=0 if kind == "hit" else max(0, (counts or {}).get(kind, 0) - len(having)),
        )
        for name, kind, having in found
        if having
    ]
