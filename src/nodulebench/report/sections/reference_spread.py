"""What ``nodulebench reference spread`` wrote -> how a score depends on how readers are heard."""

from collections.abc import Sequence

import polars as pl

from nodulebench.i18n.numbers import UNDEFINED, decimals
from nodulebench.i18n.translator import Language
from nodulebench.report.cells import Cell, count, head
from nodulebench.report.tables import Table


def spread_tables(tables: Sequence[pl.DataFrame], say: Language) -> list[Table]:
    """A table for each algorithm and figure: its value under every reference."""
    return [
        _table(part, say)
        for table in tables
        for part in table.partition_by("algorithm", "figure", maintain_order=True)
    ]


def _table(part: pl.DataFrame, say: Language) -> Table:
    algorithm, figure = part.row(0, named=True)["algorithm"], part["figure"][0]
    rows = [
        [
            head(row["reference"]),
            count(row["nodules"]),
            count(row["hit"]),
            Cell(UNDEFINED if row["value"] is None else decimals(row["value"])),
        ]
        for row in part.iter_rows(named=True)
    ]
    title = say.figure(figure).title
    heads = [
        *(Cell(say(f"spread.{name}")) for name in ("reference", "nodules", "hit")),
        Cell(title),
    ]
    values = part["value"].drop_nulls().to_list()
    remark = (
        say("spread.remark", low=decimals(min(values)), high=decimals(max(values)))
        if values
        else say("spread.undefined")
    )
    return Table(say("spread.caption", figure=title, name=algorithm), heads, rows, remark=remark)
