"""The reading rooms of people who take part in projects."""

from dataclasses import dataclass

from nodulebench.annotation.project import ProjectHandle
from nodulebench.annotation.tasks import KnownBatches
from nodulebench.web.portal.accounts.service import DeniedError
from nodulebench.web.portal.accounts.users import Visitor
from nodulebench.web.portal.database.models import ProjectEdit
from nodulebench.web.portal.projects.members import may_be, person_of
from nodulebench.web.portal.projects.service import find_project
from nodulebench.web.portal.projects.store import Books, books_of
from nodulebench.web.portal.site import Site
from nodulebench.web.portal.viewer_access.drafts import SqlDrafts
from nodulebench.web.portal.viewer_access.gateway import Recent
from nodulebench.web.portal.viewer_access.reviews import images_of, voxels_of
from nodulebench.web.viewer.project import ProjectSession
from nodulebench.web.viewer.scans import Scan, scans_in
from nodulebench.web.viewer.session import Voxels

MOST_ROOMS, MOST_PROJECTS = 200, 50
"""That are held open; whoever comes back later gets theirs anew."""
ROUTE = "room"


@dataclass(frozen=True)
class Shared:
    """What all rooms of a project have in common."""

    base: ProjectHandle
    scans: dict[str, Scan]
    voxels: Voxels
    known: KnownBatches


class ProjectSessions:
    """Every person's room in every project of a site."""

    route = ROUTE

    def __init__(self, site: Site) -> None:
        self.site = site
        self._shared: Recent[Shared] = Recent(MOST_PROJECTS)
        self._rooms: Recent[ProjectSession] = Recent(MOST_ROOMS)

    def of(self, name: str, visitor: Visitor) -> ProjectSession:
        """The room of somebody in a project.

        Raises:
            DeniedError: if there is no such project, or they have no part in it.
        """
        with self.site.database.reading() as session:
            images = find_project(session, name).images
            person = person_of(session, name, visitor.account)
        if person is None:
            raise DeniedError("not_found", 404)
        shared = self._shared.of(name, lambda: self._open(name, images))
        if not may_be(shared.base.workflow.roster.person(person), visitor.roles):
            raise DeniedError("not_allowed", 403)
        key = (name, visitor.account, person)
        return self._rooms.of(key, lambda: self._room(shared, *key))

    def _open(self, project_id: str, images: str) -> Shared:
        scans = {scan.case_id: scan for scan in scans_in(images_of(self.site, images))}
        voxels = Voxels(voxels_of(self.site))
        base = books_of(self.site, project_id, "").base
        return Shared(base, scans, voxels, KnownBatches())

    def _room(self, shared: Shared, project_id: str, account: str, person: str) -> ProjectSession:
        books = Books(self.site, project_id, account, shared.base)
        drafts = SqlDrafts(books, ProjectEdit, project_id=project_id, person=person)
        folder = shared.base.folder.parent / person
        return ProjectSession(
            folder, shared.scans, drafts, person, books.handle, shared.voxels, shared.known
        )
