"""Text -> runs of fonts that have its characters: Latin, symbols, Chinese.

Latin text is set in Bitstream Vera, which comes with reportlab and is embedded. Chinese is set in
the standard font STSong-Light, which readers of PDF bring along, or in a TrueType font that is
given and then embedded.
"""

from dataclasses import dataclass
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

from nodulebench.errors import InputError, Problem
from nodulebench.optional_package import needs

PURPOSE = "report.pdf"
STANDARD_CHINESE = "STSong-Light"
CODE = "Courier"
SYMBOLS = frozenset("→↓←↑ΔαβκχμτρσΣ∼′")
"""Characters that the standard font Symbol has."""
DINGBATS = frozenset("✓✗■★")
"""Characters that the standard font ZapfDingbats has."""
SPACES = {"\N{NO-BREAK SPACE}": " ", "\N{NARROW NO-BREAK SPACE}": " ", "‑": "-"}


@dataclass(frozen=True, slots=True)
class Fonts:
    """The fonts of one report."""

    plain: str
    bold: str
    chinese: str
    _known: frozenset[int]

    def runs(self, text: str, *, is_bold: bool = False) -> list[tuple[str, str]]:
        """The text in pieces, each with the font that can show it."""
        own = self.bold if is_bold else self.plain
        named = [self._font_of(letter, own) for letter in text]
        return [
            (font, "".join(letter for _, letter in part))
            for font, part in groupby(named, key=lambda pair: pair[0])
        ]

    def _font_of(self, letter: str, own: str) -> tuple[str, str]:
        if ord(letter) in self._known:
            return own, letter
        if letter in SPACES:
            return own, SPACES[letter]
        if letter in SYMBOLS:
            return "Symbol", letter
        if letter in DINGBATS:
            return "ZapfDingbats", letter
        return self.chinese, letter

    def marked_up(self, text: str, *, is_bold: bool = False) -> str:
        """The text as a paragraph of reportlab wants it."""
        own = self.bold if is_bold else self.plain
        return "".join(
            escape(piece) if font == own else f'<font name="{font}">{escape(piece)}</font>'
            for font, piece in self.runs(text, is_bold=is_bold)
        )

    def width(self, text: str, size: float, *, is_bold: bool = False) -> float:
        """How wide a line of text is, in points."""
        with needs("pdf", PURPOSE):
            from reportlab.pdfbase import pdfmetrics as metrics
        return sum(
            float(metrics.stringWidth(piece, font, size))
            for font, piece in self.runs(text, is_bold=is_bold)
        )


@cache
def load_fonts(chinese: Path | None = None) -> Fonts:
    """Register the fonts; ``chinese`` is a TrueType font to embed.

    Raises:
        InputError: if reportlab is not installed, or the font cannot be embedded.
    """
    with needs("pdf", PURPOSE):
        import reportlab as package
        from reportlab.pdfbase import pdfmetrics as metrics
        from reportlab.pdfbase import ttfonts as truetype
    folder = Path(package.__file__).parent / "fonts"
    for name, file in (("Vera", "Vera.ttf"), ("VeraBd", "VeraBd.ttf")):
        metrics.registerFont(truetype.TTFont(name, str(folder / file)))
    metrics.registerFontFamily("Vera", normal="Vera", bold="VeraBd", italic="Vera")
    known = frozenset(metrics.getFont("Vera").face.charToGlyph)
    return Fonts("Vera", "VeraBd", _chinese(chinese, metrics, truetype), known)


@cache
def paragraph_style(**properties: Any) -> Any:
    """A style of paragraphs with these properties; equal ones are one."""
    with needs("pdf", PURPOSE):
        from reportlab.lib import styles
    return styles.ParagraphStyle("text", **properties)


def _chinese(path: Path | None, metrics: Any, truetype: Any) -> str:
    if path is None:
        with needs("pdf", PURPOSE):
            from reportlab.pdfbase import cidfonts as fonts
        metrics.registerFont(fonts.UnicodeCIDFont(STANDARD_CHINESE))
        return STANDARD_CHINESE
    name = f"given-{path.stem}"
    try:
        metrics.registerFont(truetype.TTFont(name, str(path)))
    except (truetype.TTFError, OSError) as error:
        raise InputError(
            Problem(
                str(path),
                f"cannot be embedded: {error}.",
                "Give a TrueType font (.ttf, or .ttc with TrueType outlines).",
            )
        ) from error
    return name
