"""The reading rooms of people who take part in projects, behind the site's own door."""

from collections import OrderedDict
from dataclasses import dataclass
from threading import Lock

from fastapi import Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from nodulebench.language import LANGUAGES, Language, portal_language
from nodulebench.portal.access.accounts import DeniedError
from nodulebench.portal.access.guard import SAFE, refuse_other_sites
from nodulebench.portal.access.roles import may
from nodulebench.portal.access.visitor import Visitor, find_visitor
from nodulebench.portal.page import language_of, see
from nodulebench.portal.projects.drafts import SqlDrafts
from nodulebench.portal.projects.making import VOXELS, find_project, images_of
from nodulebench.portal.projects.people import may_be, person_of
from nodulebench.portal.projects.store import Books, books_of
from nodulebench.portal.site import Site
from nodulebench.workbench.app import workbench_app
from nodulebench.workbench.door import OWN_PAGE, with_headers
from nodulebench.workbench.room import Voxels
from nodulebench.workbench.scans import Scan, scans_in
from nodulebench.workbench.work.room import WorkRoom
from nodulebench.workflows.annotate.desk import Desk
from nodulebench.workflows.annotate.work.worklist import KnownBatches

MOST_ROOMS = 200
"""That are held open; whoever comes back later gets theirs anew."""
ROOM = "room"


@dataclass(frozen=True)
class Shared:
    """What all rooms of a project have in common."""

    base: Desk
    scans: dict[str, Scan]
    voxels: Voxels
    known: KnownBatches


class Rooms:
    """Every person's room in every project of a site."""

    def __init__(self, site: Site) -> None:
        self.site = site
        self._lock = Lock()
        self._shared: dict[str, Shared] = {}
        self._rooms: OrderedDict[tuple[str, str, str], WorkRoom] = OrderedDict()

    def of(self, project_id: str, visitor: Visitor) -> WorkRoom:
        """The room of somebody in a project.

        Raises:
            DeniedError: if there is no such project, or they have no part in it.
        """
        with self.site.database.reading() as session:
            images = find_project(session, project_id).images
            person = person_of(session, project_id, visitor.account)
        if person is None:
            raise DeniedError("not_found", 404)
        with self._lock:
            shared = self._shared.get(project_id) or self._open(project_id, images)
            if not may_be(shared.base.workflow.roster.person(person), visitor.roles):
                raise DeniedError("not_allowed", 403)
            key = (project_id, visitor.account, person)
            room = self._rooms.get(key) or self._room(shared, *key)
            self._rooms[key] = room
            self._rooms.move_to_end(key)
            if len(self._rooms) > MOST_ROOMS:
                self._rooms.popitem(last=False)
            return room

    def _open(self, project_id: str, images: str) -> Shared:
        scans = {one.case_id: one for one in scans_in(images_of(self.site, images))}
        voxels = Voxels(self.site.settings.storage / VOXELS)
        base = books_of(self.site, project_id, "").base
        made = self._shared[project_id] = Shared(base, scans, voxels, KnownBatches())
        return made

    def _room(self, shared: Shared, project_id: str, account: str, person: str) -> WorkRoom:
        books = Books(self.site, project_id, account, shared.base)
        drafts = SqlDrafts(books, person)
        folder = shared.base.folder.parent / person
        return WorkRoom(
            folder, shared.scans, drafts, person, books.desk, shared.voxels, shared.known
        )


class SiteDoor:
    """Lets those into a room who are signed in and have a part in its project."""

    def __init__(self, rooms: Rooms) -> None:
        self.rooms = rooms

    def guard(self, app: ASGIApp, say: Language) -> ASGIApp:  # noqa: ARG002 - words are the site's
        """What stands before an app."""
        return SiteGuard(app, self.rooms)


class SiteGuard:
    """Every request of a room: by whom it is made, and whose room it is about."""

    def __init__(self, app: ASGIApp, rooms: Rooms) -> None:
        self._app = app
        self._rooms = rooms

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer for the app where somebody may not come in."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        request = Request(scope)
        refusal = await run_in_threadpool(self._enter, request)
        await (refusal or self._app)(scope, receive, with_headers(send))

    def _enter(self, request: Request) -> Response | None:
        """Put the room into the request; or say why not."""
        site = self._rooms.site
        visitor = find_visitor(site, request)
        if not visitor.session:
            is_page = request.method == "GET" and request.scope["path"].endswith(f"/{ROOM}/")
            path = request.url.path
            return see(f"/sign-in?next={path}") if is_page else _told("sign_in_first", 401)
        try:
            if not may(visitor.roles, ROOM):
                raise DeniedError("not_allowed", 403)
            if request.method not in SAFE:
                refuse_other_sites(request, site)
                if request.headers.get(OWN_PAGE[0]) != OWN_PAGE[1]:
                    raise DeniedError("form_old", 403)
            room = self._rooms.of(request.path_params["project_id"], visitor)
        except DeniedError as error:
            site.refuse(visitor.account, error.code, at=request.url.path[:100])
            return _told(error.code, error.status)
        request.state.room = room
        return None


def _told(code: str, status: int) -> Response:
    words = portal_language("en")(f"portal.refused.{code}")
    return JSONResponse({"error": code, "problem": words}, status)


def rooms_app(rooms: Rooms) -> ASGIApp:
    """The rooms of a site in every language, to be mounted with the id of a project."""
    door = SiteDoor(rooms)
    apps = {name: workbench_app(None, door, name, home="/projects") for name in LANGUAGES}

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await apps[language_of(Request(scope))](scope, receive, send)

    return app
