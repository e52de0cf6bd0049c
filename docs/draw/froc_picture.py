"""A folder written by ``evaluate --out`` -> its FROC as a picture that stands alone.

``python docs/draw/froc_picture.py RESULT PICTURE.svg``: the report's own drawing in the
report's own style, for pages that are not the report.
"""

import json
import sys
from pathlib import Path

import polars as pl
from markupsafe import Markup

from nodulebench.language import language
from nodulebench.pages.svg import stand_alone
from nodulebench.report.sections.results.curves import by_curve, froc_charts


def froc_picture(result: Path) -> str:
    """The first FROC of a result folder as an SVG document."""
    document = json.loads((result / "evaluation.json").read_text(encoding="utf-8"))
    curves = by_curve(pl.read_parquet(result / "curves.parquet"))
    return on_paper(froc_charts(document, curves, language())[0].picture)


def on_paper(picture: Markup) -> str:
    """A plot of the report as an SVG document on white ground."""
    drawn = stand_alone(picture, style="text { font-family: system-ui, sans-serif; }")
    return drawn.replace("</style>", '</style><rect width="100%" height="100%" fill="#ffffff"/>', 1)


if __name__ == "__main__":
    Path(sys.argv[2]).write_text(froc_picture(Path(sys.argv[1])), encoding="utf-8")
