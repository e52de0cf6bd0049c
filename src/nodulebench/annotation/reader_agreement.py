"""Files of several readers -> their agreement, what is unusual, and the union of their marks."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from pathlib import Path

import numpy as np
import polars as pl

from nodulebench.annotation.consistency import CaseCheck, ConsistencyRule, check_consistency
from nodulebench.annotation.reading_warnings import ReadingWarning, warn_of
from nodulebench.annotation.readings import (
    DrawnFinding,
    Reading,
    box_diameter_mm,
    check_reading,
    findings_of,
    readings_of,
    type_number,
)
from nodulebench.annotation.release import accept_all, unite
from nodulebench.core.arrays import FloatArray
from nodulebench.core.errors import (
    InputError,
    NoduleBenchError,
    Problem,
    UndefinedError,
    collect_problems,
    raise_problems,
)
from nodulebench.core.json_types import JsonObject
from nodulebench.core.notices import Notice, reason_of
from nodulebench.core.results import Estimate
from nodulebench.core.tables import CASES, NODULE_TYPES, Submission
from nodulebench.i18n.translator import in_english
from nodulebench.io.atomic import staged_folder
from nodulebench.io.formats import read_cases, read_submission
from nodulebench.io.json_files import write_json
from nodulebench.io.marks.nifdc import write_reference
from nodulebench.io.readings import write_findings
from nodulebench.io.table_files import write_table
from nodulebench.statistics.agreement import (
    bland_altman,
    class_table,
    cohen_kappa,
    concordance_correlation,
    fleiss_kappa,
    gwet_ac1,
    intraclass_correlation,
    krippendorff_alpha,
)


def detections(checks: Iterable[CaseCheck]) -> pl.DataFrame:
    rows = [
        (check.case_id, candidate.candidate_id, reader, reader in candidate.reader_ids)
        for check in checks
        for candidate in check.candidates
        for reader in check.reader_ids
    ]
    names = ("case_id", "candidate_id", "reader_id")
    schema = dict.fromkeys(names, pl.String) | {"is_drawn": pl.Boolean}
    return pl.DataFrame(rows, schema=schema, orient="row")


def positive_agreement(both: int, first_only: int, second_only: int) -> float:
    """Twice what both drew, divided by all that each drew."""
    total = 2 * both + first_only + second_only
    if not total:
        raise UndefinedError("nothing_drawn_by_two")
    return 2 * both / total


@dataclass(frozen=True, slots=True)
class PairAgreement:
    """Two readers on the cases both have read."""

    first: str
    second: str
    cases: int
    both: int
    first_only: int
    second_only: int
    agreement: float | None


def pairwise_agreement(checks: Sequence[CaseCheck]) -> list[PairAgreement]:
    readers = sorted({reader for check in checks for reader in check.reader_ids})
    pairs = []
    for first, second in combinations(readers, 2):
        common = [check for check in checks if {first, second} <= set(check.reader_ids)]
        if not common:
            continue
        drew = [
            (first in candidate.reader_ids, second in candidate.reader_ids)
            for check in common
            for candidate in check.candidates
        ]
        both, first_only, other = (
            drew.count(pattern) for pattern in ((True, True), (True, False), (False, True))
        )
        agreement = agreement_or_none(both, first_only, other)
        pairs.append(PairAgreement(first, second, len(common), both, first_only, other, agreement))
    return pairs


def agreement_or_none(both: int, first_only: int, second_only: int) -> float | None:
    try:
        return positive_agreement(both, first_only, second_only)
    except UndefinedError:
        return None


@dataclass(frozen=True, slots=True)
class GroupAgreement:
    """All readers together."""

    candidates: int
    by_readers: tuple[int, ...]
    """Candidates drawn by exactly 1, 2, ... readers."""
    unanimous: float
    mean_agreement: float


def group_agreement(checks: Sequence[CaseCheck]) -> GroupAgreement:
    """How far all readers agree; UndefinedError if nothing can be compared."""
    drawn_by = [
        (len(candidate.reader_ids), len(check.reader_ids))
        for check in checks
        for candidate in check.candidates
    ]
    if not drawn_by:
        raise UndefinedError("nothing_drawn")
    pairs = [pair.agreement for pair in pairwise_agreement(checks) if pair.agreement is not None]
    if not pairs:
        raise UndefinedError("no_case_with_two_readers")
    most = max(readers for _, readers in drawn_by)
    counts = [sum(count == number for count, _ in drawn_by) for number in range(1, most + 1)]
    unanimous = sum(count == readers for count, readers in drawn_by) / len(drawn_by)
    return GroupAgreement(len(drawn_by), tuple(counts), unanimous, float(np.mean(pairs)))


@dataclass(frozen=True, slots=True)
class ReaderSkill:
    """One reader compared with the others who read the same cases."""

    reader_id: str
    cases: int
    backed: int
    """Candidates that enough of the others drew."""
    found: int
    """How many of these the reader drew too."""
    lone: int

    @property
    def sensitivity(self) -> float | None:
        return self.found / self.backed if self.backed else None

    @property
    def lone_per_case(self) -> float:
        return self.lone / self.cases

    def to_json(self) -> JsonObject:
        rates = {"sensitivity": self.sensitivity, "lone_per_case": self.lone_per_case}
        return asdict(self) | rates


def skills(checks: Sequence[CaseCheck], *, others_needed: int = 0) -> list[ReaderSkill]:
    """Compare each reader with what ``others_needed`` others drew; 0: more than half of them."""
    readers = sorted({reader for check in checks for reader in check.reader_ids})
    reader_skills = []
    for reader in readers:
        own = [check for check in checks if reader in check.reader_ids]
        backed = hits = lone = 0
        for check in own:
            needed = others_needed or (len(check.reader_ids) - 1) // 2 + 1
            for candidate in check.candidates:
                others = len(set(candidate.reader_ids) - {reader})
                is_drawn = reader in candidate.reader_ids
                lone += is_drawn and not others
                backed += others >= needed
                hits += is_drawn and others >= needed
        reader_skills.append(ReaderSkill(reader, len(own), backed, hits, lone))
    return reader_skills


@dataclass(frozen=True, eq=False)
class ReadingComparison:
    """Several readers on the same cases."""

    cases: pl.DataFrame
    readings: list[Reading]
    checks: list[CaseCheck]
    warnings: list[ReadingWarning]

    @property
    def pairs(self) -> list[PairAgreement]:
        return pairwise_agreement(self.checks)

    @property
    def skills(self) -> list[ReaderSkill]:
        return skills(self.checks)

    def quality(self) -> JsonObject:
        return {
            "group": or_reason(lambda: asdict(group_agreement(self.checks))),
            "type_alpha": or_reason(
                lambda: krippendorff_alpha(self.by_reader(type_number)).to_json()
            ),
            "pairs": [asdict(pair) for pair in self.pairs],
            "readers": [skill.to_json() for skill in self.skills],
        }

    @property
    def reader_ids(self) -> list[str]:
        return sorted({reading.reader_id for reading in self.readings})

    def by_reader(self, number: Callable[[DrawnFinding], float]) -> FloatArray:
        """Candidates x readers: a number for each finding, NaN where a reader did not draw it."""
        numbers = {
            (reading.case_id, reading.reader_id, finding.finding_id): number(finding)
            for reading in self.readings
            for finding in reading.findings
        }
        rows = []
        for check in self.checks:
            for candidate in check.candidates:
                given = {
                    reader: numbers[check.case_id, reader, name]
                    for reader, name in candidate.findings
                }
                rows.append([given.get(reader, np.nan) for reader in self.reader_ids])
        if not rows:
            raise UndefinedError("nothing_drawn")
        return np.array(rows)

    @property
    def highlights(self) -> pl.DataFrame:
        text, whole, length = pl.String, pl.Int64, pl.Float64
        names = {"case_id": text, "slice_index": whole, "candidate_id": text, "drawn_by": text}
        names |= {"missing": text, "center_x_mm": length, "center_y_mm": length}
        rows = [
            (
                check.case_id,
                cluster.box.slice_index,
                candidate.candidate_id,
                " ".join(cluster.reader_ids),
                " ".join(sorted(set(check.reader_ids) - set(cluster.reader_ids))),
                cluster.box.center_x_mm,
                cluster.box.center_y_mm,
            )
            for check in self.checks
            for candidate in check.candidates
            for cluster in candidate.clusters
            if not cluster.is_consistent
        ]
        return pl.DataFrame(rows, schema=names, orient="row")


def or_reason(metric: Callable[[], JsonObject]) -> JsonObject:
    """The result of a metric, or null with the reason why it is undefined."""
    try:
        return metric()
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
    """Compare two or more readers, one file each, named after the reader.

    Without a table of cases, the cases are those that any file names. With ``out``, writes
    inconsistent.csv, union.csv, warnings.csv, detections.csv and quality.json. Images, named after
    their cases, are for warnings that need them.
    """
    known = None if cases is None else read_cases(cases)
    submissions = [read_submission(path, known) for path in files]
    names = [submission.name for submission in submissions]
    if len(set(names)) < max(len(names), 2):
        raise InputError.at(
            "readings", f"of {', '.join(names)}: need two or more different readers."
        )
    table = _named_cases(submissions) if known is None else known
    readings = [reading for own in submissions for reading in readings_of(own, table, own.name)]
    problems: list[Problem] = []
    for reading in readings:
        with collect_problems(problems):
            check_reading(reading, table)
    raise_problems(problems)
    comparison = ReadingComparison(
        table,
        readings,
        [
            check_consistency([reading for reading in readings if reading.case_id == case_id], rule)
            for case_id in table["case_id"]
        ],
        warn_of(readings, table, images),
    )
    if out is not None:
        _write(comparison, out)
    if findings is not None:
        write_findings(findings_of("readings", table, readings), findings)
    return comparison


def _named_cases(submissions: Sequence[Submission]) -> pl.DataFrame:
    names = pl.concat([submission.marks.select("case_id") for submission in submissions]).unique(
        maintain_order=True
    )
    if not names.height:
        raise NoduleBenchError("the readings name no case: give a table of cases.")
    return CASES.arrange(names)


def _write(comparison: ReadingComparison, out: Path) -> None:
    united = unite("union", comparison.cases, comparison.readings, accept_all(comparison.checks))
    with staged_folder(out, last="quality.json") as stage:
        write_table(comparison.highlights, stage / "inconsistent.csv")
        write_reference(united, stage / "union.csv")
        names = ("case_id", "reader_id", "finding_id", "kind", "text")
        rows = [
            (
                warning.case_id,
                warning.reader_id,
                warning.finding_id,
                warning.notice.code,
                in_english(warning.notice),
            )
            for warning in comparison.warnings
        ]
        table = pl.DataFrame(rows, schema=dict.fromkeys(names, pl.String), orient="row")
        write_table(table, stage / "warnings.csv")
        write_table(detections(comparison.checks), stage / "detections.csv")
        write_json(comparison.quality(), stage / "quality.json")


AGREEMENT, LIMITS = "agreement.json", "limits_of_agreement.csv"
ESTIMATED = ("bias", "lower", "upper")


@dataclass(frozen=True, eq=False)
class ReaderAgreement:
    """How far readers agree."""

    rows: list[JsonObject]
    """Coefficients up to 1, in the form of the report's chart: name, value, low, high."""
    limits: pl.DataFrame
    """Bland and Altman's limits, in mm, for each two readers."""


