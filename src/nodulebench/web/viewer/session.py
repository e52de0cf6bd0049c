"""A folder of scans and its one reader -> what the routes ask for: scans, voxels, readings.

A room of an annotation project (``work/``) is a room, too, in which scans are tasks.

Scans are read by a thread of their own, the one that is looked at first and the next one after it,
so that opening a scan never stops the others. One is shown as soon as it is read; the disk comes
afterwards.
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

MOST_CACHED = "-reading"
"""What the folder of readings is called: the folder of scans and this."""
CACHE = "voxels"


@dataclass(frozen=True)
class ScanContext:
    """What a scan is opened with, beside what its reader drew."""

    mode: str = "read"
    """What is asked; done: nothing."""
    given: dict[str, Finding] = field(default_factory=dict)
    """Candidates by name, as they stand before the reader says something of them."""
    told: dict[str, JsonObject] = field(default_factory=dict)
    """What is known of each candidate; what is given without is the reader's own, to be changed."""
    others: dict[str, list[Finding]] = field(default_factory=dict)
    """Letter -> what another reader drew, to be looked at."""


class Voxels:
    """Scans being read, and those that were, for all rooms that show them."""

    def __init__(self, cache: Path) -> None:
        self.cache = cache
        """Where voxels are kept."""
        self._lock = Lock()
        self._importing = ThreadPoolExecutor(1, thread_name_prefix="scans")
        self._tiles: dict[str, Future[Tiles]] = {}

    def ask(
        self, name: str, read: Callable[[], Tiles], keep: Callable[[Tiles], Tiles]
    ) -> Future[Tiles]:
        """Have a scan read, if it is not yet, and kept after that."""

        def read_first() -> Tiles:
            tiles = read()
            with suppress(RuntimeError):  # the room is being closed
                self._importing.submit(then_keep, tiles)
            return tiles

        def then_keep(tiles: Tiles) -> None:
            kept: Future[Tiles] = Future()
            kept.set_result(keep(tiles))
            with self._lock:
                self._tiles[name] = kept  # of one that was read, the memory is given back

        with self._lock:
            if name not in self._tiles:
                self._tiles[name] = self._importing.submit(read_first)
            return self._tiles[name]

    def forget(self, name: str) -> None:
        """Read a scan again when it is asked for: it could not be read, and may be mended."""
        with self._lock:
            self._tiles.pop(name, None)

    def close(self) -> None:
        """End the thread that reads scans; one that is being read is left."""
        self._importing.shutdown(wait=True, cancel_futures=True)


class ReadingSession:
    """The scans of a folder, and what its reader made of them."""

    script = "main.js"
    """What runs in its page."""

    def __init__(
        self,
        folder: Path,
        scans: Sequence[Scan],
        drafts: Drafts | None,
        reader: str,
        voxels: Voxels | None = None,
    ) -> None:
        self.folder = folder
        """Where readings are kept."""
        self.scans = scans
        self.drafts = drafts
        """None: the room is for looking alone."""
        self.reader = reader
        where = str(folder.resolve()).encode("utf-8", "surrogatepass")
        self.name = hashlib.sha256(where).hexdigest()[:16]
        """By which a browser knows what it still has to send here."""
        self._voxels = voxels or Voxels(folder / CACHE)
        self.cache = self._voxels.cache
        """Where voxels are kept."""

    def tiles(self, number: int, *, waits_s: float) -> Tiles | None:
        """The voxels of a scan; None: they are still being read after that time.

        Raises:
            InputError: if the scan cannot be read.
        """
        try:
            found = self._ask(number).result(timeout=waits_s)
        except TimeoutError:
            return None
        except InputError:
            self._voxels.forget(self._known_by(number))
            raise
        after = self.after(number)
        if after is not None:
            self._ask(after)
        return found

    def _ask(self, number: int) -> Future[Tiles]:
        return self._voxels.ask(
            self._known_by(number),
            lambda: self._read(number),
            lambda tiles: self._kept(number, tiles),
        )

    def _known_by(self, number: int) -> str:
        """What the voxels of a number are kept under, by rooms that share them."""
        return self.scan(number).case_id

    def _read(self, number: int) -> Tiles:
        return read_tiles(self.scan(number), self.cache)

    def _kept(self, number: int, tiles: Tiles) -> Tiles:
        return cached_tiles(tiles, self.scan(number), self.cache)

    def scan(self, number: int) -> Scan:
        """The scan that a number stands for."""
        return self.scans[number]

    def title(self, number: int) -> str:
        """What a scan is called in the room."""
        return self.scans[number].case_id

    def is_open(self, number: int) -> bool:
        """Whether there is a scan of that number for the reader."""
        return 0 <= number < len(self.scans)

    def after(self, number: int) -> int | None:
        """The scan that is looked at next."""
        return number + 1 if number + 1 < len(self.scans) else None

    def draft_key(self, number: int) -> str:
        """By what drafts know a scan."""
        return self.scans[number].case_id

    def is_closed(self, number: int) -> bool:  # noqa: ARG002 - of other rooms
        """Whether nothing can be drawn in a scan, whatever its draft says."""
        return False

    def listed(self) -> list[JsonObject]:
        """Every scan, how far its reading is, and the time spent on it."""
        return [self._listed(number) for number in range(len(self.scans))]

    def _listed(self, number: int) -> JsonObject:
        draft = self.drafts.of(self.draft_key(number)) if self.drafts else Draft()
        return {
            "number": number,
            "case_id": self.title(number),
            "findings": len(draft.present),
            "seconds": draft.seconds,
            "is_submitted": draft.is_submitted,
        }

    def beside(self, number: int, tiles: Tiles) -> ScanContext:  # noqa: ARG002 - of other rooms
        """What a scan is opened with."""
        return ScanContext()

    def hand_in(self, number: int, tiles: Tiles, drafts: Drafts) -> None:  # noqa: ARG002
        """Freeze the reading of a scan, and write what was handed in so far for others."""
        from nodulebench.web.viewer.export import write_readings

        drafts.hand_in(self.draft_key(number))
        write_readings(self, drafts)

    def judged(self) -> "EvaluationLayer | None":
        """What is looked at in the room, with its labels; None: it is drawn in."""
        return None

    def sheet(self) -> "ExamSheet | None":
        """The result of an exam that was sat in the room; None: there is none, or not yet."""
        return None

    def close(self) -> None:
        """Read no more scans."""
        self._voxels.close()


@contextmanager
def open_session(place: Path, reader: str, folder: Path | None = None) -> Iterator[ReadingSession]:
    """The reading room of a folder of scans, or of one scan.

    Args:
        place: where the scans are.
        reader: who reads.
        folder: where readings and voxels are kept; None: beside the scans.

    Raises:
        InputError: if there are no scans, or somebody else reads there.
    """
    scans, kept = scans_in(place), folder or scan_context(place)
    with (
        open_drafts(kept, reader) as drafts,
        closing(ReadingSession(kept, scans, drafts, reader)) as room,
    ):
        yield room


def scan_context(place: Path) -> Path:
    """Where readings and voxels of scans are kept, unless somebody says otherwise."""
    where = place.resolve()
    return where.with_name(f"{where.name}{MOST_CACHED}")
