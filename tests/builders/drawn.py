"""Readings of voxels: what a reader outlined, on any grid, with its truth next to it."""

import numpy as np
import polars as pl

from nodulebench.core.readings import FINDING_SLICES, FINDINGS, SESSIONS, Readings
from nodulebench.core.tables import CASES
from nodulebench.imaging.geometry import Geometry, geometries, geometry_columns
from nodulebench.imaging.outlines import outline_text
from nodulebench.imaging.rasters import trace_outlines, voxels_of
from nodulebench.io.dicom.findings import drawn_by_owner

Voxels = set[tuple[int, int, int]]
TILT = np.array([[1.0, 0, 0], [0, 0.96, -0.28], [0, 0.28, 0.96]])
TURN = np.array([[0.8, -0.6, 0], [0.6, 0.8, 0], [0, 0, 1]])
GRIDS = {
    "plain": np.eye(3),
    "flipped": np.diag([-1.0, -1.0, 1.0]),
    "head first": np.diag([1.0, 1.0, -1.0]),
    "turned": TURN,
    "oblique": TILT @ TURN,
    "oblique, head first": TILT @ np.diag([1.0, -1.0, -1.0]),
}
"""Directions of the axes of an image, by name."""


def grid(direction: np.ndarray, size: tuple[int, int, int] = (24, 20, 9)) -> Geometry:
    """Voxels of three different sizes, somewhere in the patient."""
    spacing, origin = np.array([0.7, 0.85, 2.3]), np.array([-31.25, 14.6, -207.4])
    return Geometry(spacing, origin, direction, np.array(size, dtype=np.int64))


def blob(
    random: np.random.Generator, size: tuple[int, int, int] = (24, 20, 9), margin: int = 2
) -> Voxels:
    """Voxels that hang together more or less, with holes and loose ends, off the image's edge."""
    low = np.array([margin, margin, 1])
    middle = random.uniform(low + 2, np.array(size) - low - 3)
    index = np.indices(size).reshape(3, -1).T
    away = np.linalg.norm((index - middle) / [1, 1, 0.4], axis=1)
    is_held = (away < random.uniform(2.5, 6)) & (random.random(len(index)) > 0.15)
    is_held &= np.all((index >= low) & (index < np.array(size) - low), axis=1)
    is_held |= np.all(index == np.rint(middle), axis=1)
    return {(int(i), int(j), int(k)) for i, j, k in index[is_held]}


def drawn(
    cases: dict[str, Geometry],
    findings: dict[tuple[str, str, str], Voxels],
    points: dict[tuple[str, str, str], tuple[str, tuple[float, float, float]]] | None = None,
    **columns: object,
) -> Readings:
    """Readings: (case, reader, finding) -> voxels, or the kind of a point and its place."""
    slices = []
    rows = []
    for (case_id, reader_id, finding_id), voxels in findings.items():
        key = {"case_id": case_id, "finding_id": finding_id}
        rows.append({**key, "reader_id": reader_id, "kind": "nodule", **columns})
        where = cases[case_id]
        for k in sorted({voxel[2] for voxel in voxels}):
            pixel = np.array(sorted(voxel[:2] for voxel in voxels if voxel[2] == k), dtype=np.int64)
            _, corner = trace_outlines(np.zeros(len(pixel), dtype=np.int64), *pixel.T)
            place = where.to_world(np.column_stack([corner, np.full(len(corner), float(k))]))
            number = round(float(where.slice_number(np.array([float(k)]))[0]))
            slices.append(
                {
                    **key,
                    "slice_index": number,
                    "outline_index": 0,
                    "is_hole": False,
                    "convention": "boundary",
                    "contour": outline_text(place[:, :2].tolist()),
                }
            )
    for (case_id, reader_id, finding_id), (kind, place) in (points or {}).items():
        spot = dict(zip(("x_mm", "y_mm", "z_mm"), place, strict=True))
        key = {"case_id": case_id, "finding_id": finding_id, "reader_id": reader_id}
        rows.append({**key, "kind": kind, **spot})
    readers = dict.fromkeys((key[0], key[1]) for key in [*findings, *(points or {})])
    sessions = [{"case_id": case_id, "reader_id": reader} for case_id, reader in readers]
    listed = [{"case_id": name, **geometry_columns(where)} for name, where in cases.items()]
    return Readings(
        "drawn",
        CASES.conform(pl.DataFrame(listed), "cases"),
        SESSIONS.conform(pl.DataFrame(sessions), "sessions"),
        FINDINGS.conform(pl.DataFrame(rows), "findings"),
        FINDING_SLICES.conform(pl.DataFrame(slices), "slices")
        if slices
        else FINDING_SLICES.empty(),
    )


def held(readings: Readings, cases: pl.DataFrame | None = None) -> dict[tuple[str, str], Voxels]:
    """The voxels of every outlined finding, by case and id."""
    grids = geometries(readings.cases if cases is None else cases)
    return {
        (case_id, name): set(map(tuple, voxels_of(outlines, grids[case_id]).tolist()))
        for (case_id, name), outlines in drawn_by_owner(readings.slices, "finding_id").items()
    }
