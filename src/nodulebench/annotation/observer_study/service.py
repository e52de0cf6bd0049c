"""Files of an observer study: what readers are given, and what came of their readings."""

from collections.abc import Sequence
from pathlib import Path

import polars as pl

from nodulebench.annotation.observer_study.conclusion import Conclusion, conclude, effect
from nodulebench.annotation.observer_study.selection import (
    EARLIER_CALLS,
    PRESCREEN,
    READER_CALLS,
    SUSPECTS,
    Selection,
    false_positives,
    select,
)
from nodulebench.annotation.observer_study.study import (
    STUDY,
    TO_READ,
    calls_table,
    open_study,
    status_of,
)
from nodulebench.core.errors import InputError
from nodulebench.core.protocol import TestProtocol
from nodulebench.core.protocols import load_protocol
from nodulebench.core.tables import Reference, Submission
from nodulebench.evaluation.recompute import load_evaluated
from nodulebench.evaluation.result_folder import EVALUATION
from nodulebench.evaluation.service import with_options
from nodulebench.io.atomic import staged_folder
from nodulebench.io.bundle import write_reference
from nodulebench.io.formats import read_reference, read_submission
from nodulebench.io.json_files import write_json
from nodulebench.io.table_files import read_table, write_table

REUSED, REUSED_CALLS, ADDITIONAL = "read_before.csv", "earlier_calls.csv", "additional_nodules.csv"
USUAL_READERS = 4
"""That judged each place in LUNA16's study."""


def select_files(
    marks: Path,
    reference: Path | None,
    out: Path,
    *,
    rate: float,
    protocol: str | None = None,
    algorithm: str | None = None,
    prescreen: Path | None = None,
    annotated: Path | None = None,
    earlier: Path | None = None,
) -> Selection:
    """Choose the false positives that readers shall judge, and write their list.

    Args:
        marks: a submission, or the folder of an evaluation.
        reference: the test set; None: the one of the evaluation.
        out: folder of the study.
        rate: false positives per case.
        protocol: by which marks are judged; None: that of the evaluation, else ``luna16``.
        algorithm: whose marks, where the evaluation has several.
        prescreen: which of them are obviously no nodules.
        annotated: reference of all lesions in the source data.
        earlier: what readers called places before.

    Raises:
        InputError: if readers have got the study already, or something given cannot be.
    """
    if (out / STUDY).exists():
        raise InputError.at(out, "is a study that readers judge already.", "Choose a new folder.")
    truth, submission, rules = _scored_by(marks, reference, protocol, algorithm)
    selection = select(
        false_positives(truth, submission, rules, rate),
        truth,
        prescreen=None if prescreen is None else read_table(prescreen, PRESCREEN),
        annotated=None if annotated is None else read_reference(annotated).nodules,
        earlier=None if earlier is None else read_table(earlier, EARLIER_CALLS),
    )
    with staged_folder(out, last="flow.json") as stage:
        write_table(selection.suspects, stage / TO_READ)
        write_table(selection.reused_suspects, stage / REUSED)
        write_table(selection.reused, stage / REUSED_CALLS)
        write_json(selection.flow, stage / "flow.json")
    return selection


def _scored_by(
    marks: Path, reference: Path | None, protocol: str | None, algorithm: str | None
) -> tuple[Reference, Submission, TestProtocol]:
    """The test set, what one algorithm said of it, and by which rules it is judged."""
    if not (marks / EVALUATION).is_file():
        if reference is None or algorithm is not None:
            what = "is no evaluation: it needs --reference, and has no --algorithm to choose."
            raise InputError.at(marks, what)
        truth = read_reference(reference)
        return truth, read_submission(marks, truth.cases), load_protocol(protocol or "luna16")
    if reference is not None:
        what = "is an evaluation, which has a reference of its own."
        raise InputError.at(marks, what, "Leave out --reference.")
    evaluated = load_evaluated(marks)
    name = algorithm if algorithm is not None else next(iter(evaluated.submissions), "")
    if name not in evaluated.submissions or (algorithm is None and len(evaluated.submissions) > 1):
        known = ", ".join(evaluated.submissions)
        what = (
            "has several algorithms." if algorithm is None else f"has no algorithm '{algorithm}'."
        )
        raise InputError.at(marks, what, f"Choose one with --algorithm: {known}.")
    rules = evaluated.protocol if protocol is None else load_protocol(protocol)
    return evaluated.reference, evaluated.submissions[name], rules


def conclude_files(
    study: Path,
    calls: Sequence[Path],
    reference: Path,
    out: Path,
    *,
    marks: Sequence[Path] = (),
    protocol: str = "luna16",
    readers: int | None = None,
    minimum_agreement: int = 3,
) -> tuple[Conclusion, pl.DataFrame]:
    """Add what the readers call nodules; write both references and the effect on algorithms.

    Args:
        study: folder of the study.
        calls: tables of calls; what readers called in the study itself is counted, too.
        reference: the test set.
        out: folder for both references, the additional nodules and the effect.
        marks: submissions to be scored before and after.
        protocol: by which they are scored.
        readers: how many judged each place; None: as many as the study has, else 4.
        minimum_agreement: how many make it a nodule.

    Raises:
        InputError: if a call is missing or contradicts itself.
    """
    truth = read_reference(reference)
    opened = open_study(study) if (study / STUDY).exists() or not calls else None
    suspects = [read_table(study / name, SUSPECTS) for name in (TO_READ, REUSED)]
    call_tables = [read_table(path, READER_CALLS) for path in (study / REUSED_CALLS, *calls)]
    if opened is not None:
        call_tables.append(calls_table(opened))
    count = len(opened.study.reader_ids) if opened is not None and not calls else USUAL_READERS
    conclusion = conclude(
        truth,
        pl.concat(suspects),
        READER_CALLS.conform(pl.concat(call_tables), "readings"),
        readers=readers or count,
        minimum_agreement=minimum_agreement,
    )
    scored = effect(
        conclusion,
        [read_submission(path, truth.cases) for path in marks],
        with_options(load_protocol(protocol), bootstraps=0),
    )
    with staged_folder(out, last="effect.csv") as stage:
        write_table(conclusion.verdicts, stage / "verdicts.csv")
        write_table(conclusion.levels, stage / "agreement.csv")
        write_table(conclusion.additional, stage / ADDITIONAL)
        if opened is not None:
            write_json(status_of(opened), stage / "observers.json")
        write_reference(conclusion.before, stage / "before")
        write_reference(conclusion.after, stage / "after")
        write_table(scored, stage / "effect.csv")
    return conclusion, scored
