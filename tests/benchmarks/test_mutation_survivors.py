"""The page on mutation testing counts what the list of survivors holds."""

import csv
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[2]
STAGES = ("match", "metrics", "statistics", "custody")
KINDS = {"unseen": "unseen", "left": "left", "elsewhere": "elsewhere"}


def page_table() -> dict[str, dict[str, int]]:
    """The page's counts, by stage and column."""
    page = (ROOT / "docs" / "explanation" / "mutation-testing.md").read_text(encoding="utf-8")
    lines = [line.strip("| \n").split(" | ") for line in page.splitlines() if line[:1] == "|"]
    names, rows = lines[0], [cells for cells in lines[2:] if cells[0] in STAGES]
    return {
        cells[0]: {
            name: int(cell.replace(",", ""))
            for name, cell in zip(names[1:], cells[1:], strict=True)
        }
        for cells in rows
    }


def test_every_survivor_of_the_page_is_listed_with_a_reason() -> None:
    with (ROOT / "benchmarks" / "mutation_survivors.csv").open(
        encoding="utf-8", newline=""
    ) as file:
        rows = list(csv.DictReader(file))
    listed = Counter((row["file"].partition("/")[0], row["kind"]) for row in rows)
    for stage, counts in page_table().items():
        counted = {kind: counts.get(column, 0) for kind, column in KINDS.items()}
        assert counted == {kind: listed[stage, kind] for kind in KINDS}
        assert sum(counts.values()) == 2 * counts["changes"]
    assert all(row["reason"] and row["before"] != row["after"] for row in rows)
    assert {row["kind"] for row in rows} <= set(KINDS)
