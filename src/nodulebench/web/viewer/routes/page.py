"""The page: the viewer with its words, and where its scripts are."""

import re
from functools import cache
from pathlib import Path

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse

from nodulebench.annotation.exam import PASS_METRICS
from nodulebench.annotation.observer_study.calls import CALLS
from nodulebench.core.json_types import JsonObject
from nodulebench.core.tables import DENSITIES, NODULE_TYPES
from nodulebench.i18n.translator import Translator
from nodulebench.report.pages.templates import page
from nodulebench.web.viewer.export import TAKEN, WRITTEN
from nodulebench.web.viewer.project import ProjectSession
from nodulebench.web.viewer.routes.dependencies import GivenRoom
from nodulebench.web.viewer.study import StudySession

router = APIRouter()
VIEWER = Path(__file__).parents[1] / "static" / "viewer"
IMPORTED = re.compile(r"""from "\./([\w.]+)";""")
OWN = "workbench."
"""How the keys of the workbench's words begin."""


@router.get("/", response_class=HTMLResponse)
def viewer(request: Request, room: GivenRoom) -> str:
    """The reading room in one page."""
    translate: Translator = request.app.state.translate
    is_judged = room.judged() is not None
    script = "judging.js" if is_judged else room.script
    return page(
        "workbench.html",
        t=translate,
        words=words(translate),
        is_judged=is_judged,
        sheet=room.sheet(),
        metrics=PASS_METRICS,
        script=script,
        modules=modules_of(script),
        is_study=isinstance(room, StudySession),
        is_work=isinstance(room, ProjectSession),
        reader=room.reader,
        room=room.name,
        home=request.app.state.home,
        calls=CALLS,
        files={kind: translate(f"workbench.file.{kind}") for kind in WRITTEN},
        endings=",".join(sorted({f".{one.rpartition('.')[2]}" for one in TAKEN})),
        types=NODULE_TYPES,
        densities=DENSITIES,
    )


@cache
def modules_of(script: str) -> tuple[str, ...]:
    """The modules that a script needs, for the page to ask for all of them at once."""
    found, waiting = dict.fromkeys([script]), [script]
    while waiting:
        text = (VIEWER / waiting.pop()).read_text(encoding="utf-8")
        new = [name for name in IMPORTED.findall(text) if name not in found]
        found |= dict.fromkeys(new)
        waiting += new
    return tuple(found)[1:]


def words(translate: Translator) -> JsonObject:
    """What the scripts say, without the beginning of the keys."""
    own = {key.removeprefix(OWN): text for key, text in translate.texts(OWN).items()}
    names = (*NODULE_TYPES, *DENSITIES)
    return {**own, **{"name." + name: translate.word(name) for name in names}}
