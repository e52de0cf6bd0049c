"""Files of several readers -> where they agree, what is unusual, and the union of their marks."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from nodulebench.annotation.readings.consistency import CaseCheck, check_consistency
from nodulebench.annotation.readings.consistency import ConsistencyRule as ConsistencyRule
from nodulebench.annotation.readings.findings import findings_of
from nodulebench.annotation.readings.quality import (
    PairAgreement,
    ReaderSkill,
    detections,
    group_agreement,
    pairwise_agreement,
    skills,
)
from nodulebench.annotation.readings.reading import (
    DrawnFinding,
    Reading,
    check_reading,
    readings_of,
    type_number,
)
from nodulebench.annotation.readings.reading_warnings import warn_of
from nodulebench.annotation.readings.warnings import ReadingWarning
from nodulebench.annotation.unite_readings import accept_all, unite
from nodulebench.core.arrays import FloatArray
from nodulebench.core.errors import (
    InputError,
    NoduleBenchError,
    Problem,
    UndefinedError,
    adding_to,
    refuse_any,
)
from nodulebench.core.notices import reason_of
from nodulebench.core.tables import CASES, Submission
from nodulebench.i18n.translator import english
from nodulebench.io.atomic import staged_folder
from nodulebench.io.findings_tables import write_findings
from nodulebench.io.formats import read_cases, read_submission
from nodulebench.io.json_files import write_json
from nodulebench.io.marks.nifdc import write_reference
from nodulebench.io.table_files import write_table
from nodulebench.statistics.agreement import krippendorff_alpha


@dataclass(frozen=True, eq=False)
class ReadingComparison:
    """Several readers on the same cases."""

    cases: pl.DataFrame
    readings: list[Reading]
    checks: list[CaseCheck]
    warnings: list[ReadingWarning]

    @property
    def pairs(self) -> list[PairAgreement]:
        """Every two readers."""
        return pairwise_agreement(self.checks)

    @property
    def skills(self) -> list[ReaderSkill]:
        """Each reader against the others."""
        return skills(self.checks)

    def quality(self) -> dict[str, Any]:
        """Agreement as numbers; what is undefined is null with the reason."""
        return {
            "group": or_reason(lambda: asdict(group_agreement(self.checks))),
            "type_alpha": or_reason(
                lambda: krippendorff_alpha(self.by_reader(type_number)).to_json()
            ),
            "pairs": [asdict(one) for one in self.pairs],
            "readers": [
                asdict(one) | {"sensitivity": one.sensitivity, "lone_per_case": one.lone_per_case}
                for one in self.skills
            ],
        }

    @property
    def reader_ids(self) -> list[str]:
        """All readers, in order."""
        return sorted({one.reader_id for one in self.readings})

    def by_reader(self, number: Callable[[DrawnFinding], float]) -> FloatArray:
        """Candidates x readers: a number of what each drew, NaN where a reader did not draw it.

        Raises:
            UndefinedError: if nobody drew anything.
        """
        said = {
            (reading.case_id, reading.reader_id, finding.finding_id): number(finding)
            for reading in self.readings
            for finding in reading.findings
        }
        rows = []
        for check in self.checks:
            for one in check.candidates:
                given = {reader: said[check.case_id, reader, name] for reader, name in one.findings}
                rows.append([given.get(reader, np.nan) for reader in self.reader_ids])
        if not rows:
            raise UndefinedError("nothing_drawn")
        return np.array(rows)

    @property
    def highlights(self) -> pl.DataFrame:
        """One row per slice and candidate on which readers are missing."""
        text, whole, length = pl.String, pl.Int64, pl.Float64
        names = {"case_id": text, "slice_index": whole, "candidate_id": text, "drawn_by": text}
        names |= {"missing": text, "center_x_mm": length, "center_y_mm": length}
        rows = [
            (
                check.case_id,
                cluster.box.slice_index,
                one.candidate_id,
                " ".join(cluster.reader_ids),
                " ".join(sorted(set(check.reader_ids) - set(cluster.reader_ids))),
                cluster.box.center_x_mm,
                cluster.box.center_y_mm,
            )
            for check in self.checks
            for one in check.candidates
            for cluster in one.clusters
            if not cluster.is_consistent
        ]
        return pl.DataFrame(rows, schema=names, orient="row")


def or_reason(figure: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """What a figure gives, or null with the reason why it is undefined."""
    try:
        return figure()
    except UndefinedError as error:
        return {"value": None, "reason": reason_of(error).to_json()}


_RULE = ConsistencyRule()


def compare_readings(
    files: Sequence[Path],
    *,
    cases: Path | None = None,
    rule: ConsistencyRule = _RULE,
    images: Path | None = None,
    out: Path | None = None,
    findings: Path | None = None,
) -> ReadingComparison:
    """Compare readers, one file each, named after the reader.

    Without a table of cases, the cases are those that any file names. With ``out``, writes
    inconsistent.csv, union.csv, warnings.csv, detections.csv and quality.json.

    Args:
        files: one per reader.
        cases: table of cases.
        rule: when boxes are taken for the same thing.
        images: folder of images, named after their cases: for warnings that need them.
        out: folder for the files.
        findings: folder for what each reader drew, as tables.

    Raises:
        InputError: if there are fewer than two readers, or with the problems of their files.
    """
    known = None if cases is None else read_cases(cases)
    said = [read_submission(path, known) for path in files]
    names = [one.name for one in said]
    if len(set(names)) < max(len(names), 2):
        raise InputError.at(
            "readings", f"of {', '.join(names)}: need two or more different readers."
        )
    table = _named_cases(said) if known is None else known
    readings = [one for own in said for one in readings_of(own, table, own.name)]
    problems: list[Problem] = []
    for one in readings:
        with adding_to(problems):
            check_reading(one, table)
    refuse_any(problems)
    found = ReadingComparison(
        table,
        readings,
        [
            check_consistency([one for one in readings if one.case_id == case_id], rule)
            for case_id in table["case_id"]
        ],
        warn_of(readings, table, images),
    )
    if out is not None:
        _write(found, out)
    if findings is not None:
        write_findings(findings_of("readings", table, readings), findings)
    return found


def _named_cases(said: Sequence[Submission]) -> pl.DataFrame:
    names = pl.concat([one.marks.select("case_id") for one in said]).unique(maintain_order=True)
    if not names.height:
        raise NoduleBenchError("the readings name no case: give a table of cases.")
    return CASES.arrange(names)


def _write(found: ReadingComparison, out: Path) -> None:
    united = unite("union", found.cases, found.readings, accept_all(found.checks))
    with staged_folder(out, last="quality.json") as stage:
        write_table(found.highlights, stage / "inconsistent.csv")
        write_reference(united, stage / "union.csv")
        names = ("case_id", "reader_id", "finding_id", "kind", "text")
        told = [
            (one.case_id, one.reader_id, one.finding_id, one.notice.code, english(one.notice))
            for one in found.warnings
        ]
        table = pl.DataFrame(told, schema=dict.fromkeys(names, pl.String), orient="row")
        write_table(table, stage / "warnings.csv")
        write_table(detections(found.checks), stage / "detections.csv")
        write_json(found.quality(), stage / "quality.json")
