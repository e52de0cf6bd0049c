"""A drawing of the report as notebooks show it and files keep it."""

from dataclasses import dataclass
from pathlib import Path

from nodulebench.io.atomic import staged_file
from nodulebench.report.pages.notebook import picture_apart


@dataclass(frozen=True, repr=False, slots=True)
class Picture:
    """A picture: it shows itself in a notebook, and ``save`` writes it as an SVG file."""

    title: str
    """What it shows."""
    svg: str
    """The picture as a document of its own."""

    def save(self, path: Path | str) -> Path:
        """Write the picture, whole or not at all; returns where it lies."""
        with staged_file(Path(path)) as stage:
            stage.write_text(self.svg, encoding="utf-8")
        return Path(path)

    def __repr__(self) -> str:
        return f"<Picture: {self.title}>"

    def _repr_svg_(self) -> str:
        return self.svg

    def _repr_html_(self) -> str:
        return picture_apart(self.title, self.svg)
