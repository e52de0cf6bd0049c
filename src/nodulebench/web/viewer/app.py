"""A room and its door -> the web application; and the program that serves it on this machine."""

import socket
from collections.abc import Callable
from contextlib import suppress
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
from nodulebench.evaluation.recompute import load_evaluated
from nodulebench.i18n.translator import LanguageName, Translator, translator
from nodulebench.io.atomic import make_folder
from nodulebench.web.viewer.evaluation import EvaluationLayer, open_gallery
from nodulebench.web.viewer.exam import Exam, open_exam_session
from nodulebench.web.viewer.project import open_project_session
from nodulebench.web.viewer.routes import evaluation, page, project, readings, scans
from nodulebench.web.viewer.session import ReadingSession, open_session
from nodulebench.web.viewer.study import open_study_session

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
"""Of every answer. Nothing of a patient stays in the browser's cache."""
LOOPBACK, BACKLOG = "127.0.0.1", 2048
SAFE = ("GET", "HEAD")
OWN_PAGE = ("x-requested-with", "nodulebench")
"""The header by which our pages say that they ask, which no page of others can set."""


def listening(host: str, port: int, *, is_shared: bool = False) -> socket.socket:
    """A socket that listens; shared ones are dealt their connections by the system.

    What is written is sent at once: else the body of an answer waits up to 40 ms for the other side
    to say that it has the head. Connections have that from the socket that they came to.

    Raises:
        InputError: if the port is somebody else's, or the address not ours.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        made = socket.create_server(
            (host, port), family=family, backlog=BACKLOG, reuse_port=is_shared
        )
    except (OSError, ValueError) as error:
        what = f"cannot be listened on: {error}"
        remedy = "Choose another --port" + (" or --host." if host != LOOPBACK else ".")
        raise InputError.at(f"{host}:{port}", what, remedy) from error
    made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return made


@dataclass(frozen=True)
class LocalAuth:
    """The names under which a machine is called, and the secret of its address."""

    port: int
    secret: str = field(default_factory=lambda: token_urlsafe(32))

    @property
    def address(self) -> str:
        """What a reader opens."""
        return f"http://127.0.0.1:{self.port}/?{TOKEN}={self.secret}"

    @property
    def cookie(self) -> str:
        """The name of the cookie: every port has its own."""
        return f"nodulebench-{self.port}"

    def guard(self, app: ASGIApp, translate: Translator) -> "Guard":
        """What stands before an app."""
        return Guard(app, self, translate)

    @property
    def hosts(self) -> tuple[str, ...]:
        """How a browser may call this machine."""
        return tuple(f"{name}:{self.port}" for name in ("127.0.0.1", "localhost", "[::1]"))


class Entrance(Protocol):
    """Who lets people into a room: this machine's door, or the site that it is part of."""

    def guard(self, app: ASGIApp, translate: Translator) -> ASGIApp:
        """What stands before an app."""
        ...


def with_headers(send: Send) -> Send:
    """Answers with what browsers have to know of every page of a room."""

    async def headed(message: Message) -> None:
        if message["type"] == "http.response.start":
            MutableHeaders(scope=message).update(HEADERS)
        await send(message)

    return headed


class Guard:
    """Everything that comes in goes by here first."""

    def __init__(self, app: ASGIApp, door: LocalAuth, translate: Translator) -> None:
        self._app = app
        self._door = door
        self._say = translate

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer for the app where somebody may not come in."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        refusal = self._refusal(scope)
        await (refusal or self._app)(scope, receive, with_headers(send))

    def _refusal(self, scope: Scope) -> Response | None:
        headers = Headers(scope=scope)
        if headers.get("host", "").lower() not in self._door.hosts:
            return PlainTextResponse(self._say("workbench.other_host"), 421)
        given = QueryParams(scope["query_string"]).get(TOKEN)
        if given is not None and scope["path"] == "/":
            return self._let_in() if self._knows(given) else self._stranger()
        cookies = cookie_parser(headers.get("cookie", ""))
        if not self._knows(cookies.get(self._door.cookie, "")):
            return self._stranger()
        if scope["method"] not in SAFE and not self._is_own(headers):
            return PlainTextResponse(self._say("workbench.other_page"), 403)
        return None

    def _knows(self, given: str) -> bool:
        return compare_digest(given.encode(), self._door.secret.encode())

    def _is_own(self, headers: Headers) -> bool:
        """Whether one of our pages asks: it says so itself, and browsers say where it is from."""
        origin = headers.get("origin")
        is_from_here = origin is None or urlsplit(origin).netloc.lower() in self._door.hosts
        return is_from_here and headers.get(OWN_PAGE[0]) == OWN_PAGE[1]

    def _stranger(self) -> Response:
        return PlainTextResponse(self._say("workbench.stranger"), 403)

    def _let_in(self) -> Response:
        """The secret leaves the address line, and with it history and bookmarks."""
        answer = RedirectResponse("/", 303)
        answer.set_cookie(self._door.cookie, self._door.secret, httponly=True, samesite="strict")
        return answer


