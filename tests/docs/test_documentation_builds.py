"""The documentation builds without a warning, and its pages load nothing from the network."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from builders.places import ROOT

DOCS = ROOT / "docs"
LOADED = re.compile(
    r"""<(?:script|img|iframe|source|video)\b[^>]*\bsrc=["'](?:https?:)?//"""
    r"""|<link\b(?=[^>]*rel=["'](?:stylesheet|preload|icon|preconnect)["'])[^>]*href=["'](?:https?:)?//"""
    r"""|@import\s+(?:url\()?["']?(?:https?:)?//|url\(["']?(?:https?:)?//"""
)


def test_build_has_no_warning_and_pages_need_no_network(tmp_path: Path) -> None:
    pytest.importorskip("furo", reason="the extra 'docs' is not installed")
    pytest.importorskip("myst_parser", reason="the extra 'docs' is not installed")
    pytest.importorskip("sphinx", reason="the extra 'docs' is not installed")
    pages = tmp_path / "html"
    places = ["-d", tmp_path / "doctrees", DOCS, pages]
    done = subprocess.run(
        [sys.executable, "-m", "sphinx", "-q", "-W", "-b", "html", *places],
        capture_output=True,
        encoding="utf-8",
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    built = [*pages.rglob("*.html"), *pages.rglob("*.css")]
    assert pages / "explanation" / "rules" / "center_hit.html" in built
    assert pages / "reference" / "generated" / "figures.html" in built
    loading = {
        path.name: found.group()
        for path in built
        if (found := LOADED.search(path.read_text(encoding="utf-8")))
    }
    assert loading == {}


@pytest.mark.parametrize(
    ("text", "is_loading"),
    [
        ('<script src="https://cdn.example.org/x.js"></script>', True),
        ('<link rel="stylesheet" href="//fonts.example.org/a.css">', True),
        ('<link href="https://example.org/a.css" rel="stylesheet">', True),
        ("@import url('https://fonts.example.org/a.css');", True),
        ('<a href="https://doi.org/10.1016/j.media.2017.06.015">paper</a>', False),
        ('<script src="_static/x.js"></script>', False),
    ],
)
def test_what_loads_from_the_network_is_recognised(text: str, is_loading: bool) -> None:
    assert bool(LOADED.search(text)) == is_loading
