"""The site's own door before rooms of the workbench: who comes in, and into which room."""

from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from contextlib import AbstractAsyncContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from hashlib import sha256
from threading import Lock, local
from typing import Generic, Protocol, TypeVar

from fastapi import Request
from sqlalchemy import text
from sqlalchemy.orm import Session as Transaction
from starlette.concurrency import run_in_threadpool
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from nodulebench.i18n.translator import LANGUAGES, Translator, portal_translator
from nodulebench.web.portal.accounts.roles import may
from nodulebench.web.portal.accounts.service import DeniedError
from nodulebench.web.portal.accounts.users import Visitor, find_visitor
from nodulebench.web.portal.guard import SAFE, require_same_site
from nodulebench.web.portal.middleware import UploadLimiter, takes_file
from nodulebench.web.portal.page import language_of, see
from nodulebench.web.portal.site import Site
from nodulebench.web.viewer.app import OWN_PAGE, with_headers, workbench_app
from nodulebench.web.viewer.session import ReadingSession


class Sessions(Protocol):
    """The rooms of a kind, one for each thing and visitor."""

    site: Site
    route: str
    """By which the table of roles knows them."""

    def of(self, name: str, visitor: Visitor) -> ReadingSession:
        """The room of a visitor in the thing of an id.

        Raises:
            DeniedError: if there is no such thing, or they have no part in it.
        """
        ...


class SessionGateway:
    """Lets those into a room who are signed in and have a part in what it is about."""

    def __init__(self, rooms: Sessions, counter: UploadLimiter) -> None:
        self.rooms = rooms
        self.counter = counter

    def guard(self, app: ASGIApp, translate: Translator) -> ASGIApp:
        """What stands before an app."""
        return SiteGuard(app, self.rooms, self.counter, portal_translator(translate.name))


class SiteGuard:
    """Every request of a room: by whom it is made, and whose room it is about."""

    def __init__(
        self, app: ASGIApp, rooms: Sessions, counter: UploadLimiter, translate: Translator
    ) -> None:
        self._app = app
        self._rooms = rooms
        self._counter = counter
        self._say = translate

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer for the app where somebody may not come in."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        request, answer = Request(scope), with_headers(send)
        refusal = await run_in_threadpool(self._enter, request)
        if refusal is not None:
            await refusal(scope, receive, answer)
            return
        try:
            async with self._place(request):
                await self._app(scope, receive, answer)
        except DeniedError as error:
            await self._told(error)(scope, receive, answer)

    def _enter(self, request: Request) -> Response | None:
        """Put the room into the request; or say why not."""
        site = self._rooms.site
        visitor = find_visitor(site, request)
        request.state.visitor = visitor
        if not visitor.session:
            path = request.url.path
            is_page = request.method == "GET" and path == f"{request.scope['root_path']}/"
            if is_page:
                return see(f"/sign-in?next={path}")
            return self._told(DeniedError("sign_in_first", 401))
        try:
            if not may(visitor.roles, self._rooms.route):
                raise DeniedError("not_allowed", 403)
            if request.method not in SAFE:
                require_same_site(request, site)
                if request.headers.get(OWN_PAGE[0]) != OWN_PAGE[1]:
                    raise DeniedError("form_old", 403)
            room = self._rooms.of(request.path_params["of"], visitor)
        except DeniedError as error:
            site.refuse(visitor.account, error.code, at=request.url.path[:100])
            return self._told(error)
        request.state.session = room
        return None

    def _place(self, request: Request) -> AbstractAsyncContextManager[None]:
        """Where a file is taken, if the request brings one: one of an account, a few in all."""
        if request.method in SAFE or not takes_file(request.url.path):
            return nullcontext()
        return self._counter.place(request.state.visitor.account)

    def _told(self, error: DeniedError) -> Response:
        words = self._say(f"portal.refused.{error.code}")
        return JSONResponse({"error": error.code, "problem": words}, error.status)


def sessions_app(rooms: Sessions, counter: UploadLimiter, home: tuple[str, str]) -> ASGIApp:
    """Rooms of a kind in every language, to be mounted with an id as ``of``.

    Args:
        rooms: the rooms.
        counter: how many files are taken at once.
        home: what the way out leads to, and its address.
    """
    door = SessionGateway(rooms, counter)
    apps = {name: workbench_app(None, door, name, home=home) for name in LANGUAGES}

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await apps[language_of(Request(scope))](scope, receive, send)

    return app


Thing = TypeVar("Thing")


class Recent(Generic[Thing]):
    """At most so many things, each by its key; safe for several threads."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._lock = Lock()
        self._held: OrderedDict[Hashable, Thing] = OrderedDict()

    def of(self, key: Hashable, make: Callable[[], Thing]) -> Thing:
        """The thing of a key, made if it is not held; nobody else waits while it is made."""
        with self._lock:
            if key in self._held:
                self._held.move_to_end(key)
                return self._held[key]
        made = make()
        with self._lock:
            thing = self._held.setdefault(key, made)  # of two who made it, all have the first
            self._held.move_to_end(key)
            if len(self._held) > self._most:
                self._held.popitem(last=False)
            return thing


@dataclass(frozen=True)
class Steps:
    """What is looked at, and where one step is taken at a time."""

    site: Site
    of: str
    """The id of the project or the exam."""
    _held: local = field(default_factory=local, repr=False, kw_only=True)

    @contextmanager
    def looking(self) -> Iterator[Transaction]:
        """A transaction that changes nothing, or the one that acts in this thread."""
        held: Transaction | None = getattr(self._held, "session", None)
        if held is not None:
            yield held
            return
        with self.site.database.reading() as session:
            yield session

    @contextmanager
    def acting(self) -> Iterator[Transaction]:
        """The one transaction of a step: nobody else takes one there meanwhile."""
        held: Transaction | None = getattr(self._held, "session", None)
        if held is not None:
            yield held
            return
        with self.site.database.writing() as session:
            _lock(session, self.of)
            self._held.session = session
            try:
                yield session
            finally:
                self._held.session = None


def _lock(session: Transaction, name: str) -> None:
    """Let one transaction act under a name at a time; SQLite lets no two write anyway."""
    if session.get_bind().dialect.name == "postgresql":
        number = int.from_bytes(sha256(name.encode()).digest()[:8], "big", signed=True)
        session.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": number})
