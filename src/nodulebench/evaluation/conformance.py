"""Golden edge cases x a scorer -> which cases it passes. For this scorer or any other command."""

import json
import math
import shlex
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

import polars as pl

from nodulebench.core.errors import NoduleBenchError, UnknownNameError, did_you_mean
from nodulebench.core.json_types import JsonObject
from nodulebench.core.protocol import (
    IntervalChoice,
    RuleChoice,
    SizeLimit,
    TestProtocol,
    load_protocol,
)
from nodulebench.core.results import Estimate, RuleResult
from nodulebench.core.tables import (
    CASES,
    MARK_SLICES,
    MARKS,
    NODULE_SLICES,
    NODULES,
    Reference,
    Submission,
)
from nodulebench.evaluation.evaluate import evaluate
from nodulebench.evaluation.service import with_options
from nodulebench.io.atomic import staged_folder
from nodulebench.io.marks import luna16 as luna16_csv

KITS = ("luna16", "slices", "sizes")
"""Kits of golden cases: points, boxes, sizes. Other scorers are tested with the first only."""
ANSWERS = ("teaches", "expected", "exact")
"""Facts about a point case in addition to its files; ``exact`` if the official program rounds."""


def golden_cases(kit: str) -> list[JsonObject]:
    """The cases of one kit: ``luna16`` (points), ``slices`` (boxes) or ``sizes``."""
    text = files(__package__).joinpath("golden", f"{kit}.json").read_text(encoding="utf-8")
    cases: list[JsonObject] = json.loads(text)
    return cases


def write_point_case(case: JsonObject, folder: Path) -> list[Path]:
    header = "seriesuid,coordX,coordY,coordZ,"
    contents = {
        "annotations.csv": _csv(header + "diameter_mm", case["nodules"]),
        "annotations_excluded.csv": _csv(header + "diameter_mm", case["ignored"]),
        "seriesuids.csv": "".join(f"{name}\n" for name in case["series"]),
        "submission.csv": case.get("text") or _csv(header + "probability", case.get("marks", [])),
    }
    for name, content in contents.items():
        (folder / name).write_bytes(content.encode())
    return [folder / name for name in contents]


def _csv(header: str, rows: list[list[object]]) -> str:
    return "\n".join([header, *(",".join(str(value) for value in row) for row in rows), ""])


def export_cases(out: Path) -> int:
    """Write every golden case as files, to test a scorer without this program; return how many.

    A point case is a folder with the four input files of a scorer and ``expected.json``. Cases of
    boxes and sizes are a JSON file each, with their input and the expected result.
    """
    chosen = {kit: golden_cases(kit) for kit in KITS}
    with staged_folder(out, is_new=True) as stage:
        for kit, cases in chosen.items():
            for case in cases:
                path, content = stage / kit / f"{case['name']}.json", case
                if kit == "luna16":
                    path = stage / kit / case["name"] / "expected.json"
                    content = {key: case[key] for key in ANSWERS if key in case}
                path.parent.mkdir(parents=True, exist_ok=True)
                if kit == "luna16":
                    write_point_case(case, path.parent)
                text = json.dumps(content, indent=1, ensure_ascii=False)
                path.write_text(f"{text}\n", encoding="utf-8")
    return sum(map(len, chosen.values()))


TOLERANCE = 1e-9
SECONDS_PER_CASE = 120
OFFICIAL_NAMES = {
    "True positives": "hit",
    "False negatives": "missed",
    "False positives": "false_positive",
    "Ignored candidates which were double detections on a nodule": "duplicate",
    "Ignored candidates on excluded nodules": "ignored",
}
NEEDED_COUNTS = ("hit", "missed", "false_positive")
"""Counts that every scorer must give; the others are compared if it gives them."""
RATES = ("0.125", "0.25", "0.5", "1", "2", "4", "8")


@dataclass(frozen=True, slots=True)
class GoldenOutcome:
    """The outcome of one golden case."""

    kit: str
    case: str
    teaches: str
    is_passed: bool
    detail: str


@dataclass(frozen=True, slots=True)
class Score:
    """A scorer's result for one point case: counts, seven sensitivities, CPM (None: NaN)."""

    counts: dict[str, int]
    sensitivity: list[float | None]
    cpm: float | None


ScoreCase = Callable[[list[Path], Path], Score]
"""The four input files of a point case and a folder for the answer -> the scorer's result."""


