"""What routes are given with a request: the room, and the scan that its number stands for."""

from typing import Annotated

from fastapi import Depends, HTTPException, Request

from nodulebench.web.viewer.drafts import Drafts
from nodulebench.web.viewer.scans import Scan, Tiles
from nodulebench.web.viewer.session import ReadingSession

WAITS_S = 20.0


def _room(request: Request) -> ReadingSession:
    room: ReadingSession = getattr(request.state, "room", None) or request.app.state.room
    return room


GivenRoom = Annotated[ReadingSession, Depends(_room)]


def _scan(room: GivenRoom, number: int) -> Scan:
    if not room.is_open(number):
        raise HTTPException(404, "no such scan")
    return room.scan(number)


GivenScan = Annotated[Scan, Depends(_scan)]


def _drafts(room: GivenRoom) -> Drafts:
    if room.drafts is None:
        raise HTTPException(404, "nothing can be drawn here")
    return room.drafts


GivenDrafts = Annotated[Drafts, Depends(_drafts)]


def _tiles(room: GivenRoom, number: int, scan: GivenScan) -> Tiles:  # noqa: ARG001 - checks number
    tiles = room.tiles(number, waits_s=WAITS_S)
    if tiles is None:
        raise HTTPException(503, "the scan is still being read")
    return tiles


GivenTiles = Annotated[Tiles, Depends(_tiles)]
