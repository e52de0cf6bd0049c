"""What a platform laid down -> the file of metrics that it reads.

A participant may read all that is said here, so a message tells of their file alone: what is wrong
with the reference stays between the lines of a traceback, which ``--debug`` shows to an organiser.
"""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from nodulebench.core.documents.evaluation import evaluation_document, readings
from nodulebench.core.errors import InputError, NoduleBenchError
from nodulebench.core.json_types import JsonObject
from nodulebench.core.results import Evaluation
from nodulebench.evaluation.check.service import check_alone
from nodulebench.evaluation.platforms.platform import Platform
from nodulebench.evaluation.service import evaluate_files
from nodulebench.i18n.translator import in_english
from nodulebench.io.formats import fitting, read_reference
from nodulebench.io.json_files import write_json
from nodulebench.io.marks.grand_challenge import holds_jobs
from nodulebench.io.untrusted_files import OutputRejectedError, collect

PRIMARY = "cpm"
"""The metric that orders a leaderboard, where a protocol has it; else its first."""
MOST_BYTES = 1 << 31
_NOT_MARKS = ("metadata", "metadata.yaml", "__MACOSX")
"""What platforms and zip programs lay beside marks."""


def score_as(
    platform: Platform,
    *,
    marks: Path | None = None,
    reference: Path | None = None,
    protocol: Path | None = None,
    answer: Path | None = None,
) -> Path:
    """Score what lies where a platform lays it; every place can be another.

    Returns:
        The answer. It is not written if anything is wrong, or if the metric that orders is
        undefined: platforms have ranked a submission without a score first.

    Raises:
        InputError: what is wrong with the marks, or that it is not the marks.
    """
    chosen = str(protocol or platform.protocol)
    with TemporaryDirectory() as scratch:
        given = marks_in(_taken(marks or platform.marks, Path(scratch)))
        found = _evaluated(given, reference or platform.reference, chosen)
    told = list(readings(evaluation_document(found).soundly))
    if not told:
        what = "cannot be judged under any rule of this benchmark."
        raise InputError.at("this submission", what, "Send what its rules ask for, as boxes.")
    first = primary(told)
    if first["value"] is None:
        what = f"leaves {first['metric']} undefined under the rule {first['rule']}."
        raise InputError.at("this submission", what, "It has no place in an order without it.")
    words = {"scorer": f"nodulebench {found.version}", "protocol": found.digests["protocol"]}
    place = answer or platform.answer
    place.parent.mkdir(parents=True, exist_ok=True)
    write_json(dict(_numbers(told)) | (words if platform.says_version else {}), place)
    return place


def marks_in(folder: Path) -> Path:
    """The marks in a folder that a platform filled: the folder itself, or the one thing in it.

    Raises:
        InputError: if there is nothing, or more than one thing.
    """
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
        names = ", ".join(one.name for one in inside[:5]) or "nothing"
        what = f"holds {names}; expected one file or folder of marks."
        raise InputError.at("the submission", what, "See: nodulebench formats.") from error
    return folder


def _taken(marks: Path, scratch: Path) -> Path:
    """A copy of what was sent: a link in it could lead to the reference, and a pipe nowhere."""
    if not marks.exists():
        raise InputError.at("the submission", "is not there.", "Nothing was submitted.")
    if not marks.is_dir():
        return marks
    try:
        collect(marks, scratch, MOST_BYTES)
    except OutputRejectedError as error:
        raise InputError.at("the submission", in_english(error.why)) from error
    return scratch


def key(reading: JsonObject) -> str:
    """The name of a reading that every platform takes: letters, digits and underscores."""
    parts = [reading["rule"], reading["metric"], *([reading["point"]] if reading["point"] else [])]
    return "_".join(parts).replace(".", "_").replace("-", "_")


def primary(found: list[JsonObject]) -> JsonObject:
    """The reading that orders a leaderboard."""
    return next((one for one in found if one["metric"] == PRIMARY), found[0])


def _evaluated(marks: Path, reference: Path, protocol: str) -> Evaluation:
    try:
        cases = read_reference(reference).cases
    except (NoduleBenchError, OSError) as error:
        raise _not_theirs("the reference cannot be read") from error
    try:
        checked = check_alone(marks, cases, protocol)
    except NoduleBenchError as error:
        raise _not_theirs("the protocol cannot be read") from error
    if checked.problems:
        raise InputError(
            replace(problem, where=Path(problem.where).name) for problem in checked.problems
        )
    try:
        return evaluate_files((marks,), reference, protocol, names=("submission",))[0]
    except (NoduleBenchError, OSError) as error:
        raise _not_theirs("it could not be scored") from error


def _not_theirs(what: str) -> InputError:
    remedy = "Ask who runs the benchmark: the same command with --debug tells them why."
    return InputError.at("this benchmark", f"has a fault: {what}.", remedy)


def _numbers(found: Iterable[JsonObject]) -> Iterable[tuple[str, float]]:
    """Values and bounds that are defined, under names of their own."""
    for one in found:
        for part in ("value", "low", "high"):
            if one[part] is not None:
                yield key(one) + ("" if part == "value" else f"_{part}"), one[part]
