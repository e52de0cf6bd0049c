"""The web application of the viewer, and the server that runs it on this machine."""

import socket
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field
from hmac import compare_digest
from pathlib import Path
from secrets import token_urlsafe
from typing import Protocol
from urllib.parse import urlsplit

from pydantic import ValidationError
from starlette.datastructures import Headers, MutableHeaders, QueryParams
from starlette.requests import cookie_parser
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from nodulebench.core.errors import InputError
from nodulebench.core.optional_packages import needs
from nodulebench.i18n.translator import LanguageName, Translator, translator
from nodulebench.io.atomic import make_folder
from nodulebench.web.viewer.routes import router
from nodulebench.web.viewer.session import ReadingSession

TOKEN = "token"  # noqa: S105 - the name of a parameter
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
"""Of every response. No patient data stay in the browser's cache."""
LOOPBACK, BACKLOG = "127.0.0.1", 2048
SAFE = ("GET", "HEAD")
OWN_PAGE = ("x-requested-with", "nodulebench")
"""A header that our own pages send; a page of another site cannot set it."""


def open_listener(host: str, port: int, *, is_shared: bool = False) -> socket.socket:
    """A listening socket; the system distributes connections among shared ones.

    Data are sent without delay (TCP_NODELAY): otherwise the body of a response waits up to 40 ms
    for the acknowledgement of its head. Connections inherit the option from this socket.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listener = socket.create_server(
            (host, port), family=family, backlog=BACKLOG, reuse_port=is_shared
        )
    except (OSError, ValueError) as error:
        what = f"cannot be listened on: {error}"
        remedy = "Choose another --port" + (" or --host." if host != LOOPBACK else ".")
        raise InputError.at(f"{host}:{port}", what, remedy) from error
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listener


@dataclass(frozen=True)
class LocalAuth:
    """Access on this machine: the allowed host names and the secret of the address."""

    port: int
    secret: str = field(default_factory=lambda: token_urlsafe(32))

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}/?{TOKEN}={self.secret}"

    @property
    def cookie(self) -> str:
        return f"nodulebench-{self.port}"

    def guard(self, app: ASGIApp, translate: Translator) -> "Guard":
        return Guard(app, self, translate)

    @property
    def hosts(self) -> tuple[str, ...]:
        return tuple(f"{name}:{self.port}" for name in ("127.0.0.1", "localhost", "[::1]"))


class AccessControl(Protocol):
    """Decides who may open the viewer: ``LocalAuth``, or the portal that it is part of."""

    def guard(self, app: ASGIApp, translate: Translator) -> ASGIApp: ...


def with_headers(send: Send) -> Send:
    async def headed(message: Message) -> None:
        if message["type"] == "http.response.start":
            MutableHeaders(scope=message).update(HEADERS)
        await send(message)

    return headed


class Guard:
    """Checks host, secret and origin of every request before the app sees it."""

    def __init__(self, app: ASGIApp, auth: LocalAuth, translate: Translator) -> None:
        self._app = app
        self._auth = auth
        self._translate = translate

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        refusal = self._refusal(scope)
        await (refusal or self._app)(scope, receive, with_headers(send))

    def _refusal(self, scope: Scope) -> Response | None:
        headers = Headers(scope=scope)
        if headers.get("host", "").lower() not in self._auth.hosts:
            return PlainTextResponse(self._translate("workbench.other_host"), 421)
        secret = QueryParams(scope["query_string"]).get(TOKEN)
        if secret is not None and scope["path"] == "/":
            return self._set_cookie() if self._is_valid(secret) else self._forbidden()
        cookies = cookie_parser(headers.get("cookie", ""))
        if not self._is_valid(cookies.get(self._auth.cookie, "")):
            return self._forbidden()
        if scope["method"] not in SAFE and not self._is_own_page(headers):
            return PlainTextResponse(self._translate("workbench.other_page"), 403)
        return None

    def _is_valid(self, secret: str) -> bool:
        return compare_digest(secret.encode(), self._auth.secret.encode())

    def _is_own_page(self, headers: Headers) -> bool:
        origin = headers.get("origin")
        is_same_origin = origin is None or urlsplit(origin).netloc.lower() in self._auth.hosts
        return is_same_origin and headers.get(OWN_PAGE[0]) == OWN_PAGE[1]

    def _forbidden(self) -> Response:
        return PlainTextResponse(self._translate("workbench.stranger"), 403)

    def _set_cookie(self) -> Response:
        """Move the secret from the address into a cookie, out of history and bookmarks."""
        response = RedirectResponse("/", 303)
        response.set_cookie(self._auth.cookie, self._auth.secret, httponly=True, samesite="strict")
        return response


with needs("workbench", "the CT viewer"):
    import uvicorn
    from fastapi import FastAPI, Request
    from fastapi.responses import JSONResponse
    from starlette.staticfiles import StaticFiles


STATIC = Path(__file__).parent / "static"
PORT = ".port"
"""A file in the folder of readings: the port that the viewer used last."""


def workbench_app(
    session: ReadingSession | None,
    access: AccessControl,
    language: LanguageName = "en",
    home: tuple[str, str] | None = None,
) -> FastAPI:
    """The viewer; without ``session``, ``access`` puts each user's session into the request."""
    translate = translator(language)
    app = FastAPI(title="NoduleBench", docs_url=None, redoc_url=None, openapi_url=None)
    app.state.session, app.state.translate, app.state.home = session, translate, home
    app.include_router(router)
    app.mount("/static", StaticFiles(directory=STATIC), name="static")
    app.add_exception_handler(InputError, _problem)
    app.add_exception_handler(ValidationError, _problem)  # an outline that has become too long
    app.add_middleware(access.guard, translate=translate)
    return app


def _problem(_: Request, error: Exception) -> JSONResponse:
    return JSONResponse({"problem": str(error)}, 422)


def serve(
    opening: AbstractContextManager[ReadingSession],
    *,
    port: int = 0,
    language: LanguageName = "en",
    on_ready: Callable[[str], object],
) -> None:
    """Serve a session on this machine; ``on_ready`` gets the address. Port 0 is any free one."""
    with opening as session, _open_last_port(session.folder, port) as listener:
        auth = LocalAuth(listener.getsockname()[1])
        settings = uvicorn.Config(
            workbench_app(session, auth, language),
            log_level="warning",
            access_log=False,
            server_header=False,
            ws="none",
            lifespan="off",
        )
        on_ready(auth.address)
        uvicorn.Server(settings).run(sockets=[listener])


def _open_last_port(folder: Path, port: int) -> socket.socket:
    """Listen on a port, 0: the last one of this folder if free.

    A browser stores unsent edits by the address of the page, and could not send them to another
    port.
    """
    stored = folder / PORT
    last = stored.read_text(encoding="utf-8").strip() if stored.is_file() else ""
    if not port and last.isdecimal() and int(last) < 65_536:
        with suppress(InputError):
            return open_listener(LOOPBACK, int(last))
    listener = open_listener(LOOPBACK, port)
    make_folder(folder)
    stored.write_text(str(listener.getsockname()[1]), encoding="utf-8")
    return listener
