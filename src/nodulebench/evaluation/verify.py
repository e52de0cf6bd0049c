"""Folder of an evaluation -> differences when every number is recomputed; digests; signature."""

import json
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import polars as pl

from nodulebench.core.documents.comparison import ComparisonDocument
from nodulebench.core.documents.evaluation import evaluation_document
from nodulebench.core.documents.records import AlgorithmSummary, as_json
from nodulebench.core.errors import InputError, NoduleBenchError, Problem, raise_problems
from nodulebench.core.notices import is_notice
from nodulebench.core.tables import Reference, Submission
from nodulebench.evaluation.evaluate import evaluate
from nodulebench.evaluation.plans import evaluated_under, read_plan
from nodulebench.evaluation.recompute import Evaluated, declared_threshold, load_evaluated
from nodulebench.evaluation.result_folder import (
    COMPARISON,
    ERROR_TABLES,
    EVALUATION,
    PLAN,
    result_tables,
)
from nodulebench.evaluation.service import EvaluateOptions, keep_to_candidates, read_files
from nodulebench.i18n.translator import in_english
from nodulebench.io.json_files import read_json
from nodulebench.io.manifests import MANIFEST, SIGNATURE, listed_files, manifest_problems
from nodulebench.io.table_files import read_parquet, read_table
from nodulebench.security.signatures import Signature, check_signature

RELATIVE, ABSOLUTE = 1e-9, 1e-12
"""Tolerances within which numbers are equal: processors may round the last digits differently."""

MOST_ROWS = 5
"""The number of rows of a table that are named; the others are counted."""

_NAME = re.compile(r"\w[\w.-]*")


class _Nothing:
    """Represents a missing value."""

    def __repr__(self) -> str:
        return "nothing"


NOTHING = _Nothing()


@dataclass(frozen=True, slots=True)
class Difference:
    """A place where the written and the recomputed value differ."""

    file: str
    where: str
    written: object = NOTHING
    recomputed: object = NOTHING

    def __str__(self) -> str:
        if self.written is NOTHING and self.recomputed is NOTHING:
            return f"{self.file} {self.where}"
        values = f"written {_shown(self.written)}, recomputed {_shown(self.recomputed)}"
        return f"{self.file} {self.where}: {values}"


def count_values(value: object) -> int:
    if isinstance(value, dict):
        return sum(map(count_values, value.values()))
    return sum(map(count_values, value)) if isinstance(value, list) else 1


def document_differences(
    written: object, recomputed: object, file: str, where: str = ""
) -> Iterator[Difference]:
    """Where two JSON values differ; the order of keys does not matter."""
    if isinstance(written, dict) and isinstance(recomputed, dict):
        for key in dict.fromkeys((*written, *recomputed)):
            path = _below(where, key)
            yield from document_differences(
                written.get(key, NOTHING), recomputed.get(key, NOTHING), file, path
            )
    elif isinstance(written, list) and isinstance(recomputed, list):
        for index, value, other in _pairs(written, recomputed):
            yield from document_differences(value, other, file, f"{where}[{index}]")
    elif not _is_same(written, recomputed):
        yield Difference(file, where, written, recomputed)


def _pairs(written: list[object], recomputed: list[object]) -> Iterator[tuple[int, object, object]]:
    indices, others = list(range(len(written))), recomputed
    if all(map(is_notice, (*written, *recomputed))):
        indices = [index for index in indices if written[index] not in recomputed]
        others = [other for other in recomputed if other not in written]
    further = range(len(written), len(written) + len(others) - len(indices))
    for number, index in enumerate((*indices, *further)):
        value = written[index] if index < len(written) else NOTHING
        yield index, value, others[number] if number < len(others) else NOTHING


def table_differences(
    written: pl.DataFrame, recomputed: pl.DataFrame, file: str
) -> Iterator[Difference]:
    if written.columns != recomputed.columns:
        yield Difference(file, "columns", written.columns, recomputed.columns)
        return
    if written.height != recomputed.height:
        yield Difference(file, "number of rows", written.height, recomputed.height)
        return
    is_other = pl.Series([False]).new_from_index(0, written.height)
    for column in written.columns:
        is_other |= _is_other(written[column], recomputed[column])
    rows = is_other.arg_true()
    for row in rows.head(MOST_ROWS):
        pairs = zip(written.row(row), recomputed.row(row), strict=True)
        for name, (value, other) in zip(written.columns, pairs, strict=True):
            if not _is_same(value, other):
                yield Difference(file, f"row {row} {name}", value, other)
    if len(rows) > MOST_ROWS:
        yield Difference(file, f"{len(rows) - MOST_ROWS} more rows differ")


