"""The session of an observer study: a reader classifies locations one by one.

A location is shown as a patch of its scan. Nothing else is sent, neither the case's name nor the
score of the mark. A call is an event in the reader's own log and cannot be changed afterwards.
"""

from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path

import numpy as np

from nodulebench.annotation.observer_study import OpenStudy, open_study
from nodulebench.core.errors import InputError
from nodulebench.core.json_types import JsonObject
from nodulebench.web.viewer.drafts import ConflictError, Drafts, open_drafts
from nodulebench.web.viewer.findings import Finding, Ruler
from nodulebench.web.viewer.scans import Scan, Tiles, patch_of, scans_of, tiles_of
from nodulebench.web.viewer.session import ReadingSession, ScanContext, Voxels

MARK = "mark"


class StudySession(ReadingSession):
    """The locations of a study in the order of one reader."""

    script = "study.js"

    def __init__(
        self,
        folder: Path,
        images: Mapping[str, Scan],
        drafts: Drafts,
        reader: str,
        study: OpenStudy,
        cache: Path,
    ) -> None:
        self._locations = study.places(reader)
        super().__init__(
            folder,
            [images[case_id] for case_id, _ in self._locations],
            drafts,
            reader,
            Voxels(cache),
        )
        self._study = study
        self._own = drafts

    def _cache_key(self, number: int) -> str:
        return str(number)  # one scan can have several patches

    def _read(self, number: int) -> Tiles:
        whole, location = tiles_of(self.scan(number), self.cache), self._locations[number]
        middle = np.array(self._study.middle_mm(location))
        if not whole.grid.contains(middle[None])[0]:
            what = "is outside its image."
            raise InputError.at(self._where(number), what, "Is it the image that was evaluated?")
        return patch_of(whole, middle, self._study.study.patch_mm)

    def _cached(self, number: int, tiles: Tiles) -> Tiles:  # noqa: ARG002 - the scan is cached
        return tiles

    def _where(self, number: int) -> str:
        return f"location {self.title(number)}"

    def title(self, number: int) -> str:
        """Only its number: case names would show which locations belong together."""
        return str(number + 1)

    def draft_key(self, number: int) -> str:
        """A draft belongs to a case and a mark; finished locations are in the log."""
        return self._key(number, "done" if self.is_closed(number) else "classify")

    def _key(self, number: int, mode: str = "classify") -> str:
        return "/".join((*self._locations[number], mode))

    def is_closed(self, number: int) -> bool:
        return self._locations[number] in self._study.calls(self.reader)

    def list_scans(self) -> list[JsonObject]:
        done = self._study.calls(self.reader)
        return [
            {
                "number": number,
                "case_id": self.title(number),
                "findings": 0,
                "seconds": self._own.of(self._key(number)).seconds,
                "mode": "done" if location in done else "classify",
                "is_submitted": location in done,
            }
            for number, location in enumerate(self._locations)
        ]

    def context(self, number: int, tiles: Tiles) -> ScanContext:  # noqa: ARG002 - for others
        location = self._locations[number]
        middle, reply = (
            self._study.middle_mm(location),
            self._study.calls(self.reader).get(location),
        )
        finding = Finding(position_mm=middle, call=None if reply is None else reply.call)
        return ScanContext("classify" if reply is None else "done", {MARK: finding})

    def submit(self, number: int, tiles: Tiles, drafts: Drafts) -> None:  # noqa: ARG002
        """Record the call of a location in the log, for good; a nodule must be measured."""
        if self.is_closed(number):
            raise ConflictError("submitted")
        with drafts.submitting(self._key(number)) as draft:
            finding = draft.present.get(MARK)
            if finding is None or finding.call is None:
                what = "is not classified yet."
                raise InputError.at(self._where(number), what, "Choose what it is.")
            size = None if finding.call == "non_nodule" else ruler_mm(finding.ruler)
            self._study.call(
                self.reader, self._locations[number], finding.call, size, draft.seconds
            )


def ruler_mm(ruler: Ruler | None) -> float | None:
    """The mean of long and short axis, or only the long axis if the short one is missing."""
    if ruler is None:
        return None
    axes = [np.array(axis) for axis in (ruler.long, ruler.short) if axis is not None]
    return round(float(np.mean([np.linalg.norm(axis[1] - axis[0]) for axis in axes])), 2)


@contextmanager
def open_study_session(
    folder: Path, images: Path, reader: str, drafts_folder: Path | None = None
) -> Iterator[StudySession]:
    """The session of a reader; ``drafts_folder`` holds drafts (None: next to the study)."""
    study = open_study(folder)
    scans = scans_of(images, sorted({case_id for case_id, _ in study.places(reader)}))
    where = folder.resolve()
    own = drafts_folder or where.with_name(f"{where.name}-{reader}")
    cache = where.with_name(f"{where.name}-voxels")
    with (
        open_drafts(own, reader) as drafts,
        closing(StudySession(own, scans, drafts, reader, study, cache)) as session,
    ):
        yield session
