"""What grand-challenge.org gives to an evaluation -> the documents of its jobs, and RUNS."""

import re
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

import polars as pl

from nodulebench.core.errors import Problems
from nodulebench.core.tables import RUNS
from nodulebench.io.case_names import case_of_image
from nodulebench.io.json_files import entries, read_json

JOBS = "predictions.json"
"""The list of jobs; what each of them wrote is in ``PK/output/``."""
_RUN = {"case_id": pl.String, "state": pl.String, "seconds": pl.Float64}
_DURATION = re.compile(r"P(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d+)?)S)?)?")
"""As ISO 8601 writes it: ``PT1M2.5S``."""
_SECONDS = (86_400, 3_600, 60, 1)


@dataclass(frozen=True, slots=True)
class Job:
    """One case that an algorithm was run on."""

    case_id: str
    is_done: bool
    """Whether it succeeded; its case is judged without marks if not."""
    seconds: float | None
    place: str
    document: dict[str, Any] | None
    """The marks it wrote; None: none, for it failed."""


def holds_jobs(folder: Path) -> bool:
    """Whether a folder is what the platform gives to an evaluation, and not one of documents."""
    if not (folder / JOBS).is_file():
        return False
    content = read_json(folder / JOBS)
    listed = content if isinstance(content, list) else []
    return bool(listed) and all(isinstance(one, dict) and "pk" in one for one in listed)


def read_jobs(path: Path, problems: Problems) -> list[Job]:
    """The jobs of a submission; what is wrong with them is added to the problems."""
    jobs, known = [], set()
    for place, item in entries(read_json(path / JOBS), JOBS, problems):
        job = _job(path, place, item, problems)
        if job is None:
            continue
        if job.case_id in known:
            problems.add(place, f"is a second job of '{job.case_id}'.", "Leave one per case.")
        known.add(job.case_id)
        jobs.append(job)
    return jobs


def runs_of(jobs: list[Job]) -> pl.DataFrame:
    """RUNS of jobs."""
    rows = [(one.case_id, "ok" if one.is_done else "failed", one.seconds) for one in jobs]
    return RUNS.conform(pl.DataFrame(rows, schema=_RUN, orient="row"), JOBS)


def _job(path: Path, place: str, item: dict[str, Any], problems: Problems) -> Job | None:
    images = [
        name
        for _, given in entries(item.get("inputs"), f"{place}.inputs", problems)
        if isinstance(name := _field(given, "image", "name"), str)
    ]
    if len(images) != 1:
        what = f"has {len(images)} input images; a job is about one scan."
        problems.add(f"{place}.inputs", what, "Give the phase one input socket of a CT image.")
        return None
    case_id, is_done = case_of_image(images[0]), item.get("status", "Succeeded") == "Succeeded"
    found = _output(path, place, item, problems) if is_done else (place, None)
    return Job(case_id, is_done, _seconds(item.get("exec_duration")), *found)


def _output(
    path: Path, place: str, item: dict[str, Any], problems: Problems
) -> tuple[str, dict[str, Any] | None]:
    """Where a job's marks stand, and the marks."""
    sockets = [
        (name, given)
        for _, given in entries(item.get("outputs"), f"{place}.outputs", problems)
        if isinstance(name := _relative_path(given), str) and name.endswith(".json")
    ]
    if len(sockets) != 1:
        what = f"has {len(sockets)} output sockets that are JSON; marks are in one."
        problems.add(f"{place}.outputs", what, "Give the phase one output socket of points.")
        return place, None
    name, given = sockets[0]
    parts = PurePosixPath(str(item.get("pk", "")), "output", name)
    if parts.is_absolute() or ".." in parts.parts:
        problems.add(place, f"names '{parts}', which is not in the submission.")
        return place, None
    file, value = path / parts, given.get("value")
    content = read_json(file) if file.is_file() else value
    if isinstance(content, dict):
        return str(parts) if file.is_file() else place, content
    what = "is no object." if file.is_file() else "is not there."
    problems.add(str(parts), what, "Every job that succeeded writes its points there.")
    return place, None


def _relative_path(given: dict[str, Any]) -> Any:
    socket = "socket" if "socket" in given else "interface"  # as it was called before 2025
    return _field(given, socket, "relative_path")


def _field(given: dict[str, Any], *names: str) -> Any:
    """A value some levels down; None: there is none."""
    value: Any = given
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def _seconds(duration: Any) -> float | None:
    """A duration in seconds; None: not said, or not as ISO 8601 says it."""
    found = _DURATION.fullmatch(duration) if isinstance(duration, str) else None
    if found is None or not any(found.groups()):
        return None
    return sum(float(part or 0) * unit for part, unit in zip(found.groups(), _SECONDS, strict=True))
