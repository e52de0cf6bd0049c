"""Sphinx settings. Everything is local: no network when building, none when reading."""

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent / "tests")]

from generate import write_pages  # noqa: E402
from keywords import add_keywords  # noqa: E402
from twins import write_twins  # noqa: E402

from nodulebench import __version__  # noqa: E402

project = "NoduleBench"
author = "The NoduleBench developers"
release = version = __version__
html_title = f"NoduleBench {release}"
project_copyright = author

extensions = ["myst_parser"]
exclude_patterns = ["_build", "draw", "generate"]
myst_enable_extensions = ["deflist"]
myst_heading_anchors = 3

html_theme = "furo"
html_search_scorer = str(HERE / "search.js")
html_show_sourcelink = False
html_copy_source = False
html_static_path = ["static"]
html_css_files = ["nodulebench.css"]
html_theme_options = {
    "navigation_with_keys": True,
    "light_css_variables": {"color-brand-primary": "#0b5688", "color-brand-content": "#0b5688"},
    "dark_css_variables": {"color-brand-primary": "#7fbfe8", "color-brand-content": "#7fbfe8"},
}


def setup(app):
    app.connect("builder-inited", lambda _: write_pages(HERE / "reference" / "generated"))
    app.connect("source-read", add_keywords)
    app.connect("build-finished", write_twins)
