"""Middleware around all routes: limits of request bodies, uploads at a time, response headers."""

import shutil
from collections import Counter as Counted
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from threading import Lock
from time import monotonic

import anyio
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from nodulebench.web.portal.accounts.service import DeniedError
from nodulebench.web.portal.site import MIB

POLICY = (
    "default-src 'none'; object-src 'none'; script-src 'self'; style-src 'self'; "
    "img-src 'self' data:; connect-src 'self'; form-action 'self'; frame-ancestors 'none'; "
    "base-uri 'none'"
)
"""Only files of this site; no inline scripts or styles."""
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=()",
    "Cache-Control": "no-store",
}
"""Defaults, unless a route sets another value."""
STAY = "max-age=31536000; includeSubDomains"
SMALL = MIB
UPLOADS = ("/submit", "/validate", "/check", "/entries", "/rules", "/exams/new", "/files")
"""Endings of the URL paths that accept a file."""


def takes_file(path: str) -> bool:
    return path.endswith(UPLOADS)


class TooLargeError(Exception):
    """The body of a request is larger than allowed."""


class SecurityHeaders:
    """Sets the security headers of every response."""

    def __init__(self, app: ASGIApp, is_secure: bool) -> None:
        self._app = app
        secure = {"Strict-Transport-Security": STAY} if is_secure else {}
        self._headers = {**HEADERS, **secure}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in self._headers.items():
                    headers.setdefault(name, value)
            await send(message)

        await self._app(scope, receive, with_headers)


class BodySizeLimit:
    """Refuses a body as soon as it passes the limit, regardless of its declared length."""

    def __init__(
        self, app: ASGIApp, largest_upload: int, on_refused: Callable[[str], object]
    ) -> None:
        """Limit uploads to a size; call ``on_refused`` with the path of a refused request."""
        self._app = app
        self._largest = largest_upload
        self._on_refused = on_refused

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        most = self._largest + SMALL if takes_file(scope["path"]) else SMALL
        declared = next(
            (value for name, value in scope["headers"] if name == b"content-length"), b"0"
        )
        received = 0

        async def counted() -> Message:
            nonlocal received
            message = await receive()
            received += len(message.get("body", b""))
            if received > most:
                raise TooLargeError
            return message

        is_answered = False

        async def sending(message: Message) -> None:
            nonlocal is_answered
            is_answered = True
            await send(message)

        if not declared.isdigit() or int(declared) > most:
            await run_in_threadpool(self._on_refused, scope["path"])
            await _refuse(send)
            return
        try:
            await self._app(scope, counted, sending)
        except TooLargeError:
            await run_in_threadpool(self._on_refused, scope["path"])
            if not is_answered:
                await _refuse(send)


async def _refuse(send: Send) -> None:
    headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"connection", b"close")]
    await send({"type": "http.response.start", "status": 413, "headers": headers})
    await send(
        {"type": "http.response.body", "body": b"413: the request is larger than allowed.\n"}
    )


AT_ONCE, PER_ACCOUNT = 4, 1
"""Uploads at a time: per server, and per account."""
MAX_WAITING, WAITS_S, POLL_S = 400, 120.0, 0.02
SPARE = 1024**3
"""Bytes that stay free on the disk for the database and for results."""


class UploadLimiter:
    """Limits the number of simultaneous uploads of one server."""

    def __init__(
        self, at_once: int = AT_ONCE, per_account: int = PER_ACCOUNT, waits_s: float = WAITS_S
    ):
        self._at_once, self._of_one, self._waits_s = at_once, per_account, waits_s
        self._lock = Lock()
        self._taken: Counted[str] = Counted()
        self._waiting = 0

    @asynccontextmanager
    async def slot(self, account: str) -> AsyncIterator[None]:
        """Wait for a slot for one upload; refused if too many wait or none becomes free in time."""
        await self._wait_for_slot(account)
        try:
            yield
        finally:
            with self._lock:
                self._taken[account] -= 1
                self._taken += Counted()  # drop accounts without uploads

    async def _wait_for_slot(self, account: str) -> None:
        with self._lock:
            if self._waiting >= MAX_WAITING:
                raise DeniedError("busy", 503)
            self._waiting += 1
        try:
            until = monotonic() + self._waits_s
            while not self._take(account):
                if monotonic() > until:
                    raise DeniedError("busy", 503)
                await anyio.sleep(POLL_S)
        finally:
            with self._lock:
                self._waiting -= 1

    def _take(self, account: str) -> bool:
        with self._lock:
            is_free = self._taken.total() < self._at_once and self._taken[account] < self._of_one
            if is_free:
                self._taken[account] += 1
            return is_free


def free_bytes(folder: Path) -> int:
    return max(0, shutil.disk_usage(folder).free - SPARE)


def require_free_disk(folder: Path, declared: str) -> None:
    """Reject an upload unless the disk has space for two copies: on arrival and when stored."""
    if free_bytes(folder) <= 2 * (int(declared) if declared.isdecimal() else 0):
        raise DeniedError("disk_full", 507)
