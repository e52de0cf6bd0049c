"""Evaluation documents -> reports as HTML, PDF and CSV tables."""

from nodulebench.core.registry import lazy_names

_MODULES = {
    "excerpt": "excerpts",
    "render_html": "html",
    "render_pdf": "pdf",
}
__getattr__, __dir__ = lazy_names(__name__, _MODULES)
