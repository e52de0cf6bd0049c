"""A test set and a protocol -> the folder that an organiser uploads to a platform."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from nodulebench.core.documents.evaluation import evaluation_document, readings
from nodulebench.core.errors import InputError
from nodulebench.core.json_types import JsonObject
from nodulebench.core.protocols import load_protocol, protocol_text
from nodulebench.core.tables import MARK_SLICES, MARKS, Submission, without_images
from nodulebench.evaluation.evaluate import evaluate
from nodulebench.evaluation.platforms.platform import Column, Platform
from nodulebench.evaluation.platforms.score import key, primary
from nodulebench.evaluation.service import with_options
from nodulebench.i18n.translator import translator
from nodulebench.io.atomic import staged_folder
from nodulebench.io.bundle import is_sealed, write_reference
from nodulebench.io.formats import read_reference
from nodulebench.metrics import METRICS, info_of, is_lower_better


def pack_for(
    platform: Platform, reference: Path, protocol: str, out: Path, image: str
) -> tuple[list[Path], list[Column]]:
    """Write what a platform needs: image, reference without images, protocol, columns.

    A submission without marks is scored as a test of the packed files.

    Returns:
        The files, and the columns of the leaderboard, the sorting column first.

    Raises:
        InputError: if the set is sealed, which no platform may hold, or cannot be read.
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
