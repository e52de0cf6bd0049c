"""A cache of public pages, valid until the next event of the site.

Users who are not signed in get the response to an anonymous request: a page depends only on its
address and language and on no other header, so that no request can influence the page of the next.
A page belongs to the last event of the log, and every action is an event.
"""

import asyncio
import re
from collections import OrderedDict
from dataclasses import dataclass
from time import monotonic
from typing import Final

from sqlalchemy import func, select
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from nodulebench.web.portal.accounts.credentials import new_secret
from nodulebench.web.portal.accounts.users import cookie_name
from nodulebench.web.portal.database.database import UNREACHED
from nodulebench.web.portal.database.models import StoredEvent
from nodulebench.web.portal.guard import FORM
from nodulebench.web.portal.page import language_of
from nodulebench.web.portal.site import Site

CACHED: Final = re.compile(r"/(?:benchmarks/[0-9a-f]{16})?")
"""Paths of cached pages: the home page and leaderboards."""
MAX_PAGES, MAX_QUERY = 256, 400
LASTS_S = 5.0
"""Maximum age, because dates pass and rankings are computed without an event."""
Key = tuple[str, bytes, str]
"""Path, query, and language."""


@dataclass(frozen=True, slots=True)
class _Page:
    version: int
    made_at: float
    head: Message
    body: bytes

    def is_current(self, version: int) -> bool:
        return self.version == version and monotonic() - self.made_at < LASTS_S


class PageCache:
    """Answers requests for public pages from memory and forwards all others."""

    def __init__(self, app: ASGIApp, site: Site) -> None:
        self._app, self._site = app, site
        self._session = cookie_name(site)
        self._secret = new_secret()
        """Placeholder for the secret of a form; a page that contains it is not cached."""
        self._pages: OrderedDict[Key, _Page] = OrderedDict()
        self._making: dict[tuple[Key, int], asyncio.Task[_Page | None]] = {}
        self._read: asyncio.Task[int] | None = None
        self._next_read: asyncio.Task[int] | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        key = self._key(scope)
        page = None if key is None else await self._current_page(key, scope)
        if page is None:
            await self._app(scope, receive, send)
            return
        await send({**page.head, "headers": list(page.head["headers"])})
        await send({"type": "http.response.body", "body": page.body})

    def _key(self, scope: Scope) -> Key | None:
        if (
            scope["type"] != "http"
            or scope["method"] != "GET"
            or not CACHED.fullmatch(scope["path"])
        ):
            return None
        request = Request(scope)
        is_identified = "authorization" in request.headers or self._session in request.cookies
        query: bytes = scope["query_string"]
        if is_identified or len(query) > MAX_QUERY:
            return None
        return scope["path"], query, language_of(request)

    async def _current_page(self, key: Key, scope: Scope) -> _Page | None:
        try:
            version = await self._version()
        except UNREACHED:
            return None
        page = self._pages.get(key)
        if page is not None and page.is_current(version):
            self._pages.move_to_end(key)
            return page
        making = self._making.get((key, version))
        if making is None:  # simultaneous requests share one rendering
            making = asyncio.ensure_future(self._make_page(key, version, scope))
            self._making[key, version] = making
            making.add_done_callback(lambda _: self._making.pop((key, version), None))
        return await asyncio.shield(making)

    async def _make_page(self, key: Key, version: int, scope: Scope) -> _Page | None:
        messages: list[Message] = []

        async def nothing() -> Message:
            return {"type": "http.request", "body": b"", "more_body": False}

        async def collect(message: Message) -> None:
            messages.append(message)

        made_at = monotonic()
        await self._app(self._anonymous_request(key, scope), nothing, collect)
        head, body = messages[0], b"".join(message.get("body", b"") for message in messages[1:])
        has_cookie = any(name == b"set-cookie" for name, _ in head["headers"])
        if head["status"] != 200 or has_cookie or self._secret.encode() in body:
            return None
        page = self._pages[key] = _Page(version, made_at, head, body)
        while len(self._pages) > MAX_PAGES:
            self._pages.popitem(last=False)
        return page

    def _anonymous_request(self, key: Key, scope: Scope) -> Scope:
        """The same request without cookies or headers of the user, except those in the key."""
        form = f"{cookie_name(self._site, FORM)}={self._secret}"
        headers = [(b"accept-language", key[2].encode()), (b"cookie", form.encode())]
        return {**scope, "headers": headers, "client": None, "state": {}}

    async def _version(self) -> int:
        """The last event, read after this call; simultaneous calls share a query."""
        if self._next_read is None or self._next_read.get_loop() is not asyncio.get_running_loop():
            self._next_read = asyncio.ensure_future(self._read_version(self._read))
        return await asyncio.shield(self._next_read)

    async def _read_version(self, before: "asyncio.Task[int] | None") -> int:
        if before is not None and not before.done():
            await asyncio.wait([before])
        self._read, self._next_read = self._next_read, None
        return await run_in_threadpool(self._last_event)

    def _last_event(self) -> int:
        with self._site.database.reading() as session:
            return session.scalar(select(func.max(StoredEvent.number))) or 0
