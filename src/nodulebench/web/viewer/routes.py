"""The routes of the viewer: its page, scans and voxels, readings, evaluations and projects."""

import re
from functools import cache
from pathlib import Path
from typing import Annotated, Literal
from urllib.parse import quote

import numpy as np
from fastapi import APIRouter, Depends, HTTPException, Query, Request, Response
from fastapi.responses import HTMLResponse
from pydantic import Field, FiniteFloat

from nodulebench.annotation.exam import PASS_METRICS
from nodulebench.annotation.observer_study import CALLS
from nodulebench.core.config_model import ConfigModel, checked
from nodulebench.core.errors import InputError
from nodulebench.core.json_types import JsonObject
from nodulebench.core.tables import DENSITIES, NODULE_TYPES
from nodulebench.i18n.translator import Translator
from nodulebench.io.atomic import make_folder
from nodulebench.io.json_files import read_json, write_json
from nodulebench.report.pages.templates import page
from nodulebench.web.viewer.drafts import ConflictError, Drafts, Edit, SavedDraft
from nodulebench.web.viewer.evaluation import EvaluationLayer
from nodulebench.web.viewer.export import READABLE, WRITABLE, read_file, write_file
from nodulebench.web.viewer.findings import (
    MOST_CORNERS,
    Finding,
    OutlinedSlice,
    Point,
    Position,
    fill_gaps,
    join_stroke,
    measure_finding,
    propose_outlines,
)
from nodulebench.web.viewer.project import ProjectSession
from nodulebench.web.viewer.scans import Scan, Tiles
from nodulebench.web.viewer.session import ReadingSession, ScanContext
from nodulebench.web.viewer.study import StudySession

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


router = APIRouter()

VIEWER = Path(__file__).parent / "static"
IMPORTED = re.compile(r"""from "\./([\w.]+)";""")
KEYS = "workbench."


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


MOST_SLICES = 64
SOON_S = 0.2


@router.get("/scans")
def list_scans(session: CurrentSession) -> list[JsonObject]:
    return session.list_scans()


@router.get("/scans/{number}")
def scan_grid(
    session: CurrentSession, scan: CurrentScan, number: int, response: Response
) -> JsonObject:
    tiles = session.tiles(number, waits_s=SOON_S)
    if tiles is None:
        response.status_code = 202
        return {"case_id": session.title(number), "files": len(scan.files)}
    return {"case_id": session.title(number), **_grid(tiles)}


def _grid(tiles: Tiles) -> JsonObject:
    grid, size = tiles.grid, tiles.volume.shape[::-1]
    return {
        "size": size,
        "spacing_mm": grid.spacing_mm.tolist(),
        "origin_mm": grid.origin_mm.tolist(),
        "direction": grid.direction.tolist(),
        "is_resampled": tiles.is_resampled,
        "original_slices": None if tiles.is_resampled else _original_slices(tiles),
    }


def _original_slices(tiles: Tiles) -> list[int]:
    """For each slice shown, its number (from 0) along the image axis that it came from."""
    count = tiles.volume.shape[0]
    ends = np.array([[0.0, 0.0, 0.0], [0.0, 0.0, count - 1.0]])
    index = tiles.original.to_index(tiles.grid.to_world(ends)).round()
    axis = int(abs(index[1] - index[0]).argmax()) if count > 1 else 2
    first, last = int(index[0, axis]), int(index[1, axis])
    return list(range(first, last + 1) if last >= first else range(first, last - 1, -1))


@router.get("/scans/{number}/slices/{first}/{count}")
def voxels(tiles: CurrentTiles, first: int, count: int) -> Response:
    """Neighbouring slices from the feet on: int16, little-endian, row by row."""
    slices = tiles.volume.shape[0]
    if not (0 <= first < slices and 1 <= count <= min(MOST_SLICES, slices - first)):
        raise HTTPException(404, "no such slices")
    return Response(tiles.slices(first, count), media_type="application/octet-stream")


HANGING = "hanging.json"
Zoom = Annotated[FiniteFloat, Field(gt=0, le=1000)]


class Window(ConfigModel):
    """Level and width of the grey scale in HU."""

    level: Annotated[FiniteFloat, Field(ge=-2000, le=4000)]
    width: Annotated[FiniteFloat, Field(ge=1, le=8000)]


class Zooms(ConfigModel):
    """The zoom of each plane; 1: the whole plane fits the view."""

    axial: Zoom
    coronal: Zoom
    sagittal: Zoom


class Hanging(ConfigModel):
    """The hanging protocol of a reader: how every scan is first shown."""

    layout: Literal["three", "one", "prior"]
    preset: Literal["lung", "mediastinum", "bone", "own"]
    window: Window
    is_inverted: bool
    slab_mm: Literal[0, 5, 10, 20, 40]
    shows_cross: bool
    zoom: Zooms


