"""nodulebench view: the cases of an evaluation in the browser, with reference and marks."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from nodulebench.cli.options import EXISTING, NEW_FOLDER, address_shown, page_options

if TYPE_CHECKING:
    from nodulebench.i18n.translator import LanguageName


@click.command("view")
@click.argument("result", metavar="FOLDER", type=EXISTING)
@click.option("--images", required=True, type=EXISTING, help="Folder of scans.")
@click.option(
    "--cache", type=NEW_FOLDER, help="Folder for cached voxels.  [default: next to the images]"
)
@page_options
def command(
    result: Path,
    images: Path,
    cache: Path | None,
    port: int,
    language: "LanguageName",
    browser: bool,
) -> None:
    r"""Show the cases of the result FOLDER in the browser.

    The page shows the reference and the marks on the images, coloured by label; rule, algorithm and
    threshold are chosen in the page. Keys step through misses and false positives, all of them or
    those that another rule labels differently. Cases without a scan are left out. The page shows
    the reference: protect it.

    \b
    nodulebench view result/ --images scans/
    """
    from nodulebench.evaluation.recompute import load_evaluated
    from nodulebench.web.viewer.app import serve
    from nodulebench.web.viewer.evaluation import EvaluationLayer, open_evaluation_session

    on_ready = address_shown("stop with Ctrl-C", opens=browser)
    opening = open_evaluation_session(images, EvaluationLayer(load_evaluated(result)), cache)
    serve(opening, port=port, language=language, on_ready=on_ready)