with needs("workbench", "the reading room"):
    import uvicorn
    from fastapi import FastAPI, Request
    from fastapi.responses import JSONResponse
    from starlette.staticfiles import StaticFiles


STATIC = Path(__file__).parent / "static"
PORT = ".port"
"""Where a room was last, in its folder."""


def workbench_app(
    room: ReadingSession | None,
    door: Entrance,
    speaks: LanguageName = "en",
    home: tuple[str, str] | None = None,
) -> FastAPI:
    """The reading room behind its door.

    Args:
        room: its scans, and what is drawn in them; None: everybody's own, which the door knows.
        door: who may come in.
        speaks: the language of the page.
        home: what the way out leads to, and its address; None: there is none.
    """
    translate = translator(speaks)
    app = FastAPI(title="NoduleBench", docs_url=None, redoc_url=None, openapi_url=None)
    app.state.room, app.state.translate, app.state.home = room, translate, home
    for routes in (page, scans, readings, evaluation, project):
        app.include_router(routes.router)
    app.mount("/static", StaticFiles(directory=STATIC), name="static")
    app.add_exception_handler(InputError, _told)
    app.add_exception_handler(ValidationError, _told)  # an outline that has become too long
    app.add_middleware(door.guard, translate=translate)
    return app


def _told(_: Request, error: Exception) -> JSONResponse:
    """What is wrong with what was given, for the page to show."""
    return JSONResponse({"problem": str(error)}, 422)


def serve(
    place: Path,
    *,
    reader: str,
    folder: Path | None,
    port: int,
    speaks: LanguageName,
    opened: Callable[[str], object],
    exam: Exam | None = None,
) -> None:
    """Serve the reading room of a folder until it is stopped.

    Args:
        place: of the scans.
        reader: who reads.
        folder: where readings are kept; None: beside the scans.
        port: on loopback; 0: any that is free.
        speaks: the language of the page.
        opened: told the address as soon as it can be opened.
        exam: that is sat on these scans.

    Raises:
        InputError: if there are no scans, somebody else reads there, or the port is taken.
    """
    opening = (
        open_session(place, reader, folder)
        if exam is None
        else open_exam_session(place, reader, exam, folder)
    )
    with opening as room:
        _serve(room, port, opened, speaks)


def serve_project(
    project: Path,
    images: Path,
    *,
    reader: str,
    folder: Path | None,
    port: int,
    speaks: LanguageName,
    opened: Callable[[str], object],
    key: Path | None = None,
    passphrase: str = "",
) -> None:
    """Serve one person's part of an annotation project; see ``open_project_session``.

    Raises:
        InputError: if the person has no part in it, an image is missing, or the port is taken.
    """
    with open_project_session(project, images, reader, folder, key, passphrase) as room:
        _serve(room, port, opened, speaks)


def serve_study(
    study: Path,
    images: Path,
    *,
    reader: str,
    folder: Path | None,
    port: int,
    speaks: LanguageName,
    opened: Callable[[str], object],
) -> None:
    """Serve the places of an observer study to a reader until it is stopped.

    Raises:
        InputError: if the person has no part in it, an image is missing, or the port is taken.
    """
    with open_study_session(study, images, reader, folder) as room:
        _serve(room, port, opened, speaks)


def serve_evaluation(
    result: Path,
    images: Path,
    *,
    folder: Path | None,
    port: int,
    speaks: LanguageName,
    opened: Callable[[str], object],
) -> None:
    """Serve the cases of an evaluation with their images until it is stopped.

    Args:
        result: what ``evaluate --out`` wrote.
        images: where the scans of its cases are.
        folder: where voxels are kept; None: beside the scans.
        port: on loopback; 0: any that is free.
        speaks: the language of the page.
        opened: told the address as soon as it can be opened.

    Raises:
        InputError: if the result cannot be read, no case has a scan, or the port is taken.
    """
    judged = EvaluationLayer(load_evaluated(result))
    with open_gallery(images, judged, folder) as room:
        _serve(room, port, opened, speaks)


def _serve(
    room: ReadingSession, port: int, opened: Callable[[str], object], speaks: LanguageName
) -> None:
    with _listening_as_before(room.folder, port) as heard:
        door = LocalAuth(heard.getsockname()[1])
        settings = uvicorn.Config(
            workbench_app(room, door, speaks),
            log_level="warning",
            access_log=False,
            server_header=False,
            ws="none",
            lifespan="off",
        )
        opened(door.address)
        uvicorn.Server(settings).run(sockets=[heard])


def _listening_as_before(folder: Path, port: int) -> socket.socket:
    """Listen on a port; where any will do, on the last one, if nobody else has it.

    A browser keeps edits that wait for a connection by the address of the page: on another port
    they would wait for ever.
    """
    kept = folder / PORT
    last = kept.read_text(encoding="utf-8").strip() if kept.is_file() else ""
    if not port and last.isdecimal() and int(last) < 65_536:
        with suppress(InputError):
            return listening(LOOPBACK, int(last))
    heard = listening(LOOPBACK, port)
    make_folder(folder)
    kept.write_text(str(heard.getsockname()[1]), encoding="utf-8")
    return heard
