"""Every route of a reading session, and the attacks that are tried on each."""

import re
from collections.abc import Collection, Iterator
from itertools import product
from typing import Any

import numpy as np
from starlette.routing import Mount, Route
from starlette.testclient import TestClient

from builders.reading import BALL_MM

OWN = {"X-Requested-With": "nodulebench"}
VALUES: dict[str, list[str]] = {
    "number": ["-1", "0", "1"],
    "first": ["11"],
    "count": ["1"],
    "kind": ["slicer_markups", "seg_nrrd", "lidc_xml", "other"],
    "batch_id": ["b1", ".keys"],
}
CLICK = {"position_mm": [float(at) for at in BALL_MM - np.array([-14, 12, 0])]}
SQUARE = [[x, y] for x, y in ((0, -20), (20, -20), (20, 0), (0, 0))]
SLICES = [{"slice_index": at, "outline": SQUARE} for at in (10, 12)]
EDIT = {"client": "spy", "number": 1, "finding_id": "candidate-2", "based_on": 0}
EVALUATED = {"rule": "center_hit", "algorithm": "anna"}
MARKUPS = b'{"markups": [{"type": "Fiducial", "name": "nodule", "controlPoints": []}]}'
HANGING = {
    "layout": "one",
    "preset": "bone",
    "window": {"level": 400, "width": 1800},
    "is_inverted": False,
    "slab_mm": 10,
    "shows_cross": True,
    "zoom": {"axial": 1.5, "coronal": 1, "sagittal": 1},
}
TRIES: dict[str, list[dict[str, Any]]] = {
    "GET /": [{}],
    "GET /hanging": [{}],
    "POST /hanging": [{"json": {}}, {"json": HANGING}],
    "GET /scans": [{}],
    "GET /scans/{number}": [{}],
    "GET /scans/{number}/slices/{first}/{count}": [{}],
    "GET /scans/{number}/reading": [{}],
    "POST /scans/{number}/edits": [
        {"json": edit}
        for edit in (
            *({}, EDIT, {**EDIT, "based_on": 1}),
            {**EDIT, "finding": {**CLICK, "slices": []}},
        )
    ],
    "GET /scans/{number}/files/{kind}": [{}],
    "POST /scans/{number}/files": [
        {"params": {"name": name}, "content": content}
        for name, content in (("x.mrk.json", b"{"), ("x", b""), ("x.mrk.json", MARKUPS))
    ],
    "POST /scans/{number}/submit": [{"json": {}}],
    "POST /scans/{number}/proposal": [{"json": {}}, {"json": CLICK}],
    "POST /scans/{number}/joined": [{"json": {"slice_index": 11, "stroke": SQUARE}}],
    "POST /scans/{number}/filled": [{"json": {"slices": SLICES}}],
    "GET /evaluation": [{}],
    "GET /evaluation/errors": [{"params": EVALUATED}],
    "GET /scans/{number}/evaluation": [{"params": EVALUATED}],
    "GET /work": [{}],
    "POST /work/{batch_id}/release": [{"json": {}}],
}
"""Requests for each route. A route that is missing here was never attacked."""


def routes_of(app: Any) -> list[str]:
    """Method and path of all routes, mounts of files aside."""
    paths = []
    for route in app.routes:
        if isinstance(route, Mount):
            assert route.path == "/static"
        elif isinstance(route, Route):
            paths += [f"{method} {route.path}" for method in sorted(route.methods or ())]
        else:
            paths += routes_of(route.original_router)
    return paths


def filled(path: str) -> list[str]:
    names = re.findall(r"{(\w+)}", path)
    chosen = product(*(VALUES[name] for name in names))
    return [path.format(**dict(zip(names, values, strict=True))) for values in chosen]


def answers_of(
    client: TestClient, but: Collection[str] = (), where: str = ""
) -> Iterator[tuple[str, str]]:
    """What was asked, and all that was answered, by every route with every value and body.

    Args:
        client: who asks.
        but: places that are left out.
        where: the path of the session on a site.
    """
    for route, tries in TRIES.items():
        method, _, path = route.partition(" ")
        for place, (number, given) in product(filled(path), enumerate(tries)):
            if place in but:
                continue
            answer = client.request(method, where + place, headers=OWN, **given)
            assert answer.headers["cache-control"] == "no-store", place
            assert answer.status_code < 500, place
            shown = f"{answer.status_code} {answer.headers} {answer.text}"
            yield f"{method} {place} {number}", shown


def of_route(place: str) -> str:
    """The path of the route that a place is one of."""
    paths = (route.partition(" ")[2] for route in TRIES)
    return next(path for path in paths if place in filled(path))
