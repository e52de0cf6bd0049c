"""A folder written by ``evaluate --out`` -> its FROC as a self-contained picture.

``python docs/draw/froc_picture.py RESULT PICTURE.svg``: the report's own drawing in the
report's own style, for pages that are not the report.
"""

import sys
from pathlib import Path

import polars as pl

from nodulebench.evaluation.result_folder import read_document
from nodulebench.i18n.translator import translator
from nodulebench.report.curves import FROC, by_curve, curve_charts
from nodulebench.report.pages.svg import on_paper


def froc_picture(result: Path) -> str:
    """The first FROC of a result folder as an SVG document."""
    document = read_document(result)
    curves = by_curve(pl.read_parquet(result / "curves.parquet"))
    return on_paper(curve_charts(document, curves, FROC, translator())[0].svg)


if __name__ == "__main__":
    Path(sys.argv[2]).write_text(froc_picture(Path(sys.argv[1])), encoding="utf-8")
