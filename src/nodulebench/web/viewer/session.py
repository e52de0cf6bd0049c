"""A folder of scans and its one reader -> what the routes ask for: scans, voxels, readings.

Sessions of projects, studies, exams and evaluations are subclasses. In a project, scans are tasks.

One thread reads the scans: the one that was opened, then the next one. Opening a scan therefore
never slows down other requests. A scan is shown as soon as it is read and cached on disk after.
"""

import hashlib
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

from nodulebench.core.errors import InputError
from nodulebench.core.json_types import JsonObject
from nodulebench.web.viewer.drafts import Draft, Drafts, open_drafts
from nodulebench.web.viewer.findings import Finding
from nodulebench.web.viewer.scans import Scan, Tiles, cached_tiles, read_tiles, scans_in

if TYPE_CHECKING:
    from nodulebench.annotation.exam import ExamSheet
    from nodulebench.web.viewer.evaluation import EvaluationLayer

READINGS_SUFFIX = "-reading"
"""The folder of readings has the name of the folder of scans with this suffix."""
CACHE = "voxels"


@dataclass(frozen=True)
class ScanContext:
    """What is shown with a scan in addition to what its reader drew."""

    mode: str = "read"
    """The task; ``done``: there is none."""
    candidates: dict[str, Finding] = field(default_factory=dict)
    """Candidates by name, before the reader answers."""
    known: dict[str, JsonObject] = field(default_factory=dict)
    """What is known of each candidate. A candidate that is not in here belongs to the reader, who
    may change it."""
    others: dict[str, list[Finding]] = field(default_factory=dict)


class Voxels:
    """Scans that are being read or were read, shared by the sessions that show them."""

    def __init__(self, cache: Path) -> None:
        self.cache = cache
        """The folder in which voxels are cached."""
        self._lock = Lock()
        self._importing = ThreadPoolExecutor(1, thread_name_prefix="scans")
        self._tiles: dict[str, Future[Tiles]] = {}

    def request(
        self, name: str, read: Callable[[], Tiles], save: Callable[[Tiles], Tiles]
    ) -> Future[Tiles]:
        """Read a scan unless that was requested before; cache it afterwards."""

        def read_first() -> Tiles:
            tiles = read()
            with suppress(RuntimeError):  # the session is being closed
                self._importing.submit(then_save, tiles)
            return tiles

        def then_save(tiles: Tiles) -> None:
            cached: Future[Tiles] = Future()
            cached.set_result(save(tiles))
            with self._lock:
                self._tiles[name] = cached  # frees the memory of the voxels that were read

        with self._lock:
            if name not in self._tiles:
                self._tiles[name] = self._importing.submit(read_first)
            return self._tiles[name]

    def forget(self, name: str) -> None:
        """Read a scan again at the next request: it failed, and its files may be repaired."""
        with self._lock:
            self._tiles.pop(name, None)

    def close(self) -> None:
        self._importing.shutdown(wait=True, cancel_futures=True)


class ReadingSession:
    """The scans of a folder and the findings of their reader."""

    script = "main.js"

    def __init__(
        self,
        folder: Path,
        scans: Sequence[Scan],
        drafts: Drafts | None,
        reader: str,
        voxels: Voxels | None = None,
    ) -> None:
        self.folder = folder
        self.scans = scans
        self.drafts = drafts
        """None if the session is read-only."""
        self.reader = reader
        where = str(folder.resolve()).encode("utf-8", "surrogatepass")
        self.name = hashlib.sha256(where).hexdigest()[:16]
        """Under this name a browser stores edits that it has not sent yet."""
        self._voxels = voxels or Voxels(folder / CACHE)
        self.cache = self._voxels.cache
        """The folder in which voxels are cached."""

    def tiles(self, number: int, *, waits_s: float) -> Tiles | None:
        try:
            tiles = self._request(number).result(timeout=waits_s)
        except TimeoutError:
            return None
        except InputError:
            self._voxels.forget(self._cache_key(number))
            raise
        after = self.after(number)
        if after is not None:
            self._request(after)
        return tiles

    def _request(self, number: int) -> Future[Tiles]:
        return self._voxels.request(
            self._cache_key(number),
            lambda: self._read(number),
            lambda tiles: self._cached(number, tiles),
        )

    def _cache_key(self, number: int) -> str:
        return self.scan(number).case_id

    def _read(self, number: int) -> Tiles:
        return read_tiles(self.scan(number), self.cache)

    def _cached(self, number: int, tiles: Tiles) -> Tiles:
        return cached_tiles(tiles, self.scan(number), self.cache)

    def scan(self, number: int) -> Scan:
        return self.scans[number]

    def title(self, number: int) -> str:
        return self.scans[number].case_id

    def is_open(self, number: int) -> bool:
        return 0 <= number < len(self.scans)

    def after(self, number: int) -> int | None:
        return number + 1 if number + 1 < len(self.scans) else None

    def draft_key(self, number: int) -> str:
        return self.scans[number].case_id

    def is_closed(self, number: int) -> bool:  # noqa: ARG002 - for subclasses
        """Whether nothing can be drawn in a scan, even if its draft is not submitted."""
        return False

    def list_scans(self) -> list[JsonObject]:
        return [self._list_scan(number) for number in range(len(self.scans))]

    def _list_scan(self, number: int) -> JsonObject:
        draft = self.drafts.of(self.draft_key(number)) if self.drafts else Draft()
        return {
            "number": number,
            "case_id": self.title(number),
            "findings": len(draft.present),
            "seconds": draft.seconds,
            "is_submitted": draft.is_submitted,
        }

    def context(self, number: int, tiles: Tiles) -> ScanContext:  # noqa: ARG002 - for subclasses
        return ScanContext()

    def submit(self, number: int, tiles: Tiles, drafts: Drafts) -> None:  # noqa: ARG002
        """Freeze the reading of a scan, and write all submitted readings to files."""
        from nodulebench.web.viewer.export import write_readings

        drafts.submit(self.draft_key(number))
        write_readings(self, drafts)

    def evaluation(self) -> "EvaluationLayer | None":
        """The evaluation that is shown over the scans; None: the scans are read."""
        return None

    def sheet(self) -> "ExamSheet | None":
        """The result of an exam; None: this is not an exam, or it is not finished."""
        return None

    def close(self) -> None:
        self._voxels.close()


@contextmanager
def open_session(images: Path, reader: str, folder: Path | None = None) -> Iterator[ReadingSession]:
    """The session of a reader; ``folder`` holds readings and voxels (None: next to the scans)."""
    scans, folder = scans_in(images), folder or readings_folder(images)
    with (
        open_drafts(folder, reader) as drafts,
        closing(ReadingSession(folder, scans, drafts, reader)) as session,
    ):
        yield session


def readings_folder(images: Path) -> Path:
    where = images.resolve()
    return where.with_name(f"{where.name}{READINGS_SUFFIX}")
