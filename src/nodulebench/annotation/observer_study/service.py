"""Files of an observer study: what readers are given, and the outcome of their readings."""

from collections.abc import Sequence
from dataclasses import dataclass
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
"""Who called each place in LUNA16's study."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SelectOptions:
    """Which false positives become an observer study."""

    marks: Path
    """A submission, or the folder of an evaluation."""
    out: Path
    """Folder of the study."""
    reference: Path | None = None
    """The test set; None: the one of the evaluation."""
    rate: float = 0.25
    """False positives per case."""
    protocol: str | None = None
    """The protocol that labels the marks; None: that of the evaluation, else ``luna16``."""
    algorithm: str | None = None
    """Whose marks, where the evaluation has several."""
    prescreen: Path | None = None
    """Table of marks that are obviously not nodules."""
    annotated: Path | None = None
    """Reference of all lesions in the source data."""
    earlier: Path | None = None
    """Earlier calls of readers."""


def select_files(options: SelectOptions) -> Selection:
    """Choose the false positives that readers classify, and write their list.

    Raises:
        InputError: if readers have already got the study, or an input cannot be used.
    """
    out = options.out
    if (out / STUDY).exists():
        what = "is a study that readers have already got."
        raise InputError.at(out, what, "Choose a new folder.")
    truth, submission, rules = _read_marks(options)
    prescreen, annotated, earlier = options.prescreen, options.annotated, options.earlier
    selection = select(
        false_positives(truth, submission, rules, options.rate),
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


def _read_marks(options: SelectOptions) -> tuple[Reference, Submission, TestProtocol]:
    """The test set, the marks of one algorithm, and the protocol that labels them."""
    marks, reference = options.marks, options.reference
    protocol, algorithm = options.protocol, options.algorithm
    if not (marks / EVALUATION).is_file():
        if reference is None or algorithm is not None:
            what = "is not an evaluation: it needs --reference and does not take --algorithm."
            raise InputError.at(marks, what)
        truth = read_reference(reference)
        return truth, read_submission(marks, truth.cases), load_protocol(protocol or "luna16")
    if reference is not None:
        what = "is an evaluation, which has its own reference."
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
        calls: tables of calls; calls in the study itself count, too.
        reference: the test set.
        out: folder for both references, the additional nodules and the effect.
        marks: submissions to be scored before and after.
        protocol: how they are scored.
        readers: how many called each place; None: as many as the study has, else 4.
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