@router.get("/hanging")
def hanging(session: CurrentSession) -> JsonObject | None:
    path = session.folder / HANGING
    if not path.is_file():
        return None
    return checked(Hanging, read_json(path), str(path)).model_dump(mode="json")


@router.post("/hanging")
def save_hanging(session: CurrentSession, wanted: Hanging) -> dict[str, bool]:
    make_folder(session.folder)
    write_json(wanted.model_dump(mode="json"), session.folder / HANGING)
    return {"is_saved": True}


@router.get("/scans/{number}/reading")
def reading(
    request: Request,
    session: CurrentSession,
    drafts: CurrentDrafts,
    tiles: CurrentTiles,
    number: int,
) -> JsonObject:
    translate: Translator = request.app.state.translate
    draft, context = drafts.of(session.draft_key(number)), session.context(number, tiles)
    current = {name: SavedDraft(0, finding) for name, finding in context.candidates.items()}
    for name, saved in draft.findings.items():
        if saved.finding is None and name not in context.known:
            current.pop(name, None)
        else:
            current[name] = SavedDraft(saved.version, saved.finding or context.candidates[name])
    return {
        "mode": context.mode,
        "is_submitted": draft.is_submitted or context.mode == "done",
        "seconds": draft.seconds,
        "findings": [
            {"id": name, **_saved_json(saved, tiles), **_candidate(context, name, translate)}
            for name, saved in current.items()
        ],
        "others": [
            {
                "letter": letter,
                "findings": [finding.model_dump(mode="json") for finding in findings],
            }
            for letter, findings in context.others.items()
        ],
    }


@router.post("/scans/{number}/edits")
def edit_finding(
    session: CurrentSession, drafts: CurrentDrafts, tiles: CurrentTiles, number: int, edit: Edit
) -> JsonObject:
    if session.is_closed(number):
        raise HTTPException(409, {"code": "submitted", "current": None})
    if edit.finding is not None:
        _require_inside_image(edit.finding, tiles, session.title(number))
    try:
        saved = drafts.edit(session.draft_key(number), edit)
    except ConflictError as error:
        current = None if error.current is None else _saved_json(error.current, tiles)
        raise HTTPException(409, {"code": error.code, "current": current}) from error
    return {} if saved is None else _saved_json(saved, tiles)


@router.post("/scans/{number}/submit")
def submit(
    session: CurrentSession, drafts: CurrentDrafts, tiles: CurrentTiles, number: int
) -> dict[str, bool]:
    """Submit a reading for good; ``is_over`` if an exam ended with it, which is then scored."""
    try:
        session.submit(number, tiles, drafts)
    except ConflictError as error:
        raise HTTPException(409, {"code": error.code, "current": None}) from error
    return {"is_submitted": True, "is_over": session.sheet() is not None}


def _candidate(context: ScanContext, name: str, translate: Translator) -> JsonObject:
    if name not in context.known:
        return {}
    known = context.known[name]
    translated = {**known, "why": [translate.message(notice) for notice in known["why"]]}
    return {"known": translated, "proposed": context.candidates[name].model_dump(mode="json")}


def _saved_json(saved: SavedDraft, tiles: Tiles) -> JsonObject:
    finding = saved.finding
    return {
        "version": saved.version,
        "finding": None if finding is None else finding.model_dump(mode="json"),
        "measured": {} if finding is None else measure_finding(finding, tiles),
    }


def _require_inside_image(finding: Finding, tiles: Tiles, case_id: str) -> None:
    count = tiles.volume.shape[0]
    if finding.last_slice >= count:
        what = f"slice {finding.last_slice} is outside the image, which has {count} slices."
        raise InputError.at(f"case '{case_id}'", what)


class Click(ConfigModel):
    """A click on a nodule, and the size that was chosen with the wheel since."""

    position_mm: Position
    level: int = Field(default=0, ge=-8, le=8)


class Stroke(ConfigModel):
    """A closed stroke on a slice, and the outline before it."""

    slice_index: int = Field(ge=0)
    stroke: Annotated[tuple[Point, ...], Field(min_length=3, max_length=MOST_CORNERS)]
    drawn: OutlinedSlice | None = None
    adds: bool = True


class Gaps(ConfigModel):
    """Outlines with slices between them that have none."""

    slices: Annotated[tuple[OutlinedSlice, ...], Field(min_length=1)]


@router.post("/scans/{number}/proposal")
def proposal(tiles: CurrentTiles, click: Click) -> JsonObject:
    slices = propose_outlines(tiles, click.position_mm, click.level)
    finding = Finding(position_mm=click.position_mm, slices=slices)
    return {
        "slices": [slice_.model_dump(mode="json") for slice_ in finding.slices],
        "measured": measure_finding(finding, tiles),
    }


@router.post("/scans/{number}/joined")
def join(tiles: CurrentTiles, stroke: Stroke) -> JsonObject:
    _require_outline_inside([stroke.slice_index], tiles)
    outline = join_stroke(tiles, stroke.drawn, stroke.stroke, stroke.slice_index, adds=stroke.adds)
    return {"drawn": None if outline is None else outline.model_dump(mode="json")}


