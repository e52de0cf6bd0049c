"""An evaluation and its images -> a room in which they are looked at; nothing can be drawn."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from nodulebench.core.errors import InputError
from nodulebench.web.viewer.evaluation import Judged
from nodulebench.web.viewer.scans import Scan, scans_in
from nodulebench.web.viewer.session import Room, Voxels, beside


class Gallery(Room):
    """The cases of an evaluation that have a scan."""

    def __init__(
        self, folder: Path, scans: list[Scan], judged: Judged, voxels: Voxels | None = None
    ) -> None:
        super().__init__(folder, scans, None, "", voxels)
        self._judged = judged

    def judged(self) -> Judged:
        """The evaluation."""
        return self._judged


@contextmanager
def open_gallery(place: Path, judged: Judged, folder: Path | None = None) -> Iterator[Gallery]:
    """A room to look at the scans of an evaluation.

    Args:
        place: where the scans are.
        judged: the evaluation.
        folder: where voxels are kept; None: beside the scans.
    """
    scans = scans_judged(place, judged)
    with closing(Gallery(folder or beside(place), scans, judged)) as gallery:
        yield gallery


def scans_judged(place: Path, judged: Judged) -> list[Scan]:
    """The scans of the cases of an evaluation, in their order; cases without one are left out.

    Raises:
        InputError: if there is no scan of any of the cases.
    """
    by_case = {one.case_id: one for one in scans_in(place)}
    scans = [by_case[case_id] for case_id in judged.case_ids if case_id in by_case]
    if not scans:
        shown = ", ".join(list(by_case)[:3])
        what = f"holds no scan of the {len(judged.case_ids)} cases, only {shown} and the like."
        raise InputError.at(place, what, "Give the folder of the images that were evaluated.")
    return scans
