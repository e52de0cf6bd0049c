"""A folder written by ``evaluate --out`` -> its FROC as a picture that stands alone.

``python docs/draw/froc_picture.py RESULT PICTURE.svg``: the report's own drawing in the
report's own style, for pages that are not the report.
"""

import json
import sys
from importlib.resources import files
from pathlib import Path

import polars as pl
from markupsafe import Markup

from nodulebench.language import language
from nodulebench.report.sections.results.curves import by_curve, froc_charts

STYLED = (".plot", ".ticks", ".frame", ".curve", ".beyond", ".band", ".point", ".c1", ".c5")
"""The report's style rules that its plots need, by how their lines start."""


def froc_picture(result: Path) -> str:
    """The first FROC of a result folder as an SVG document."""
    document = json.loads((result / "evaluation.json").read_text(encoding="utf-8"))
    curves = by_curve(pl.read_parquet(result / "curves.parquet"))
    return stand_alone(froc_charts(document, curves, language())[0].picture)


def stand_alone(picture: Markup) -> str:
    """A plot of the report as an SVG document with the style that it needs."""
    css = files("nodulebench.report.html_page").joinpath("assets", "report.css").read_text("utf-8")
    colours = css.partition("@media")[0].replace(":root", "svg")
    rules = "\n".join(
        line
        for line in css.partition("@media (max-width")[0].splitlines()
        if line.startswith(STYLED)
    )
    style = f"<style>{colours}{rules}\ntext {{ font-family: system-ui, sans-serif; }}</style>"
    head, _, rest = str(picture).partition(">")
    head = head.replace("<svg", '<svg xmlns="http://www.w3.org/2000/svg"')
    return f'{head}>{style}<rect width="100%" height="100%" fill="#ffffff"/>{rest}\n'


if __name__ == "__main__":
    Path(sys.argv[2]).write_text(froc_picture(Path(sys.argv[1])), encoding="utf-8")
