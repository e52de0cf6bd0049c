"""Cells and columns of tables on a terminal."""

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from nodulebench.core.notices import Notice
    from nodulebench.evaluation.comparison.compare import FigureDifference


def print_columns(heads: list[str], rows: list[list[str]]) -> None:
    """Print a table with columns as wide as their widest cell."""
    widths = [max(map(len, column)) for column in zip(heads, *rows, strict=True)]
    for is_head, row in [(True, heads), *((False, row) for row in rows)]:
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=True)]
        click.secho(("  " + "  ".join(cells)).rstrip(), bold=is_head or None)


def p_text(p_value: float) -> str:
    """A P value with enough digits to judge it."""
    return "<0.001" if p_value < 0.001 else f"{p_value:.3f}"


def verdict_text(one: "FigureDifference") -> str:
    """What a margin says of a difference, in few words."""
    test = None if one.comparison is None else one.comparison.margin
    if test is None:
        return ""
    if test.reason is not None:
        return _open_verdict(test.reason)
    if test.is_superior:
        return "superior"
    if test.is_equivalent:
        return "equivalent"
    return "not inferior" if test.is_non_inferior else "not shown"


def _open_verdict(reason: "Notice") -> str:
    """Why a margin cannot be judged, in few words."""
    needed, unit = reason.values.get("needed"), reason.values.get("unit")
    return "not assessable" + (f": {needed} {unit}s needed" if needed else "")
