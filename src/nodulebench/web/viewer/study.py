"""An observer study, its images and a reader -> the room in which places are judged one by one.

A place is a patch of its scan: nothing else of it is sent, neither the case's name nor the score of
the mark. What was called is an event of the reader's own log and cannot be changed here.
"""

from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path

import numpy as np

from nodulebench.annotation.observer_study.study import OpenStudy, open_study
from nodulebench.core.errors import InputError
from nodulebench.core.json_types import JsonObject
from nodulebench.web.viewer.drafts import ConflictError, Drafts, open_drafts
from nodulebench.web.viewer.findings import Finding, Ruler
from nodulebench.web.viewer.scans import Scan, Tiles, patch_of, scans_of, tiles_of
from nodulebench.web.viewer.session import ReadingSession, ScanContext, Voxels

MARK = "mark"
"""What the one finding of a place is called."""


class StudySession(ReadingSession):
    """The places of a study in the order of one reader."""

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
        self._places = study.places(reader)
        super().__init__(
            folder, [images[case_id] for case_id, _ in self._places], drafts, reader, Voxels(cache)
        )
        self._study = study
        self._own = drafts

    def _known_by(self, number: int) -> str:
        return str(number)  # several patches are of one scan

    def _read(self, number: int) -> Tiles:
        whole, place = tiles_of(self.scan(number), self.cache), self._places[number]
        middle = np.array(self._study.middle_mm(place))
        if not whole.grid.contains(middle[None])[0]:
            what = "lies outside its image."
            raise InputError.at(self._where(number), what, "Is it the image that was evaluated?")
        return patch_of(whole, middle, self._study.study.patch_mm)

    def _kept(self, number: int, tiles: Tiles) -> Tiles:  # noqa: ARG002 - its scan is
        return tiles

    def _where(self, number: int) -> str:
        return f"place {self.title(number)}"

    def title(self, number: int) -> str:
        """Its number alone: names of cases would tell which places belong together."""
        return str(number + 1)

    def draft_key(self, number: int) -> str:
        """Drafts are of a case and a mark; of one that was judged the log tells."""
        return self._key(number, "done" if self.is_closed(number) else "classify")

    def _key(self, number: int, mode: str = "classify") -> str:
        return "/".join((*self._places[number], mode))

    def is_closed(self, number: int) -> bool:
        """Whether the place was judged."""
        return self._places[number] in self._study.calls(self.reader)

    def listed(self) -> list[JsonObject]:
        """Every place, whether it was judged, and the time spent on it."""
        done = self._study.calls(self.reader)
        return [
            {
                "number": number,
                "case_id": self.title(number),
                "findings": 0,
                "seconds": self._own.of(self._key(number)).seconds,
                "mode": "done" if place in done else "classify",
                "is_submitted": place in done,
            }
            for number, place in enumerate(self._places)
        ]

    def beside(self, number: int, tiles: Tiles) -> ScanContext:  # noqa: ARG002 - of other rooms
        """The place, and what it was called if it was judged."""
        place = self._places[number]
        middle, said = self._study.middle_mm(place), self._study.calls(self.reader).get(place)
        finding = Finding(position_mm=middle, call=None if said is None else said.call)
        return ScanContext("classify" if said is None else "done", {MARK: finding})

    def hand_in(self, number: int, tiles: Tiles, drafts: Drafts) -> None:  # noqa: ARG002
        """Keep what the place was called, for good.

        Raises:
            InputError: if nothing was said, or a nodule was not measured.
        """
        if self.is_closed(number):
            raise ConflictError("submitted")
        with drafts.handing_in(self._key(number)) as draft:
            said = draft.present.get(MARK)
            if said is None or said.call is None:
                raise InputError.at(self._where(number), "is not judged yet.", "Say what it is.")
            size = None if said.call == "non_nodule" else ruler_mm(said.ruler)
            self._study.call(self.reader, self._places[number], said.call, size, draft.seconds)


def ruler_mm(ruler: Ruler | None) -> float | None:
    """The mean of long and short axis; the long one alone where there is no other."""
    if ruler is None:
        return None
    axes = [np.array(one) for one in (ruler.long, ruler.short) if one is not None]
    return round(float(np.mean([np.linalg.norm(axis[1] - axis[0]) for axis in axes])), 2)


@contextmanager
def open_study_session(
    folder: Path, images: Path, reader: str, kept: Path | None = None
) -> Iterator[StudySession]:
    """The room of a reader of an observer study.

    Args:
        folder: the study, which ``annotate observer open`` gave to its readers.
        images: where the scans of its cases are.
        reader: who judges.
        kept: where their drafts are kept; None: beside the study.

    Raises:
        InputError: if they have no part in it, an image is missing, or they work there already.
    """
    study = open_study(folder)
    scans = scans_of(images, sorted({case_id for case_id, _ in study.places(reader)}))
    where = folder.resolve()
    own = kept or where.with_name(f"{where.name}-{reader}")
    cache = where.with_name(f"{where.name}-voxels")
    with (
        open_drafts(own, reader) as drafts,
        closing(StudySession(own, scans, drafts, reader, study, cache)) as room,
    ):
        yield room
