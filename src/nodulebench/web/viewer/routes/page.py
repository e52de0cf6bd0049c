"""The page of the viewer with its translations and scripts."""

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
from nodulebench.web.viewer.export import READABLE, WRITABLE
from nodulebench.web.viewer.project import ProjectSession
from nodulebench.web.viewer.routes.dependencies import CurrentSession
from nodulebench.web.viewer.session import ReadingSession
from nodulebench.web.viewer.study import StudySession

router = APIRouter()
VIEWER = Path(__file__).parents[1] / "static" / "viewer"
IMPORTED = re.compile(r"""from "\./([\w.]+)";""")
KEYS = "workbench."
"""The prefix of the viewer's translation keys."""


@router.get("/", response_class=HTMLResponse)
def viewer(request: Request, session: CurrentSession) -> str:
    translate: Translator = request.app.state.translate
    template, script = page_of(session)
    return page(
        f"viewer/{template}.html",
        t=translate,
        translations=translations(translate),
        script=script,
        modules=modules_of(script),
        is_project=isinstance(session, ProjectSession),
        sheet=session.sheet(),
        metrics=PASS_METRICS,
        reader=session.reader,
        session=session.name,
        home=request.app.state.home,
        calls=CALLS,
        files={kind: translate(f"workbench.file.{kind}") for kind in WRITABLE},
        extensions=",".join(sorted({f".{ending.rpartition('.')[2]}" for ending in READABLE})),
        types=NODULE_TYPES,
        densities=DENSITIES,
    )


def page_of(session: ReadingSession) -> tuple[str, str]:
    """The template and the script of a session; a finished exam is shown as an evaluation."""
    if session.evaluation() is not None:
        return "evaluation", "evaluation.js"
    if isinstance(session, StudySession):
        return "study", session.script
    return ("project" if isinstance(session, ProjectSession) else "reading"), session.script


@cache
def modules_of(script: str) -> tuple[str, ...]:
    """The modules that a script imports, so that the page can request all of them at once."""
    names, waiting = dict.fromkeys([script]), [script]
    while waiting:
        text = (VIEWER / waiting.pop()).read_text(encoding="utf-8")
        new = [name for name in IMPORTED.findall(text) if name not in names]
        names |= dict.fromkeys(new)
        waiting += new
    return tuple(names)[1:]


def translations(translate: Translator) -> JsonObject:
    """The texts of the scripts by key, without the prefix of the keys."""
    texts = {key.removeprefix(KEYS): text for key, text in translate.texts(KEYS).items()}
    names = (*NODULE_TYPES, *DENSITIES)
    return {**texts, **{"name." + name: translate.word(name) for name in names}}
