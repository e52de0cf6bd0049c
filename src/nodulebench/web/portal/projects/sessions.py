"""Reading sessions of people who take part in projects."""

from dataclasses import dataclass

from nodulebench.annotation.project import ProjectHandle
from nodulebench.annotation.tasks import KnownBatches
from nodulebench.web.portal.accounts.service import DeniedError
from nodulebench.web.portal.accounts.users import User
from nodulebench.web.portal.database.models import ProjectEdit
from nodulebench.web.portal.projects.members import can_be, person_of
from nodulebench.web.portal.projects.service import find_project
from nodulebench.web.portal.projects.store import ProjectAccess, project_access
from nodulebench.web.portal.site import Site
from nodulebench.web.portal.viewer_access.drafts import SqlDrafts
from nodulebench.web.portal.viewer_access.gateway import LruCache
from nodulebench.web.portal.viewer_access.reviews import images_of, voxels_of
from nodulebench.web.viewer.project import ProjectSession
from nodulebench.web.viewer.scans import Scan, scans_in
from nodulebench.web.viewer.session import Voxels

MAX_SESSIONS, MAX_PROJECTS = 200, 50
"""Sessions in memory; others are opened again when needed."""
ROUTE = "project_session"


@dataclass(frozen=True)
class SharedProject:
    """What all sessions of a project share."""

    base: ProjectHandle
    scans: dict[str, Scan]
    voxels: Voxels
    known: KnownBatches


class ProjectSessions:
    """All reading sessions of a site."""

    route = ROUTE

    def __init__(self, site: Site) -> None:
        self.site = site
        self._shared: LruCache[SharedProject] = LruCache(MAX_PROJECTS)
        self._sessions: LruCache[ProjectSession] = LruCache(MAX_SESSIONS)

    def of(self, name: str, user: User) -> ProjectSession:
        with self.site.database.reading() as session:
            images = find_project(session, name).images
            person = person_of(session, name, user.account)
        if person is None:
            raise DeniedError("not_found", 404)
        shared = self._shared.of(name, lambda: self._open(name, images))
        if not can_be(shared.base.workflow.roster.person(person), user.roles):
            raise DeniedError("not_allowed", 403)
        key = (name, user.account, person)
        return self._sessions.of(key, lambda: self._session(shared, *key))

    def _open(self, project_id: str, images: str) -> SharedProject:
        scans = {scan.case_id: scan for scan in scans_in(images_of(self.site, images))}
        voxels = Voxels(voxels_of(self.site))
        base = project_access(self.site, project_id, "").base
        return SharedProject(base, scans, voxels, KnownBatches())

    def _session(
        self, shared: SharedProject, project_id: str, account: str, person: str
    ) -> ProjectSession:
        access = ProjectAccess(self.site, project_id, account, shared.base)
        drafts = SqlDrafts(access, ProjectEdit, project_id=project_id, person=person)
        folder = shared.base.folder.parent / person
        return ProjectSession(
            folder, shared.scans, drafts, person, access.handle, shared.voxels, shared.known
        )
