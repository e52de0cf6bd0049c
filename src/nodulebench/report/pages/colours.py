"""The colours of everything that is shown: one table for page, dark page, print and charts.

Series have Okabe and Ito's colours (safe for colour-blind readers), darkened where they would be
too light on paper and lightened on a dark page.
"""

import re
from typing import Literal

Medium = Literal["light", "dark", "print"]

COLOURS: dict[str, tuple[str, str, str]] = {
    # name: on a light page, on a dark page, in print
    "paper": ("#ffffff", "#12171d", "#ffffff"),
    "soft": ("#f4f6f8", "#1a212a", "#f0f0f0"),
    "ink": ("#1b232d", "#e5e9ee", "#000000"),
    "muted": ("#566270", "#9ca8b5", "#444444"),
    "line": ("#d5dbe2", "#313b47", "#bbbbbb"),
    "accent": ("#0b5688", "#7fbfe8", "#0b5688"),
    "good": ("#1b6e3c", "#7ccf9a", "#000000"),
    "bad": ("#a3261b", "#f0948a", "#000000"),
    "open": ("#7a5a00", "#e0b84f", "#000000"),
    "share": ("#7fa9c9", "#3f76a0", "#9a9a9a"),
    "less": ("#d9a27c", "#9a6036", "#c9c9c9"),
    "note": ("#fdf6e7", "#2a2415", "#ffffff"),
    "note-line": ("#b87400", "#e0a53a", "#000000"),
    "c1": ("#0072b2", "#56b4e9", "#0072b2"),
    "c2": ("#d55e00", "#f0863a", "#d55e00"),
    "c3": ("#009e73", "#2fc79c", "#009e73"),
    "c4": ("#b3568c", "#dc93bb", "#b3568c"),
    "c5": ("#b97d00", "#e6b83f", "#b97d00"),
    "c6": ("#2f93d1", "#9ad0f0", "#2f93d1"),
    "c7": ("#1b232d", "#e5e9ee", "#000000"),
}
MEDIA: tuple[Medium, ...] = ("light", "dark", "print")


def palette(medium: Medium) -> dict[str, str]:
    """Every colour by its name, as it is on that medium."""
    return {name: of[MEDIA.index(medium)] for name, of in COLOURS.items()}


def colour_variables() -> str:
    """The table as variables of a style sheet, for each medium its own."""
    light, dark, paper = (
        ":root{" + "".join(f"--{name}:{codes[place]};" for name, codes in COLOURS.items()) + "}"
        for place in range(len(MEDIA))
    )
    return f"{light}\n@media(prefers-color-scheme:dark){{{dark}}}\n@media print{{{paper}}}\n"


def with_colours(style: str, medium: Medium) -> str:
    """A style sheet with its variables filled in, for programs that do not support them."""
    known = palette(medium)
    return re.sub(r"var\(--([\w-]+)\)", lambda match: known[match[1]], style)