def reader_agreement(comparison: ReadingComparison) -> ReaderAgreement:
    kinds, sizes = comparison.by_reader(type_number), comparison.by_reader(box_diameter_mm)
    readers = {name: column for column, name in enumerate(comparison.reader_ids)}
    everyone = f"{len(readers)} readers"
    rows = [
        {"name": f"drawn: {pair.first}, {pair.second}", "value": pair.agreement}
        | {"method": Notice("positive_agreement").to_json()}
        for pair in comparison.pairs
    ]
    rows += [
        _row(f"type: {first}, {second}", _kappa, *pair)
        for first, second, pair in _pairs(kinds, readers)
    ]
    rows += [
        _row(f"type: {everyone}, {name}", coefficient, kinds)
        for name, coefficient in (
            ("Fleiss", fleiss_kappa),
            ("Gwet", gwet_ac1),
            ("Krippendorff", krippendorff_alpha),
        )
    ]
    rows += [
        _row(f"diameter: {first}, {second}", concordance_correlation, *pair)
        for first, second, pair in _pairs(sizes, readers)
    ]
    of_all = sizes[np.isfinite(sizes).all(axis=1)]
    rows.append(_row(f"diameter: {everyone}", intraclass_correlation, of_all))
    return ReaderAgreement(rows, _limits(sizes, readers))


