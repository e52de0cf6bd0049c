"""A room and its door -> the web application; and the program that serves it on this machine."""

import socket
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from pydantic import ValidationError

from nodulebench.core.errors import InputError
from nodulebench.core.optional_packages import needs
from nodulebench.evaluation.recompute import load_evaluated
from nodulebench.i18n.translator import LanguageName, language
from nodulebench.io.durable import make_folder
from nodulebench.web.viewer.evaluation import Judged
from nodulebench.web.viewer.exam import Exam, open_exam_room
from nodulebench.web.viewer.gallery import open_gallery
from nodulebench.web.viewer.project import open_work_room
from nodulebench.web.viewer.session import Room, open_room
from nodulebench.web.viewer.study import open_study_room

with needs("workbench", "the reading room"):
    import uvicorn
    from fastapi import FastAPI, Request
    from fastapi.responses import JSONResponse
    from starlette.staticfiles import StaticFiles

from nodulebench.web.viewer.door import LOOPBACK, Door, Entrance, listening
from nodulebench.web.viewer.routes import evaluation as judgements
from nodulebench.web.viewer.routes import exchange, hanging, outlines, page, readings, scans
from nodulebench.web.viewer.routes import project as work

STATIC = Path(__file__).parent / "static"
PORT = ".port"
"""Where a room was last, in its folder."""


def workbench_app(
    room: Room | None,
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
    say = language(speaks)
    app = FastAPI(title="NoduleBench", docs_url=None, redoc_url=None, openapi_url=None)
    app.state.room, app.state.say, app.state.home = room, say, home
    for one in (page, scans, hanging, readings, exchange, outlines, judgements, work):
        app.include_router(one.router)
    app.mount("/static", StaticFiles(directory=STATIC), name="static")
    app.add_exception_handler(InputError, _told)
    app.add_exception_handler(ValidationError, _told)  # an outline that has become too long
    app.add_middleware(door.guard, say=say)
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
        open_room(place, reader, folder)
        if exam is None
        else open_exam_room(place, reader, exam, folder)
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
    """Serve somebody's part in an annotation project until it is stopped; see ``open_work_room``.

    Raises:
        InputError: if the person has no part in it, an image is missing, or the port is taken.
    """
    with open_work_room(project, images, reader, folder, key, passphrase) as room:
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
    with open_study_room(study, images, reader, folder) as room:
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
    judged = Judged(load_evaluated(result))
    with open_gallery(images, judged, folder) as room:
        _serve(room, port, opened, speaks)


def _serve(room: Room, port: int, opened: Callable[[str], object], speaks: LanguageName) -> None:
    with _listening_as_before(room.folder, port) as heard:
        door = Door(heard.getsockname()[1])
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
