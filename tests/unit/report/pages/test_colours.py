"""One table of colours, from which every page and chart takes its colours."""

import re
from pathlib import Path

import pytest

import nodulebench
from nodulebench.report.pages.colours import COLOURS, MEDIA, colour_variables, palette, with_colours
from nodulebench.report.pages.svg import drawing, label, standalone
from nodulebench.report.pages.templates import asset

PACKAGE = Path(nodulebench.__file__).parent
STYLES = ("charts.css", "blocks.css", "page.css", "portal.css", "curation.css")


def luminance(code: str) -> float:
    parts = [int(code[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(first: str, other: str) -> float:
    low, high = sorted((luminance(first), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("medium", MEDIA)
def test_text_and_series_contrast_with_the_paper(medium: str) -> None:
    """WCAG 2.2 asks 4.5 for text and 3 for what a chart is understood by."""
    colours = palette(medium)
    for name in ("ink", "muted", "accent", "good", "bad", "open"):
        assert contrast(colours[name], colours["paper"]) >= 4.5, name
    for number in range(1, 8):
        assert contrast(colours[f"c{number}"], colours["paper"]) >= 3, number


def test_every_colour_is_a_variable_on_every_medium() -> None:
    css = colour_variables()
    assert [css.count(f"--{name}:") for name in COLOURS] == [3] * len(COLOURS)


@pytest.mark.parametrize("style", STYLES)
def test_style_sheets_use_only_colours_of_the_table(style: str) -> None:
    css = asset(style)
    assert set(re.findall(r"var\(--([\w-]+)\)", css)) <= set(COLOURS)
    assert set(re.findall(r"#[0-9a-fA-F]{3,8}\b", css)) <= {"#000"}  # behind CT images


def test_colours_are_defined_only_in_the_table() -> None:
    """A colour that is written down twice is two colours one day."""
    places = [
        f"{path.relative_to(PACKAGE)}: {code}"
        for path in PACKAGE.rglob("*.py")
        if path.name != "colours.py"
        for code in re.findall(r"[\"'#:]#[0-9a-fA-F]{6}\b", path.read_text(encoding="utf-8"))
    ]
    assert places == []


def test_variables_are_filled_in_where_readers_know_none() -> None:
    assert with_colours("a{fill:var(--ink)}", "dark") == "a{fill:#e5e9ee}"
    svg = drawing("picture", 10, 10, [label(1, 2, "<x>", "first")], description="a & b")
    standalone_svg = standalone(svg, medium="print")
    assert "var(" not in standalone_svg
    assert palette("print")["c2"] in standalone_svg
    assert "&lt;x&gt;" in standalone_svg
    assert 'aria-label="a &amp; b"' in standalone_svg
    assert standalone_svg.startswith('<svg xmlns="http://www.w3.org/2000/svg" class="picture"')
