"""Journal of a curation: one line per series that was examined, so that a stopped run goes on."""

import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from nodulebench import __version__
from nodulebench.curation.admission.checks import CHECKS
from nodulebench.curation.admission.examine import Examined
from nodulebench.curation.admission.limits import Limits
from nodulebench.io.dicom.series import Series
from nodulebench.io.lock import locked

JOURNAL = "journal.jsonl"


def series_key(series: Series, limits: Limits) -> str:
    """Changes with any file of the series, any limit, the version of NoduleBench and of checks."""
    states = []
    for path in series.files:
        try:
            state = os.stat(path)  # noqa: PTH116 - called once for every file of an archive
            states.append((path, state.st_size, state.st_mtime_ns))
        except OSError:
            states.append((path, -1, -1))  # gone since its header was read
    content = [__version__, limits.model_dump_json(), series.copy, len(series.slices), states]
    content.extend(CHECKS.outside_versions)
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()


class Journal:
    """What was examined before, and a file to add to."""

    def __init__(self, known: dict[str, Examined], file: Any) -> None:
        self.known = known
        self._file = file

    def add(self, key: str, examined: Examined) -> None:
        """Write a result down at once, as one line."""
        self.known[key] = examined
        self._file.write(json.dumps({"key": key, "examined": examined.to_json()}) + "\n")
        self._file.flush()


@contextmanager
def open_journal(folder: Path) -> Iterator[Journal]:
    """The journal of a folder; a line that a stopped run left unfinished is dropped.

    Raises:
        InputError: if another run is writing to it.
    """
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / JOURNAL
    with locked(folder / ".lock", folder):
        known, whole = _read(path)
        with path.open("a", encoding="utf-8") as file:
            file.truncate(whole)
            yield Journal(known, file)


def _read(path: Path) -> tuple[dict[str, Examined], int]:
    """The results in a journal and how many of its bytes are whole lines."""
    known: dict[str, Examined] = {}
    whole = 0
    if not path.is_file():
        return known, whole
    with path.open("rb") as file:
        for line in file:
            if not line.endswith(b"\n"):
                break
            whole += len(line)
            try:
                content = json.loads(line)
                known[content["key"]] = Examined.from_json(content["examined"])
            except (ValueError, TypeError, KeyError):
                continue  # written by another version, or damaged: the series is examined again
    return known, whole
