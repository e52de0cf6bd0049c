"""What routes depend on: the session of a request, and the scan with the number in its path."""

from typing import Annotated

from fastapi import Depends, HTTPException, Request

from nodulebench.web.viewer.drafts import Drafts
from nodulebench.web.viewer.scans import Scan, Tiles
from nodulebench.web.viewer.session import ReadingSession

WAITS_S = 20.0


def _session(request: Request) -> ReadingSession:
    session: ReadingSession = getattr(request.state, "session", None) or request.app.state.session
    return session


CurrentSession = Annotated[ReadingSession, Depends(_session)]


def _scan(session: CurrentSession, number: int) -> Scan:
    if not session.is_open(number):
        raise HTTPException(404, "no such scan")
    return session.scan(number)


CurrentScan = Annotated[Scan, Depends(_scan)]


def _drafts(session: CurrentSession) -> Drafts:
    if session.drafts is None:
        raise HTTPException(404, "nothing can be drawn here")
    return session.drafts


CurrentDrafts = Annotated[Drafts, Depends(_drafts)]


def _tiles(session: CurrentSession, number: int, scan: CurrentScan) -> Tiles:  # noqa: ARG001 - checks number
    tiles = session.tiles(number, waits_s=WAITS_S)
    if tiles is None:
        raise HTTPException(503, "the scan is still being read")
    return tiles


CurrentTiles = Annotated[Tiles, Depends(_tiles)]
