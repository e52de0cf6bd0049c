"""False positives that may be nodules without annotation -> readings -> additional nodules.

As in LUNA16 (Setio et al., Medical Image Analysis 2017): take an algorithm's false positives at a
chosen rate, leave out the obvious ones, those on lesions annotated before and those read before,
have four readers classify the rest independently, and add those that enough of them call a nodule.
Both references, before and after, are written, and an algorithm is scored under each.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import polars as pl

from nodulebench.annotation.observer_selection import (
    ADDITIONAL,
    REUSED,
    REUSED_CALLS,
    require_known_cases,
)
from nodulebench.annotation.observer_study import (
    CALLS,
    READER_CALLS,
    SMALLEST_MM,
    STUDY,
    SUSPECTS,
    TO_READ,
    call_flaw,
    calls_table,
    open_study,
    status_of,
)
from nodulebench.core.errors import InputError, Problem, raise_problems
from nodulebench.core.notices import Notice
from nodulebench.core.protocol import TestProtocol, load_protocol
from nodulebench.core.results import Estimate
from nodulebench.core.tables import NODULES, Reference, Submission
from nodulebench.evaluation.evaluate import evaluate
from nodulebench.evaluation.service import with_options
from nodulebench.io.atomic import staged_folder
from nodulebench.io.bundle import write_reference
from nodulebench.io.formats import read_reference, read_submission
from nodulebench.io.json_files import write_json
from nodulebench.io.table_files import read_table, write_table


def check_calls(suspects: pl.DataFrame, calls: pl.DataFrame, *, readers: int = 4) -> None:
    """Refuse calls of unknown marks, by another number of readers, or with wrong diameters."""
    require_known_cases(calls, suspects, "readings")
    counts = suspects.select("case_id", "mark_id").join(
        calls.group_by("case_id", "mark_id").len(),
        on=["case_id", "mark_id"],
        how="left",
        maintain_order="left",
    )
    problems = [
        Problem(
            f"case '{case_id}' mark '{mark_id}'",
            f"has calls of {count} readers, not {readers}.",
            "Every mark needs the same number of independent readings.",
        )
        for case_id, mark_id, count in counts.with_columns(pl.col("len").fill_null(0)).rows()
        if count != readers
    ]
    for case_id, mark_id, reader, call, diameter in calls.rows():
        flaw = call_flaw(call, diameter)
        if flaw:
            problems.append(
                Problem(
                    f"case '{case_id}' mark '{mark_id}' reader '{reader}'",
                    f"is called '{call}' and {flaw}.",
                    f"A nodule measures at least {SMALLEST_MM:g} mm, a small nodule less.",
                )
            )
    raise_problems(problems)


@dataclass(frozen=True, eq=False)
class Conclusion:
    """What the readers called the false positives."""

    verdicts: pl.DataFrame
    """For each suspect how many readers called it what, and the mean diameter of those who called
    it a nodule."""
    levels: pl.DataFrame
    """agreement, at_least, exactly: nodules by how many readers called them one."""
    small: int
    """Never called a nodule of 3 mm, but a smaller one at least once."""
    rejected: int
    """Called a false positive by every reader."""
    before: Reference
    after: Reference
    added: int

    @property
    def additional(self) -> pl.DataFrame:
        names = ("case_id", "nodule_id", "x_mm", "y_mm", "z_mm", "diameter_mm", "agreement")
        known = self.before.nodules.select("case_id", "nodule_id")
        new = self.after.nodules.join(known, on=["case_id", "nodule_id"], how="anti")
        return new.filter(~pl.col("is_ignored")).select(names)


def conclude(
    reference: Reference,
    suspects: pl.DataFrame,
    calls: pl.DataFrame,
    *,
    readers: int = 4,
    minimum_agreement: int = 3,
    ignores_others: bool = True,
) -> Conclusion:
    """Add what enough readers call a nodule; the result has both versions of the reference.

    With ``ignores_others``, what fewer readers call a nodule, or a small one, is ignored from now
    on; else it stays a false positive.
    """
    if minimum_agreement > readers:
        what = f"{minimum_agreement} of {readers} readers cannot agree."
        raise InputError.at("agreement", what, "Ask for at most as many as there are.")
    check_calls(suspects, calls, readers=readers)
    is_nodule = pl.col("call") == "nodule"
    counted = calls.group_by("case_id", "mark_id").agg(
        *((pl.col("call") == name).sum().cast(pl.Int64).alias(name) for name in CALLS),
        pl.col("diameter_mm").filter(is_nodule).mean(),
    )
    verdicts = suspects.join(counted, on=["case_id", "mark_id"], how="left", maintain_order="left")
    agreement = verdicts["nodule"].to_numpy()
    is_small = (verdicts["small_nodule"].to_numpy() > 0) & (agreement == 0)
    level = np.arange(1, readers + 1)
    added = verdicts.filter(pl.col("nodule") >= minimum_agreement)
    is_other = (pl.col("nodule") < minimum_agreement) & (
        (pl.col("nodule") > 0) | (pl.col("small_nodule") > 0)
    )
    others = verdicts.filter(is_other) if ignores_others else verdicts.clear()
    return Conclusion(
        verdicts=verdicts,
        levels=pl.DataFrame(
            {
                "agreement": level,
                "at_least": (agreement >= level[:, None]).sum(axis=1),
                "exactly": (agreement == level[:, None]).sum(axis=1),
            }
        ),
        small=int(is_small.sum()),
        rejected=int(((agreement == 0) & ~is_small).sum()),
        before=reference,
        after=_with_additions(reference, added, others),
        added=added.height,
    )


def _with_additions(reference: Reference, added: pl.DataFrame, others: pl.DataFrame) -> Reference:
    extra = [
        table.select(
            "case_id",
            "x_mm",
            "y_mm",
            "z_mm",
            "diameter_mm",
            nodule_id=pl.lit(f"{name}-") + pl.col("mark_id"),
            is_ignored=pl.lit(name == "observer-ignored"),
            agreement=pl.col("nodule"),
            size_definition=pl.lit("mean of readers"),
        )
        for name, table in (("observer", added), ("observer-ignored", others))
    ]
    nodules = pl.concat(
        [reference.nodules, *(NODULES.arrange(table) for table in extra)], how="diagonal"
    )
    notice = Notice("nodules_added", {"added": added.height, "ignored": others.height})
    return replace(
        reference,
        name=f"{reference.name}+observer",
        nodules=NODULES.conform(nodules, f"{reference.name}+observer"),
        notices=(*reference.notices, notice),
    )


def effect(
    conclusion: Conclusion, submissions: Sequence[Submission], protocol: TestProtocol
) -> pl.DataFrame:
    rows = []
    sides = [
        evaluate(version, submissions, protocol)
        for version in (conclusion.before, conclusion.after)
    ]
    rule = protocol.rules[0].name
    for algorithm, two in zip(sides[0].algorithms, sides[1].algorithms, strict=True):
        for name, first in _values(algorithm.rules[rule].metrics):
            second = dict(_values(two.rules[rule].metrics))[name]
            rows.append((algorithm.name, name, first, second))
    names = {"algorithm": pl.String, "metric": pl.String, "before": pl.Float64, "after": pl.Float64}
    return pl.DataFrame(rows, schema=names, orient="row")


def _values(
    metrics: Mapping[str, Estimate | dict[str, Estimate]],
) -> Iterator[tuple[str, float | None]]:
    for name, metric in metrics.items():
        if isinstance(metric, Estimate):
            yield name, metric.value
        else:
            yield from ((f"{name} {point}", estimate.value) for point, estimate in metric.items())


USUAL_READERS = 4
"""Who called each place in LUNA16's study."""


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

    Calls in the study itself count, too. By default each place was called by as many ``readers`` as
    the study has, else by 4. The submissions ``marks`` are scored before and after.
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
