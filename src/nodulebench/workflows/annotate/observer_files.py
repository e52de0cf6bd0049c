"""Files of an observer study: what readers are given, and what came of their readings."""

from collections.abc import Sequence
from pathlib import Path

import polars as pl

from nodulebench.formats import read_reference, read_submission
from nodulebench.formats.bundle import write_reference
from nodulebench.protocols import load_protocol
from nodulebench.storage.json_text import write_json
from nodulebench.storage.staging import staged_folder
from nodulebench.storage.table_file import read_table, write_table
from nodulebench.workflows.annotate.observer_selection import (
    EARLIER_CALLS,
    PRESCREEN,
    READER_CALLS,
    SUSPECTS,
    Selection,
    false_positives,
    select,
)
from nodulebench.workflows.annotate.observer_study import Conclusion, conclude, effect
from nodulebench.workflows.evaluate.files import with_options

TO_READ, REUSED, REUSED_CALLS = "to_read.csv", "read_before.csv", "earlier_calls.csv"


def select_files(
    marks: Path,
    reference: Path,
    out: Path,
    *,
    rate: float,
    protocol: str = "luna16",
    prescreen: Path | None = None,
    annotated: Path | None = None,
    earlier: Path | None = None,
) -> Selection:
    """Choose the false positives that readers shall judge, and write their list."""
    truth = read_reference(reference)
    said = read_submission(marks, truth.cases)
    found = select(
        false_positives(truth, said, load_protocol(protocol), rate),
        truth,
        prescreen=None if prescreen is None else read_table(prescreen, PRESCREEN),
        annotated=None if annotated is None else read_reference(annotated).nodules,
        earlier=None if earlier is None else read_table(earlier, EARLIER_CALLS),
    )
    with staged_folder(out, last="flow.json") as stage:
        write_table(found.suspects, stage / TO_READ)
        write_table(found.reused_suspects, stage / REUSED)
        write_table(found.reused, stage / REUSED_CALLS)
        write_json(found.flow, stage / "flow.json")
    return found


def conclude_files(
    study: Path,
    calls: Sequence[Path],
    reference: Path,
    out: Path,
    *,
    marks: Sequence[Path] = (),
    protocol: str = "luna16",
    readers: int = 4,
    minimum_agreement: int = 3,
) -> tuple[Conclusion, pl.DataFrame]:
    """Add what the readers call nodules; write both references and the effect on algorithms."""
    truth = read_reference(reference)
    suspects = [read_table(study / name, SUSPECTS) for name in (TO_READ, REUSED)]
    tables = [study / REUSED_CALLS, *calls]
    found = conclude(
        truth,
        pl.concat(suspects),
        READER_CALLS.conform(
            pl.concat([read_table(path, READER_CALLS) for path in tables]), "readings"
        ),
        readers=readers,
        minimum_agreement=minimum_agreement,
    )
    scored = effect(
        found,
        [read_submission(path, truth.cases) for path in marks],
        with_options(load_protocol(protocol), bootstraps=0),
    )
    with staged_folder(out, last="effect.csv") as stage:
        write_table(found.verdicts, stage / "verdicts.csv")
        write_table(found.levels, stage / "agreement.csv")
        write_reference(found.before, stage / "before")
        write_reference(found.after, stage / "after")
        write_table(scored, stage / "effect.csv")
    return found, scored
