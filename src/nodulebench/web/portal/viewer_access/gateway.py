"""Authentication for viewer sessions within the portal."""

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
from nodulebench.web.portal.accounts.users import User, find_user
from nodulebench.web.portal.guard import SAFE, require_same_site
from nodulebench.web.portal.middleware import UploadLimiter, takes_file
from nodulebench.web.portal.page import language_of, redirect
from nodulebench.web.portal.site import Site
from nodulebench.web.viewer.app import OWN_PAGE, with_headers, workbench_app
from nodulebench.web.viewer.session import ReadingSession


class SessionProvider(Protocol):
    """All viewer sessions of one kind, one for each object and user."""

    site: Site
    route: str
    """Name of the route in the table of roles."""

    def of(self, name: str, user: User) -> ReadingSession:
        """The session of a user for the object with an id, if they have access to it."""
        ...


class SessionGateway:
    """Admits signed-in users to the sessions that they have access to."""

    def __init__(self, sessions: SessionProvider, limiter: UploadLimiter) -> None:
        self.sessions = sessions
        self.limiter = limiter

    def guard(self, app: ASGIApp, translate: Translator) -> ASGIApp:
        return SiteGuard(app, self.sessions, self.limiter, portal_translator(translate.name))


class SiteGuard:
    """The guard of session requests: identifies the user and finds their session."""

    def __init__(
        self, app: ASGIApp, sessions: SessionProvider, limiter: UploadLimiter, translate: Translator
    ) -> None:
        self._app = app
        self._sessions = sessions
        self._limiter = limiter
        self._translate = translate

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        request, answer = Request(scope), with_headers(send)
        refusal = await run_in_threadpool(self._enter, request)
        if refusal is not None:
            await refusal(scope, receive, answer)
            return
        try:
            async with self._upload_slot(request):
                await self._app(scope, receive, answer)
        except DeniedError as error:
            await self._error_response(error)(scope, receive, answer)

    def _enter(self, request: Request) -> Response | None:
        site = self._sessions.site
        user = find_user(site, request)
        request.state.user = user
        if not user.session:
            path = request.url.path
            is_page = request.method == "GET" and path == f"{request.scope['root_path']}/"
            if is_page:
                return redirect(f"/sign-in?next={path}")
            return self._error_response(DeniedError("sign_in_first", 401))
        try:
            if not may(user.roles, self._sessions.route):
                raise DeniedError("not_allowed", 403)
            if request.method not in SAFE:
                require_same_site(request, site)
                if request.headers.get(OWN_PAGE[0]) != OWN_PAGE[1]:
                    raise DeniedError("form_old", 403)
            session = self._sessions.of(request.path_params["of"], user)
        except DeniedError as error:
            site.refuse(user.account, error.code, at=request.url.path[:100])
            return self._error_response(error)
        request.state.session = session
        return None

    def _upload_slot(self, request: Request) -> AbstractAsyncContextManager[None]:
        if request.method in SAFE or not takes_file(request.url.path):
            return nullcontext()
        return self._limiter.slot(request.state.user.account)

    def _error_response(self, error: DeniedError) -> Response:
        words = self._translate(f"portal.refused.{error.code}")
        return JSONResponse({"error": error.code, "problem": words}, error.status)


def sessions_app(
    sessions: SessionProvider, limiter: UploadLimiter, home: tuple[str, str]
) -> ASGIApp:
    """The viewer for sessions of a kind; ``home`` is the page it returns to (name, URL)."""
    gateway = SessionGateway(sessions, limiter)
    apps = {name: workbench_app(None, gateway, name, home=home) for name in LANGUAGES}

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await apps[language_of(Request(scope))](scope, receive, send)

    return app


Value = TypeVar("Value")


class LruCache(Generic[Value]):
    """A thread-safe cache of limited size that drops the least recently used value."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._lock = Lock()
        self._held: OrderedDict[Hashable, Value] = OrderedDict()

    def of(self, key: Hashable, make: Callable[[], Value]) -> Value:
        with self._lock:
            if key in self._held:
                self._held.move_to_end(key)
                return self._held[key]
        made = make()
        with self._lock:
            first = self._held.setdefault(key, made)  # if two threads made it, both use the first
            self._held.move_to_end(key)
            if len(self._held) > self._most:
                self._held.popitem(last=False)
            return first


@dataclass(frozen=True)
class StepTransactions:
    """Transactions of a project or an exam, with one writer at a time."""

    site: Site
    of: str
    _held: local = field(default_factory=local, repr=False, kw_only=True)

    @contextmanager
    def reading(self) -> Iterator[Transaction]:
        """A transaction that changes nothing, or the current writing transaction of this thread."""
        held: Transaction | None = getattr(self._held, "session", None)
        if held is not None:
            yield held
            return
        with self.site.database.reading() as session:
            yield session

    @contextmanager
    def acting(self) -> Iterator[Transaction]:
        """A writing transaction; others of the same project or exam wait."""
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
    """Serialise transactions under a name; SQLite allows only one writer anyway."""
    if session.get_bind().dialect.name == "postgresql":
        number = int.from_bytes(sha256(name.encode()).digest()[:8], "big", signed=True)
        session.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": number})