@router.post("/scans/{number}/filled")
def fill(tiles: CurrentTiles, gaps: Gaps) -> JsonObject:
    _require_outline_inside([slice_.slice_index for slice_ in gaps.slices], tiles)
    slices = fill_gaps(tiles, gaps.slices)
    return {"slices": [slice_.model_dump(mode="json") for slice_ in slices]}


def _require_outline_inside(numbers: list[int], tiles: Tiles) -> None:
    count = tiles.volume.shape[0]
    if max(numbers) >= count:
        raise InputError.at(f"slice {max(numbers)}", f"is outside the image of {count} slices.")


MOST_BYTES = 64 << 20
"""A thousand packed slices of labels need a hundredth of that."""


async def _content(request: Request) -> bytes:
    parts, size = [], 0
    async for part in request.stream():
        size += len(part)
        if size > MOST_BYTES:
            where, what = f"file '{request.query_params.get('name')}'", "is larger than 64 MiB."
            raise InputError.at(where, what, "Save label maps packed: .nii.gz, .seg.nrrd.")
        parts.append(part)
    return b"".join(parts)


Content = Annotated[bytes, Depends(_content)]


@router.get("/scans/{number}/files/{kind}")
def download_file(
    session: CurrentSession,
    drafts: CurrentDrafts,
    tiles: CurrentTiles,
    number: int,
    kind: Literal["slicer_markups", "seg_nrrd", "nifti_labels", "lidc_xml"],
) -> Response:
    draft = drafts.of(session.draft_key(number))
    if not draft.present:
        raise HTTPException(404, "nothing was drawn")
    name, content = write_file(kind, session.title(number), session.reader, draft.present, tiles)
    headers = {"Content-Disposition": f"attachment; filename*=UTF-8''{quote(name)}"}
    return Response(content, media_type="application/octet-stream", headers=headers)


@router.post("/scans/{number}/files")
def upload_file(
    session: CurrentSession,
    drafts: CurrentDrafts,
    tiles: CurrentTiles,
    number: int,
    name: str,
    content: Content,
) -> dict[str, list[JsonObject]]:
    """The findings in a file; the page saves those that it adds, as edits."""
    if session.is_closed(number) or drafts.of(session.draft_key(number)).is_submitted:
        raise HTTPException(409, {"code": "submitted", "current": None})
    findings = read_file(name, content, session.title(number), tiles)
    return {
        "findings": [
            {
                "finding": finding.model_dump(mode="json"),
                "measured": measure_finding(finding, tiles),
            }
            for finding in findings
        ]
    }


def _evaluation(session: CurrentSession) -> EvaluationLayer:
    evaluation = session.evaluation()
    if evaluation is None:
        raise HTTPException(404, "no evaluation is open")
    return evaluation


CurrentEvaluation = Annotated[EvaluationLayer, Depends(_evaluation)]


class Choice(ConfigModel):
    """The rule, the algorithm and the threshold that are shown."""

    rule: str
    algorithm: str
    threshold: FiniteFloat | None = None
    """The lowest score that counts; None: the operating point."""


def _choice(evaluation: CurrentEvaluation, choice: Annotated[Choice, Query()]) -> Choice:
    if evaluation.cohort(choice.rule, choice.algorithm) is None:
        raise HTTPException(404, "no such rule or algorithm")
    return choice


CurrentChoice = Annotated[Choice, Depends(_choice)]


@router.get("/evaluation")
def choices(evaluation: CurrentEvaluation) -> dict[str, JsonObject]:
    return {
        rule: {name: evaluation.points(rule, name) for name in names}
        for rule, names in evaluation.choices().items()
    }


@router.get("/evaluation/errors")
def errors(evaluation: CurrentEvaluation, choice: CurrentChoice) -> JsonObject:
    return evaluation.summary(choice.rule, choice.algorithm, choice.threshold)


@router.get("/scans/{number}/evaluation")
def case_findings(
    evaluation: CurrentEvaluation, scan: CurrentScan, tiles: CurrentTiles, choice: CurrentChoice
) -> list[JsonObject]:
    return evaluation.case_findings(
        scan.case_id, choice.rule, choice.algorithm, tiles, choice.threshold
    )


def _project(session: CurrentSession) -> ProjectSession:
    if not isinstance(session, ProjectSession):
        raise HTTPException(404, "no project is open")
    return session


CurrentProject = Annotated[ProjectSession, Depends(_project)]


@router.get("/work")
def batch_statuses(session: CurrentProject) -> list[JsonObject]:
    return session.batch_statuses()


@router.post("/work/{batch_id}/release")
def release(session: CurrentProject, batch_id: str) -> dict[str, bool]:
    session.release(batch_id)
    return {"is_released": True}