def write_agreement(agreement: ReaderAgreement, folder: Path) -> None:
    with staged_folder(folder, last=AGREEMENT) as stage:
        write_table(agreement.limits, stage / LIMITS)
        write_json(agreement.rows, stage / AGREEMENT)


def _kappa(first: FloatArray, second: FloatArray) -> Estimate:
    return cohen_kappa(class_table(first, second, len(NODULE_TYPES)))


def _pairs(
    numbers: FloatArray, readers: dict[str, int]
) -> Iterator[tuple[str, str, tuple[FloatArray, FloatArray]]]:
    for first, second in combinations(readers, 2):
        pair = numbers[:, [readers[first], readers[second]]]
        both = pair[np.isfinite(pair).all(axis=1)]
        yield first, second, (both[:, 0], both[:, 1])


def _limits(sizes: FloatArray, readers: dict[str, int]) -> pl.DataFrame:
    rows = []
    for first, second, pair in _pairs(sizes, readers):
        row: JsonObject = {"first": first, "second": second, "nodules": len(pair[0])}
        try:
            limits = bland_altman(*pair)
        except UndefinedError:
            rows.append(row)
            continue
        row["sd_mm"] = limits.standard_deviation
        for name in ESTIMATED:
            estimate: Estimate = getattr(limits, name)
            row |= {
                f"{name}_mm": estimate.value,
                f"{name}_low_mm": estimate.low,
                f"{name}_high_mm": estimate.high,
            }
        rows.append(row)
    names = ["sd_mm", *(f"{of}{end}_mm" for of in ESTIMATED for end in ("", "_low", "_high"))]
    return pl.DataFrame(
        rows,
        schema={"first": pl.String, "second": pl.String, "nodules": pl.Int64}
        | dict.fromkeys(names, pl.Float64),
    )


def _row(name: str, coefficient: Callable[..., Estimate], *given: FloatArray) -> JsonObject:
    return {"name": name, **or_reason(lambda: coefficient(*given).to_json())}