def run_conformance(
    scorer: str | None = None, cases: Sequence[str] = ()
) -> Iterator[GoldenOutcome]:
    """Run every golden case, or the named ones; another scorer is run on point cases only.

    The command is called as ``COMMAND annotations excluded seriesuids submission OUTDIR`` and
    writes ``OUTDIR/result.json`` with ``counts``, ``sensitivity`` (seven numbers) and ``cpm``.

    Raises:
        UnknownNameError: if this scorer has no case of that name.
    """
    kits = KITS if scorer is None else KITS[:1]
    chosen = {kit: golden_cases(kit) for kit in kits}
    known = [case["name"] for of_kit in chosen.values() for case in of_kit]
    for name in cases:
        if name not in known:
            hint = did_you_mean(name, known)
            raise UnknownNameError(f"there is no golden case '{name}'.{hint}")
    ask = _score_here if scorer is None else _scorer(scorer)
    for kit, of_kit in chosen.items():
        for case in of_kit:
            if not cases or case["name"] in cases:
                yield from _scored(kit, case, ask)


def _scored(kit: str, case: JsonObject, ask: ScoreCase) -> Iterator[GoldenOutcome]:
    if kit == "slices":
        yield from _score_slices(case)
    elif kit == "sizes":
        yield _score_sizes(case)
    else:
        with tempfile.TemporaryDirectory() as folder:
            yield _score_points(case, ask, Path(folder))


def _score_points(case: JsonObject, ask: ScoreCase, folder: Path) -> GoldenOutcome:
    def outcome(is_passed: bool, detail: str) -> GoldenOutcome:
        return GoldenOutcome("luna16", case["name"], case["teaches"], is_passed, detail)

    inputs = write_point_case(case, folder)
    result_folder = folder / "result"
    result_folder.mkdir()
    try:
        score = ask(inputs, result_folder)
    except (NoduleBenchError, _ScorerError) as error:
        return outcome(False, str(error).splitlines()[0])
    wanted = case["expected"]
    wrong_counts = [
        f"{name} {score.counts.get(name)} instead of {count}"
        for name, count in wanted["counts"].items()
        if score.counts.get(name, None if name in NEEDED_COUNTS else count) != count
    ]
    if wrong_counts:
        return outcome(False, "; ".join(wrong_counts))
    if _is_equal(score, wanted):
        return outcome(True, "")
    if "exact" in case and _is_equal(score, case["exact"]):
        return outcome(True, "by exact counts; the official program differs")
    return outcome(False, f"CPM {_shown(score.cpm)} instead of {_shown(wanted['cpm'])}")


def _is_equal(score: Score, wanted: JsonObject) -> bool:
    pairs = zip(
        [*score.sensitivity, score.cpm], [*wanted["sensitivity"], wanted["cpm"]], strict=False
    )
    return len(score.sensitivity) == len(RATES) and all(
        (ours is None and theirs is None)
        or (ours is not None and theirs is not None and abs(ours - theirs) <= TOLERANCE)
        for ours, theirs in pairs
    )


def _shown(value: float | None) -> str:
    return "undefined" if value is None else f"{value:.6f}"


def _score_here(inputs: list[Path], result_folder: Path) -> Score:  # noqa: ARG001
    reference = luna16_csv.read_reference(inputs[0].parent)
    submission = luna16_csv.read_marks(inputs[3], reference.cases)
    protocol = with_options(load_protocol("luna16"), bootstraps=0)
    result = evaluate(reference, [submission], protocol).algorithms[0].rules["luna16"]
    readings, cpm = result.metrics["sensitivity_at_fp_rate"], result.metrics["cpm"]
    if not isinstance(readings, dict) or not isinstance(cpm, Estimate):
        raise TypeError("sensitivities are read at several rates, the CPM is one number")
    return Score(result.counts, [readings[rate].value for rate in RATES], cpm.value)


class _ScorerError(Exception):
    """A scorer that crashed, hung, or wrote another result than required."""


def _scorer(scorer: str) -> ScoreCase:
    def ask(inputs: list[Path], result_folder: Path) -> Score:
        command = [*shlex.split(scorer), *map(str, inputs), str(result_folder)]
        try:
            run = subprocess.run(  # noqa: S603 - running the user's own scorer is the purpose
                command, capture_output=True, text=True, timeout=SECONDS_PER_CASE, check=False
            )
        except subprocess.TimeoutExpired as error:
            raise _ScorerError(f"no answer within {SECONDS_PER_CASE} s") from error
        except OSError as error:
            raise _ScorerError(f"cannot be started: {error.strerror}") from error
        if run.returncode:
            last = run.stderr.strip().splitlines() or ["no message"]
            raise _ScorerError(f"exit {run.returncode}: {last[-1]}")
        return _read_score(result_folder / "result.json")

    return ask


