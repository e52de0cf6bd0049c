"""A test set and a protocol -> the folder that an organiser brings to a platform."""

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
    """Write what a platform takes: image, reference without pictures, protocol, columns.

    A submission without marks is scored on the way, so that what is packed is known to work.

    Returns:
        The files, and the columns of the leaderboard, the one that orders it first.

    Raises:
        InputError: if the set is sealed, which no platform may hold, or cannot be read.
    """
    if is_sealed(reference):
        what = "is a sealed test set; a platform would hold its reference."
        raise InputError.at(reference, what, "Host it here: nodulebench portal.")
    truth = read_reference(reference)
    truth = replace(truth, cases=without_images(truth.cases))
    chosen = with_options(load_protocol(protocol), bootstraps=0)
    nothing = Submission("nothing", MARKS.empty(), slices=MARK_SLICES.empty())
    found = list(readings(evaluation_document(evaluate(truth, [nothing], chosen))))
    if not found:
        what = f"cannot be judged under any rule of {chosen.name}."
        raise InputError.at(reference, what, "See why: nodulebench evaluate with a protocol.")
    columns = list(_columns(found))
    with staged_folder(out, is_new=True) as stage:
        write_reference(truth, stage / platform.packed)
        beside = {str(platform.packed_protocol): protocol_text(protocol)}
        files = platform.files(image, columns) | beside
        for name, content in files.items():
            place = stage / name
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(content if isinstance(content, bytes) else content.encode())
    return sorted(path for path in out.rglob("*") if path.is_file()), columns


def _columns(found: list[JsonObject]) -> Iterator[Column]:
    """The metric that orders, with its interval; then its kind under other rules and at points."""
    first = primary(found)
    for part in ("", "low", "high"):
        yield _column(first, part)
    for one in found:
        is_point = bool(one["point"]) and one["rule"] == first["rule"] and _is_merit(one["metric"])
        if one is not first and (is_point or one["metric"] == first["metric"]):
            yield _column(one)


def _is_merit(metric: str) -> bool:
    return metric in METRICS and info_of(metric).is_higher_better is not None


def _column(one: JsonObject, part: str = "") -> Column:
    words, point = translator("en"), f"/{one['point']}" if one["point"] else ""
    title = f"{words.metric(one['metric'] + point).title}, rule {one['rule']}"
    ends = {"": "", "low": " (lower bound)", "high": " (upper bound)"}
    name = key(one) + (f"_{part}" if part else "")
    return Column(name, title + ends[part], is_lower_better(one["metric"]))
