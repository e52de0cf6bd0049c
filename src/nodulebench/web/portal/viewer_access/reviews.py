"""Case review of an entry: its nodules and marks over the images, for those who may."""

from dataclasses import dataclass
from pathlib import Path

from nodulebench.core.errors import InputError
from nodulebench.evaluation.recompute import load_evaluated
from nodulebench.evaluation.result_folder import EVALUATION
from nodulebench.io.images.case_images import images_folder
from nodulebench.web.portal.accounts.service import DeniedError
from nodulebench.web.portal.accounts.users import Visitor
from nodulebench.web.portal.benchmarks.service import rules_of
from nodulebench.web.portal.database.models import Benchmark, Entry, Result
from nodulebench.web.portal.site import Site
from nodulebench.web.portal.submissions.service import find_entry, result_of
from nodulebench.web.portal.viewer_access.gateway import Recent
from nodulebench.web.viewer.evaluation import EvaluationLayer, EvaluationSession, evaluated_scans
from nodulebench.web.viewer.scans import Scan
from nodulebench.web.viewer.session import Voxels

VOXELS = "voxels"
"""Folder of the storage where voxels of scans are kept, which can be thrown away."""


def scan_folders(site: Site) -> list[str]:
    """The folders of scans that something can be about."""
    place = site.settings.scan_sets
    if not place.is_dir():
        return []
    return sorted(path.name for path in place.iterdir() if path.is_dir() and path.name[0] != ".")


def images_of(site: Site, name: str) -> Path:
    """Where the scans of a folder lie.

    Raises:
        DeniedError: if there is no such folder.
    """
    if name not in scan_folders(site):
        raise DeniedError("not_found", 404)
    return site.settings.scan_sets / name


def voxels_of(site: Site) -> Path:
    """Where voxels are kept."""
    return site.settings.storage / VOXELS


VIEW = "view"
HANGINGS = "hangings"
"""Folder of the storage where it is kept how somebody hangs scans."""
MOST_HELD = 16
"""Evaluations that are held in memory."""


@dataclass(frozen=True)
class Shared:
    """What all who look at a result have in common."""

    judged: EvaluationLayer
    scans: list[Scan]
    voxels: Voxels


class Reviews:
    """The room of every result that is kept with its tables."""

    route = VIEW

    def __init__(self, site: Site) -> None:
        self.site = site
        self._held: Recent[Shared] = Recent(MOST_HELD)

    def of(self, name: str, visitor: Visitor) -> EvaluationSession:
        """The room of an entry.

        Raises:
            DeniedError: if there is no such entry, or nothing of it for them.
        """
        with self.site.database.reading() as session:
            entry = find_entry(session, visitor, name)
            result = None if entry.withdrawn_at else result_of(session, entry)
            place = review_place(self.site, entry, result, visitor)
        if place is None or result is None:
            raise DeniedError("not_found", 404)
        folder, voxels = self.site.results / result.folder, voxels_of(self.site)
        try:
            shared = self._held.of((result.id, place), lambda: _shared(folder, place, voxels))
        except InputError as error:
            raise DeniedError("no_images", 409) from error
        own = self.site.settings.storage / HANGINGS / visitor.account
        return EvaluationSession(own, shared.scans, shared.judged, shared.voxels)


def _shared(folder: Path, place: Path, voxels: Path) -> Shared:
    judged = EvaluationLayer(load_evaluated(folder))
    return Shared(judged, evaluated_scans(place, judged), Voxels(voxels))


def review_place(site: Site, entry: Entry, result: Result | None, visitor: Visitor) -> Path | None:
    """Where the images of an entry are, for somebody who may see them; None: they may not.

    Organisers may always, who submitted where the benchmark gives images back; of a sealed set
    nobody may.
    """
    benchmark: Benchmark = entry.benchmark
    is_told = visitor.account == entry.account_id and rules_of(benchmark).feedback == "images"
    if benchmark.is_sealed or not (visitor.is_organiser or is_told):
        return None
    if result is None or not (site.results / result.folder / EVALUATION).is_file():
        return None
    return _images(site, benchmark)


def _images(site: Site, benchmark: Benchmark) -> Path | None:
    """The folder of scans that was chosen for a benchmark, else the images of its test set."""
    chosen = rules_of(benchmark).scans
    if chosen:
        return site.settings.scan_sets / chosen if chosen in scan_folders(site) else None
    reference = Path(benchmark.reference)
    return reference if images_folder(reference) is not None else None
