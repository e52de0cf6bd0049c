"""Case review of an entry: its nodules and marks over the images, for permitted users."""

from dataclasses import dataclass
from pathlib import Path

from nodulebench.core.errors import InputError
from nodulebench.evaluation.recompute import load_evaluated
from nodulebench.evaluation.result_folder import EVALUATION
from nodulebench.io.images.case_images import images_folder
from nodulebench.web.portal.accounts.service import DeniedError
from nodulebench.web.portal.accounts.users import User
from nodulebench.web.portal.benchmarks.service import rules_of
from nodulebench.web.portal.database.models import Benchmark, Entry, Result
from nodulebench.web.portal.site import Site
from nodulebench.web.portal.submissions.service import find_entry, result_of
from nodulebench.web.portal.viewer_access.gateway import LruCache
from nodulebench.web.viewer.evaluation import EvaluationLayer, EvaluationSession, evaluated_scans
from nodulebench.web.viewer.scans import Scan
from nodulebench.web.viewer.session import Voxels

VOXELS = "voxels"
"""Folder of the storage that caches voxels of scans."""


def scan_folders(site: Site) -> list[str]:
    place = site.settings.scan_sets
    if not place.is_dir():
        return []
    return sorted(path.name for path in place.iterdir() if path.is_dir() and path.name[0] != ".")


def images_of(site: Site, name: str) -> Path:
    if name not in scan_folders(site):
        raise DeniedError("not_found", 404)
    return site.settings.scan_sets / name


def voxels_of(site: Site) -> Path:
    return site.settings.storage / VOXELS


VIEW = "view"
HANGINGS = "hangings"
"""Folder of the storage with the hanging layouts of users."""
MAX_HELD = 16


@dataclass(frozen=True)
class SharedReview:
    """What all reviews of a result share."""

    layer: EvaluationLayer
    scans: list[Scan]
    voxels: Voxels


class ReviewSessions:
    """Review sessions of all results that are stored with their tables."""

    route = VIEW

    def __init__(self, site: Site) -> None:
        self.site = site
        self._held: LruCache[SharedReview] = LruCache(MAX_HELD)

    def of(self, name: str, user: User) -> EvaluationSession:
        """The review session of an entry; DeniedError if the user may not see its images."""
        with self.site.database.reading() as session:
            entry = find_entry(session, user, name)
            result = None if entry.withdrawn_at else result_of(session, entry)
            place = review_place(self.site, entry, result, user)
        if place is None or result is None:
            raise DeniedError("not_found", 404)
        folder, voxels = self.site.results / result.folder, voxels_of(self.site)
        try:
            shared = self._held.of((result.id, place), lambda: _shared(folder, place, voxels))
        except InputError as error:
            raise DeniedError("no_images", 409) from error
        own = self.site.settings.storage / HANGINGS / user.account
        return EvaluationSession(own, shared.scans, shared.layer, shared.voxels)


def _shared(folder: Path, place: Path, voxels: Path) -> SharedReview:
    layer = EvaluationLayer(load_evaluated(folder))
    return SharedReview(layer, evaluated_scans(place, layer), Voxels(voxels))


def review_place(site: Site, entry: Entry, result: Result | None, user: User) -> Path | None:
    """The folder of an entry's images, if a user may see them; None: they may not.

    Organisers always may; submitters if the benchmark discloses images; no one for a sealed set.
    """
    benchmark: Benchmark = entry.benchmark
    sees_images = user.account == entry.account_id and rules_of(benchmark).feedback == "images"
    if benchmark.is_sealed or not (user.is_organiser or sees_images):
        return None
    if result is None or not (site.results / result.folder / EVALUATION).is_file():
        return None
    return _images(site, benchmark)


def _images(site: Site, benchmark: Benchmark) -> Path | None:
    """The scan folder chosen for a benchmark, else the images of its test set."""
    chosen = rules_of(benchmark).scans
    if chosen:
        return site.settings.scan_sets / chosen if chosen in scan_folders(site) else None
    reference = Path(benchmark.reference)
    return reference if images_folder(reference) is not None else None
