"""TABLES -> the page of tables and their columns."""

from generate.markdown import code, table
from nodulebench.core.documents.error_tables import FALSE_POSITIVES, MISSES
from nodulebench.core.schema import Column, TableSchema
from nodulebench.core.tables import TABLES


def tables_page() -> str:
    """Every table with its columns, units and allowed values."""
    return "\n\n".join(
        [
            "# Tables and columns",
            "What every format is read into, and what Parquet and CSV files of our own hold. "
            "Positions are patient coordinates in mm (LPS: x grows to the patient's left, y to "
            "the back, z to the head). Required columns need a value in every row.",
            *(_section(schema) for schema in (*TABLES, MISSES, FALSE_POSITIVES)),
            "",
        ]
    )


def _section(schema: TableSchema) -> str:
    key = ", ".join(code(name) for name in schema.key)
    more = " Further columns are preserved." if schema.is_open else ""
    return "\n\n".join(
        [
            f"## {schema.name}",
            f"{schema.meaning} A row is unique by {key}.{more}",
            table(
                ["column", "type", "unit", "required", "meaning", "allowed"],
                (
                    [
                        code(column.name),
                        column.dtype.__name__,
                        column.unit,
                        "yes" if column.is_required else "",
                        column.meaning,
                        _allowed(column),
                    ]
                    for column in schema.columns
                ),
            ),
            *_further(schema),
        ]
    )


def _further(schema: TableSchema) -> list[str]:
    """The known columns that a table need not have."""
    if not schema.further:
        return []
    rows = (
        [code(more.name), more.dtype.__name__, more.meaning, _allowed(more)]
        for more in schema.further
    )
    return [
        "Checked where they are:",
        table(["column", "type", "meaning", "allowed"], rows),
    ]


def _allowed(column: Column) -> str:
    if column.allowed:
        return ", ".join(code(value) for value in column.allowed)
    least = "" if column.minimum is None else f"≥ {column.minimum:g}"
    most = "" if column.maximum is None else f"≤ {column.maximum:g}"
    return ", ".join(bound for bound in (least, most) if bound)
