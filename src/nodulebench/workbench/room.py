"""A folder of scans and its one reader -> what the routes ask for: scans, voxels, readings.

Scans are read by a thread of their own, the one that is looked at first and the next one after it,
so that opening a scan never stops the others.
"""

import hashlib
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from threading import Lock

from nodulebench.errors import InputError, Problem, refuse_any
from nodulebench.workbench.drafts import Drafts, open_drafts
from nodulebench.workbench.scans import Scan, scans_in
from nodulebench.workbench.tiles import Tiles, tiles_of

KEPT_BESIDE = "-reading"
"""What the folder of readings is called: the folder of scans and this."""
CACHE = "voxels"


class Room:
    """The scans of a folder, and what its reader made of them."""

    def __init__(
        self, folder: Path, scans: Sequence[Scan], drafts: Drafts | None, reader: str
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
        self._lock = Lock()
        self._importing = ThreadPoolExecutor(1, thread_name_prefix="scans")
        self._tiles: dict[int, Future[Tiles]] = {}

    def tiles(self, number: int, *, waits_s: float) -> Tiles | None:
        """The voxels of a scan; None: they are still being read after that time.

        Raises:
            InputError: if the scan cannot be read.
        """
        asked = self._ask(number)
        try:
            found = asked.result(timeout=waits_s)
        except TimeoutError:
            return None
        except InputError:
            with self._lock:
                self._tiles.pop(number, None)  # mended files are read when it is asked for again
            raise
        if number + 1 < len(self.scans):
            self._ask(number + 1)
        return found

    def _ask(self, number: int) -> Future[Tiles]:
        with self._lock:
            if number not in self._tiles:
                scan, cache = self.scans[number], self.folder / CACHE
                self._tiles[number] = self._importing.submit(tiles_of, scan, cache)
            return self._tiles[number]

    def close(self) -> None:
        """End the thread that reads scans; one that is being read is left."""
        self._importing.shutdown(wait=True, cancel_futures=True)


@contextmanager
def open_room(
    place: Path, reader: str, folder: Path | None = None, case_ids: Sequence[str] | None = None
) -> Iterator[Room]:
    """The reading room of a folder of scans, or of one scan.

    Args:
        place: where the scans are.
        reader: who reads.
        folder: where readings and voxels are kept; None: beside the scans.
        case_ids: the scans that shall be read, in this order; None: all.

    Raises:
        InputError: if there are no scans, one that shall be read is not there, or somebody else
            reads there.
    """
    where = place.resolve()
    kept = folder or where.with_name(f"{where.name}{KEPT_BESIDE}")
    scans = scans_in(place)
    if case_ids is not None:
        by_case = {one.case_id: one for one in scans}
        refuse_any(
            Problem(str(place), f"holds no scan of '{name}', which is to be read.")
            for name in case_ids
            if name not in by_case
        )
        scans = [by_case[name] for name in case_ids]
    with open_drafts(kept, reader) as drafts:
        room = Room(kept, scans, drafts, reader)
        try:
            yield room
        finally:
            room.close()


@contextmanager
def open_gallery(
    place: Path, case_ids: Sequence[str], folder: Path | None = None
) -> Iterator[Room]:
    """A room to look at the scans of some cases, in their order; nothing can be drawn.

    Args:
        place: where the scans are.
        case_ids: which of them; those without a scan are left out.
        folder: where voxels are kept; None: beside the scans.

    Raises:
        InputError: if there is no scan of any of the cases.
    """
    where = place.resolve()
    by_case = {one.case_id: one for one in scans_in(place)}
    scans = [by_case[case_id] for case_id in case_ids if case_id in by_case]
    if not scans:
        shown = ", ".join(list(by_case)[:3])
        what = f"holds no scan of the {len(case_ids)} cases, only {shown} and the like."
        raise InputError.at(place, what, "Give the folder of the images that were evaluated.")
    room = Room(folder or where.with_name(f"{where.name}{KEPT_BESIDE}"), scans, None, "")
    try:
        yield room
    finally:
        room.close()