def _is_other(written: pl.Series, recomputed: pl.Series) -> pl.Series:
    """For each row whether two columns differ; NaN equals NaN, and null equals null."""
    if not (written.dtype.is_float() and recomputed.dtype.is_float()):
        return written.cast(pl.String).ne_missing(recomputed.cast(pl.String))
    tolerance = pl.max_horizontal(written.abs() * RELATIVE, recomputed.abs() * RELATIVE, ABSOLUTE)
    is_near = pl.select((written - recomputed).abs() <= tolerance).to_series()
    # NaN would be near everything, and infinity far from itself
    is_near &= written.is_finite() & recomputed.is_finite()
    return ~is_near.fill_null(False) & written.ne_missing(recomputed)


def _is_same(written: object, recomputed: object) -> bool:
    if isinstance(written, bool) or isinstance(recomputed, bool):
        return written is recomputed
    if isinstance(written, int) and isinstance(recomputed, int):
        return written == recomputed
    if isinstance(written, int | float) and isinstance(recomputed, int | float):
        both_nan = math.isnan(written) and math.isnan(recomputed)
        return both_nan or math.isclose(written, recomputed, rel_tol=RELATIVE, abs_tol=ABSOLUTE)
    return type(written) is type(recomputed) and bool(written == recomputed)


def _below(where: str, key: str) -> str:
    if not _NAME.fullmatch(key):
        return f"{where}[{json.dumps(key, ensure_ascii=False)}]"
    return f"{where}.{key}" if where else key


def _shown(value: object) -> str:
    value = in_english(value) if is_notice(value) else value
    text = repr(value) if value is NOTHING else json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 120 else f"{text[:117]}..."


@dataclass(frozen=True, slots=True)
class Originals:
    """The files from which an evaluation was made."""

    reference: Path
    marks: tuple[Path, ...]
    series: Path | None = None
    cases: Path | None = None
    candidates: Path | None = None
    columns: str | None = None
    nodules: Path | None = None


@dataclass(frozen=True, slots=True)
class Recomputed:
    """How much was recomputed, and the differences."""

    values: int = 0
    rows: int = 0
    differences: tuple[Difference, ...] = ()


@dataclass(frozen=True, slots=True)
class Verification:
    """The verification of a folder, with every problem and difference."""

    files: int
    is_signed: bool
    signature: Signature | None
    problems: tuple[Problem, ...]
    """Files that differ from the manifest or cannot be read, and an invalid signature."""
    version: str = ""
    from_folder: Recomputed | None = None
    """Recomputed from the folder only; None: that was not possible."""
    from_originals: Recomputed | None = None
    """Recomputed from the original files; None: they were not given or could not be used."""

    @property
    def differences(self) -> list[Difference]:
        parts = [part for part in (self.from_folder, self.from_originals) if part is not None]
        distinct = {
            str(difference): difference for part in parts for difference in part.differences
        }
        return list(distinct.values())

    @property
    def is_good(self) -> bool:
        return not self.problems and not self.differences


def verify_folder(
    folder: Path,
    *,
    public_key: Path | None = None,
    originals: Originals | None = None,
    is_recomputed: bool = True,
) -> Verification:
    """Check files and signature, and recompute numbers where it is an evaluation.

    ``originals`` are the files from which the evaluation was made: the numbers are then recomputed
    from them, too.
    """
    if not folder.is_dir():
        raise InputError.at(str(folder), "is not a folder.")
    problems = manifest_problems(folder)
    signature: Signature | None = None
    evaluated: Evaluated | None = None
    from_folder: Recomputed | None = None
    from_originals: Recomputed | None = None
    has_manifest = (folder / MANIFEST).is_file()
    try:
        signature = check_signature(folder, public_key) if has_manifest else None
    except InputError as error:
        problems.extend(problem for problem in error.problems if problem not in problems)
    is_wanted = originals is not None or not has_manifest
    try:
        if is_recomputed and (is_wanted or (folder / EVALUATION).is_file()):
            evaluated = load_evaluated(folder)
            from_folder = _recompute_folder(evaluated)
            if originals is not None and from_folder.values:
                from_originals = verify_numbers(evaluated, *_read_originals(originals, evaluated))
    except InputError as error:
        problems.extend(error.problems)
    except NoduleBenchError as error:
        problems.append(Problem(str(folder / EVALUATION), str(error)))
    return Verification(
        files=len(listed_files(folder)),
        is_signed=(folder / SIGNATURE).exists(),
        signature=signature,
        problems=tuple(problems),
        version="" if evaluated is None else evaluated.document.version,
        from_folder=from_folder,
        from_originals=from_originals,
    )


