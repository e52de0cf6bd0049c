"""The inputs that a platform provides -> its metrics; a test set -> the folder that it needs.

Participants may read every message, so messages describe only their own file. Errors of the
reference appear only in the traceback, which ``--debug`` shows to an organiser.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from nodulebench.core.documents.evaluation import evaluation_document, readings
from nodulebench.core.errors import InputError, NoduleBenchError
from nodulebench.core.json_types import JsonObject
from nodulebench.core.protocol import load_protocol, protocol_text
from nodulebench.core.results import Evaluation
from nodulebench.core.tables import MARK_SLICES, MARKS, Submission, without_images
from nodulebench.evaluation.check import check_without_reference
from nodulebench.evaluation.evaluate import evaluate
from nodulebench.evaluation.platforms import Column, Platform
from nodulebench.evaluation.service import EvaluateOptions, evaluate_files, with_options
from nodulebench.i18n.translator import in_english, translator
from nodulebench.io.atomic import staged_folder
from nodulebench.io.bundle import is_sealed, write_reference
from nodulebench.io.formats import fitting, read_reference
from nodulebench.io.json_files import write_json
from nodulebench.io.marks.grand_challenge import holds_jobs
from nodulebench.io.untrusted_files import OutputRejectedError, collect
from nodulebench.metrics import METRICS, info_of, is_lower_better

PRIMARY = "cpm"
"""The metric that sorts a leaderboard, if the protocol has it; else its first metric."""
MOST_BYTES = 1 << 31
_NOT_MARKS = ("metadata", "metadata.yaml", "__MACOSX")
"""Files that platforms and zip programs add to marks."""


def score_as(
    platform: Platform,
    *,
    marks: Path | None = None,
    reference: Path | None = None,
    protocol: Path | None = None,
    answer: Path | None = None,
) -> Path:
    """Score the inputs at the platform's standard paths, which can be replaced; return the answer.

    It is not written if there is any error, or if the sorting metric is undefined: platforms have
    ranked a submission without a score first. An error may only say that it is not in the marks.
    """
    chosen = str(protocol or platform.protocol)
    with TemporaryDirectory() as scratch:
        given = marks_in(_taken(marks or platform.marks, Path(scratch)))
        evaluation = _evaluated(given, reference or platform.reference, chosen)
    metrics = list(readings(evaluation_document(evaluation).soundly))
    if not metrics:
        what = "cannot be evaluated under any rule of this benchmark."
        raise InputError.at("this submission", what, "Send what its rules need, such as boxes.")
    first = primary(metrics)
    if first["value"] is None:
        what = f"leaves {first['metric']} undefined under the rule {first['rule']}."
        raise InputError.at("this submission", what, "It cannot be ranked without this metric.")
    words = {
        "scorer": f"nodulebench {evaluation.version}",
        "protocol": evaluation.digests["protocol"],
    }
    path = answer or platform.answer
    path.parent.mkdir(parents=True, exist_ok=True)
    write_json(dict(_numbers(metrics)) | (words if platform.says_version else {}), path)
    return path


def marks_in(folder: Path) -> Path:
    """The marks in a folder that a platform filled: the folder itself, or its only entry."""
    if not folder.is_dir() or holds_jobs(folder):
        return folder
    inside = [
        path
        for path in sorted(folder.iterdir())
        if path.name not in _NOT_MARKS and not path.name.startswith(".")
    ]
    if len(inside) == 1:
        return inside[0]
    try:
        fitting(folder, "marks")
    except InputError as error:
        names = ", ".join(path.name for path in inside[:5]) or "nothing"
        what = f"holds {names}; expected one file or folder of marks."
        raise InputError.at("the submission", what, "See: nodulebench formats.") from error
    return folder


def _taken(marks: Path, scratch: Path) -> Path:
    """A copy of the submission: a link could lead to the reference, and a pipe could block."""
    if not marks.exists():
        raise InputError.at("the submission", "does not exist.", "Submit a file of marks.")
    if not marks.is_dir():
        return marks
    try:
        collect(marks, scratch, MOST_BYTES)
    except OutputRejectedError as error:
        raise InputError.at("the submission", in_english(error.why)) from error
    return scratch


def key(reading: JsonObject) -> str:
    """The name of a reading in the characters that every platform accepts: [A-Za-z0-9_]."""
    parts = [reading["rule"], reading["metric"], *([reading["point"]] if reading["point"] else [])]
    return "_".join(parts).replace(".", "_").replace("-", "_")


def primary(metrics: list[JsonObject]) -> JsonObject:
    return next((reading for reading in metrics if reading["metric"] == PRIMARY), metrics[0])


def _evaluated(marks: Path, reference: Path, protocol: str) -> Evaluation:
    try:
        cases = read_reference(reference).cases
    except (NoduleBenchError, OSError) as error:
        raise _not_theirs("the reference cannot be read") from error
    try:
        checked = check_without_reference(marks, cases, protocol)
    except NoduleBenchError as error:
        raise _not_theirs("the protocol cannot be read") from error
    if checked.problems:
        raise InputError(
            replace(problem, where=Path(problem.where).name) for problem in checked.problems
        )
    try:
        return evaluate_files(
            EvaluateOptions(
                marks=(marks,), reference=reference, protocol=protocol, names=("submission",)
            )
        )[0]
    except (NoduleBenchError, OSError) as error:
        raise _not_theirs("it could not be scored") from error


def _not_theirs(what: str) -> InputError:
    remedy = "Ask the organiser: the same command with --debug shows them the reason."
    return InputError.at("this benchmark", f"has an error: {what}.", remedy)


def _numbers(metrics: Iterable[JsonObject]) -> Iterable[tuple[str, float]]:
    for reading in metrics:
        for part in ("value", "low", "high"):
            if reading[part] is not None:
                yield key(reading) + ("" if part == "value" else f"_{part}"), reading[part]


def pack_for(
    platform: Platform, reference: Path, protocol: str, out: Path, image: str
) -> tuple[list[Path], list[Column]]:
    """Write what a platform needs; return the files and the columns, the sorting column first.

    A submission without marks is scored as a test of the packed files. A sealed set is refused.
    """
    if is_sealed(reference):
        what = "is a sealed test set; the platform would receive its reference."
        raise InputError.at(reference, what, "Host it yourself: nodulebench portal.")
    truth = read_reference(reference)
    truth = replace(truth, cases=without_images(truth.cases))
    chosen = with_options(load_protocol(protocol), bootstraps=0)
    nothing = Submission("nothing", MARKS.empty(), slices=MARK_SLICES.empty())
    evaluated = list(readings(evaluation_document(evaluate(truth, [nothing], chosen))))
    if not evaluated:
        what = f"cannot be evaluated under any rule of {chosen.name}."
        remedy = "Run 'nodulebench evaluate' with this protocol to see the reasons."
        raise InputError.at(reference, what, remedy)
    columns = list(_columns(evaluated))
    with staged_folder(out, is_new=True) as stage:
        write_reference(truth, stage / platform.packed)
        protocol_file = {str(platform.packed_protocol): protocol_text(protocol)}
        files = platform.files(image, columns) | protocol_file
        for name, content in files.items():
            path = stage / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return sorted(path for path in out.rglob("*") if path.is_file()), columns


def _columns(evaluated: list[JsonObject]) -> Iterator[Column]:
    """The sorting metric with its interval; then the same metric elsewhere, and the points."""
    first = primary(evaluated)
    for part in ("", "low", "high"):
        yield _column(first, part)
    for reading in evaluated:
        is_point = (
            bool(reading["point"])
            and reading["rule"] == first["rule"]
            and _is_merit(reading["metric"])
        )
        if reading is not first and (is_point or reading["metric"] == first["metric"]):
            yield _column(reading)


def _is_merit(metric: str) -> bool:
    return metric in METRICS and info_of(metric).is_higher_better is not None


def _column(reading: JsonObject, part: str = "") -> Column:
    words, point = translator("en"), f"/{reading['point']}" if reading["point"] else ""
    title = f"{words.metric(reading['metric'] + point).title}, rule {reading['rule']}"
    ends = {"": "", "low": " (lower bound)", "high": " (upper bound)"}
    name = key(reading) + (f"_{part}" if part else "")
    return Column(name, title + ends[part], is_lower_better(reading["metric"]))
