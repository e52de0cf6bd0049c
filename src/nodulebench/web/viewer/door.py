"""Who may come in: whoever was given the address with its secret, on this machine alone.

A page of others cannot ask in a reader's name: the name of the host is compared, so that no other
name can be made to mean this machine; the cookie stays with our own pages; and what changes
something must come from one of them.
"""

import socket
from dataclasses import dataclass, field
from hmac import compare_digest
from secrets import token_urlsafe
from typing import Protocol
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders, QueryParams
from starlette.requests import cookie_parser
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from nodulebench.core.errors import InputError
from nodulebench.i18n.translator import Language

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
class Door:
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

    def guard(self, app: ASGIApp, say: Language) -> "Guard":
        """What stands before an app."""
        return Guard(app, self, say)

    @property
    def hosts(self) -> tuple[str, ...]:
        """How a browser may call this machine."""
        return tuple(f"{name}:{self.port}" for name in ("127.0.0.1", "localhost", "[::1]"))


class Entrance(Protocol):
    """Who lets people into a room: this machine's door, or the site that it is part of."""

    def guard(self, app: ASGIApp, say: Language) -> ASGIApp:
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

    def __init__(self, app: ASGIApp, door: Door, say: Language) -> None:
        self._app = app
        self._door = door
        self._say = say

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