def _read_score(path: Path) -> Score:
    try:
        result = json.loads(path.read_text(encoding="utf-8"))
        readings = result["sensitivity"]
        if isinstance(readings, dict):
            readings = [readings[rate] for rate in RATES]
        return Score(
            {
                OFFICIAL_NAMES.get(name, name): int(count)
                for name, count in result["counts"].items()
            },
            [_number(value) for value in readings],
            _number(result["cpm"]),
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise _ScorerError(f"result.json is not as required: {error!r}") from error


def _number(value: Any) -> float | None:
    """A number of a result; NaN and null both mean undefined."""
    return None if value is None or math.isnan(float(value)) else float(value)


def _score_slices(case: JsonObject) -> Iterator[GoldenOutcome]:
    reference, submission = slice_tables(case)
    for rule, wanted in case["expected"].items():
        algorithm = evaluate(reference, [submission], _protocol(rule)).algorithms[0]
        hits = algorithm.labels.filter(pl.col("label") == "hit")["mark_id"].sort().to_list()
        counts = {**algorithm.rules[rule].counts, "hits": hits}
        yield _compared("slices", f"{case['name']} · {rule}", case["teaches"], counts, wanted)


def slice_tables(case: JsonObject) -> tuple[Reference, Submission]:
    """The tables of a case of boxes: rows of case, id, slice, x, y, length, width, long, short."""
    box = ["slice_index", "center_x_mm", "center_y_mm", "length_mm", "width_mm"]

    def boxes(rows: list[list[Any]], key: str) -> pl.DataFrame:
        names = ["case_id", key, *box, "long_mm", "short_mm"]
        padded = [row + [None] * (len(names) - len(row)) for row in rows]
        table = pl.DataFrame(padded, schema=names, orient="row", infer_schema_length=None)
        return table.with_columns(z_mm=pl.col("slice_index").cast(pl.Float64))

    def points(table: pl.DataFrame, key: str) -> pl.DataFrame:
        return table.group_by("case_id", key, maintain_order=True).agg(
            x_mm=pl.col("center_x_mm").mean(),
            y_mm=pl.col("center_y_mm").mean(),
            z_mm=pl.col("z_mm").mean(),
            diameter_mm=(pl.col("length_mm") + pl.col("width_mm")).max() / 2,
        )

    nodules, marks = boxes(case["nodules"], "nodule_id"), boxes(case["marks"], "mark_id")
    cases = pl.concat([nodules["case_id"], marks["case_id"]]).unique(maintain_order=True)
    nodule_points = points(nodules, "nodule_id").with_columns(is_ignored=pl.lit(False))
    reference = Reference(
        "golden",
        CASES.conform(cases.to_frame(), "cases"),
        NODULES.conform(nodule_points, "nodules"),
        NODULE_SLICES.conform(nodules, "nodules"),
    )
    mark_points = MARKS.conform(points(marks, "mark_id"), "marks")
    return reference, Submission("golden", mark_points, MARK_SLICES.conform(marks, "marks"))


def _score_sizes(case: JsonObject) -> GoldenOutcome:
    result = size_result(case)
    return _compared("sizes", case["name"], case["teaches"], result.counts, case["expected"])


def size_result(case: JsonObject) -> RuleResult:
    """Evaluate pairs of true and reported size, each in a separate case, under a size limit."""
    ids = [f"pair{number}" for number in range(len(case["pairs"]))]
    position = {"x_mm": 0.0, "y_mm": 0.0, "z_mm": 0.0}
    nodules, marks = (
        [
            {"case_id": name, key: key[0], **position, "diameter_mm": float(pair[side])}
            for name, pair in zip(ids, case["pairs"], strict=True)
            if pair[side] is not None
        ]
        for side, key in enumerate(("nodule_id", "mark_id"))
    )
    reference = Reference(
        "golden",
        CASES.conform(pl.DataFrame({"case_id": ids}), "cases"),
        NODULES.conform(pl.DataFrame(nodules).with_columns(is_ignored=pl.lit(False)), "nodules"),
    )
    submission = Submission("golden", MARKS.conform(pl.DataFrame(marks), "marks"))
    names = ("minimum_mm", "tolerance_mm", "reading")
    limit = SizeLimit(**{name: case[name] for name in names})
    protocol = _protocol("luna16_clean", size_limit=limit)
    return evaluate(reference, [submission], protocol).algorithms[0].rules["luna16_clean"]


def _protocol(rule: str, **fields: Any) -> TestProtocol:
    none, rules = IntervalChoice(bootstraps=0), (RuleChoice(name=rule),)
    return TestProtocol(name="golden", rules=rules, metrics=("recall",), interval=none, **fields)


def _compared(
    kit: str, name: str, teaches: str, result: JsonObject, wanted: JsonObject
) -> GoldenOutcome:
    wrong = [
        f"{key} {result.get(key)} instead of {value}"
        for key, value in wanted.items()
        if result.get(key) != value
    ]
    return GoldenOutcome(kit, name, teaches, not wrong, "; ".join(wrong))