def _recompute_folder(evaluated: Evaluated) -> Recomputed:
    """Recompute from the tables in the folder, if they have the written digests.

    From other tables nothing is recomputed: the reason of the differences is already known, and
    tables that were tampered with may hold anything.
    """
    changed = tuple(
        Difference(EVALUATION, f"digests.{name}", written, digest)
        for name, (written, digest) in evaluated.changed_digests.items()
    )
    if changed:
        return Recomputed(differences=changed)
    comparisons = _recompute_comparisons(evaluated)
    return verify_numbers(
        evaluated,
        evaluated.reference,
        [  # notices from reading the original files are only written
            replace(evaluated.submissions[algorithm.name], notices=algorithm.notices)
            for algorithm in evaluated.document.algorithms
        ],
        comparisons,
    )


def verify_numbers(
    evaluated: Evaluated,
    reference: Reference,
    submissions: list[Submission],
    comparisons: tuple[ComparisonDocument, ...] | None = None,
) -> Recomputed:
    """Evaluate again under the written protocol, in the written order, and compare."""
    document = evaluated.document
    evaluation = evaluate(reference, submissions, evaluated.protocol)
    if document.plan is not None:
        plan = read_plan(evaluated.folder / PLAN)
        evaluation = evaluated_under(plan, evaluation)
    again = evaluation_document(evaluation)
    again = replace(
        again,
        version=document.version,
        comparisons=document.comparisons if comparisons is None else comparisons,
    )
    written = read_json(evaluated.folder / EVALUATION)
    tables = result_tables(evaluation)
    return Recomputed(
        values=count_values(written),
        rows=sum(table.height for table in tables.values()),
        differences=(
            *document_differences(written, again.to_json(), EVALUATION),
            *tables_differences(evaluated.folder, tables),
            *comparison_differences(evaluated.folder, again.comparisons),
        ),
    )


def _recompute_comparisons(evaluated: Evaluated) -> tuple[ComparisonDocument, ...]:
    written = evaluated.document.comparisons
    if not written:
        return ()
    from nodulebench.evaluation.comparison.service import recompute_comparisons

    again = recompute_comparisons(evaluated)
    return tuple(
        replace(comparison, version=old.version)
        for comparison, old in zip(again, written, strict=True)
    )


def comparison_differences(
    folder: Path, comparisons: tuple[ComparisonDocument, ...]
) -> Iterator[Difference]:
    path = folder / COMPARISON
    if not path.is_file():
        return
    written = read_json(path)
    baseline = written.get("baseline") if isinstance(written, dict) else None
    same = [as_json(comparison) for comparison in comparisons if comparison.baseline == baseline]
    yield from document_differences(written, same[0] if same else NOTHING, COMPARISON)


def tables_differences(folder: Path, tables: dict[str, pl.DataFrame]) -> Iterator[Difference]:
    for name, table in tables.items():
        written = (
            read_table(folder / name, ERROR_TABLES[name])
            if name in ERROR_TABLES
            else read_parquet(folder / name)
        )
        yield from table_differences(written, table, name)


def _read_originals(
    originals: Originals, evaluated: Evaluated
) -> tuple[Reference, list[Submission]]:
    reference, given = read_files(EvaluateOptions(**asdict(originals)))
    if originals.candidates is not None:
        given = keep_to_candidates(given, originals.candidates, reference)
    return (
        replace(reference, name=evaluated.reference.name),
        _in_written_order(given, evaluated.document.algorithms),
    )


def _in_written_order(
    given: list[Submission], algorithms: Sequence[AlgorithmSummary]
) -> list[Submission]:
    ordered: list[Submission] = []
    problems: list[Problem] = []
    left = list(given)
    for algorithm in algorithms:
        same = [other for other in left if other.digest == algorithm.digest]
        same += [other for other in left if other.name == algorithm.name]
        if same:
            left.remove(same[0])
            ordered.append(
                replace(same[0], name=algorithm.name, threshold=declared_threshold(algorithm))
            )
        else:
            where = f"algorithm '{algorithm.name}'"
            problems.append(Problem(where, "was evaluated, but its marks were not given."))
    problems.extend(
        Problem(f"submission '{submission.name}'", "is none of the evaluated algorithms.")
        for submission in left
    )
    raise_problems(problems)
    return ordered
