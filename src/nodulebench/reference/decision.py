"""Verdict: the decision of a rule on findings, a nodule or something to be ignored."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from nodulebench.core.arrays import BoolArray, FloatArray, IntArray
from nodulebench.core.tables import DENSITY_OF_TYPE, NODULE_SLICES
from nodulebench.imaging.outlines import outline_texts
from nodulebench.imaging.rasters import trace_outlines
from nodulebench.reference.grouping import GROUPINGS, Findings
from nodulebench.reference.panel import Panel
from nodulebench.reference.regions import require_geometry
from nodulebench.reference.sizes import region_sizes, slice_sizes, volume_equivalent_mm


@dataclass(frozen=True, slots=True)
class Verdict:
    """A nodule of the reference standard, or a finding on which marks do not count."""

    members: IntArray
    center_mm: FloatArray
    diameter_mm: float | None
    """None for a single point, which was not measured."""
    is_ignored: bool
    size_definition: str
    voxels: IntArray | None = None
    """Column, row and slice of each voxel: n x 3; None where nothing was outlined."""


Rule = Callable[..., list[Verdict]]
"""Panel and keyword parameters -> verdicts on all of its findings."""


@dataclass(frozen=True, slots=True)
class Draft:
    """A verdict before it is measured."""

    members: IntArray
    is_ignored: bool
    voxels: IntArray | None


def decide_groups(
    panel: Panel,
    *,
    grouping: str,
    same_reader: bool,
    is_accepted: Callable[[int, IntArray], bool],
    outline: Callable[[IntArray], IntArray | None],
) -> list[Verdict]:
    """Verdicts on all findings: group them, accept or ignore each group, outline and measure it.

    ``is_accepted`` takes the row of the case and the rows of a group's findings, ``outline`` only
    these; it is None where nothing was outlined.
    """
    group = GROUPINGS[grouping]
    drafts = []
    for case, rows in panel.nodules_by_case():
        for finding_group in group(Findings(panel, case, rows), same_reader).groups:
            members = rows[list(finding_group.members)]
            drafts.append(Draft(members, not is_accepted(case, members), outline(members)))
    return [*measured(panel, drafts), *ignored_points(panel)]


def reader_count(panel: Panel, members: IntArray) -> int:
    return len(np.unique(panel.reader[members]))


def votes(panel: Panel, members: IntArray) -> tuple[IntArray, IntArray]:
    """Voxels of any of the findings, and how many readers have each: n x 3, n."""
    drawn = [panel.regions.of(row) for row in members.tolist()]
    every = np.concatenate(drawn)
    if not len(every):
        return every, np.empty(0, dtype=np.int64)
    low = every.min(axis=0)
    shape = tuple((every.max(axis=0) - low + 1).tolist())
    count = np.zeros(shape, dtype=np.int64)
    for reader in np.unique(panel.reader[members]):
        is_drawn = np.zeros(shape, dtype=np.bool_)
        for row, region in zip(members.tolist(), drawn, strict=True):
            if panel.reader[row] == reader:
                is_drawn[tuple((region - low).T)] = True
        count += is_drawn
    place = np.nonzero(count)
    return np.column_stack(place) + low, count[place]


def shared_voxels(panel: Panel, members: IntArray, share: float) -> IntArray | None:
    """Voxels that at least this share of the readers who drew the nodule have in common.

    Where no voxel reaches the share, those that most readers have in common; None where nothing
    was outlined.
    """
    voxel, count = votes(panel, members)
    if not len(voxel):
        return None
    outlining = reader_count(panel, members[panel.regions.count[members] > 0])
    shared: IntArray = voxel[count >= min(np.ceil(share * outlining), count.max())]
    return shared


def measured(panel: Panel, drafts: Sequence[Draft]) -> list[Verdict]:
    """Locate and measure drafts from their voxels; from their members' means where they have none.

    The definition of size is the panel's if a region is enough for it, else the volume equivalent
    diameter. A nodule that was drawn only as boxes has the mean of its readers' diameters, because
    the corners of a box do not belong to the nodule.
    """
    outlined = [number for number, draft in enumerate(drafts) if draft.voxels is not None]
    regions = [drafts[number].voxels for number in outlined]
    case = np.array([panel.case[drafts[number].members[0]] for number in outlined], dtype=np.int64)
    sizes, definition = _region_diameters(panel, [r for r in regions if r is not None], case)
    size_of = dict(zip(outlined, sizes.tolist(), strict=True))
    verdicts = []
    for number, draft in enumerate(drafts):
        if number in size_of and draft.voxels is not None:
            center = voxel_center_mm(panel, int(panel.case[draft.members[0]]), draft.voxels)
            size, name = size_of[number], definition
            if panel.is_boxed[draft.members].all():
                size = float(panel.diameter_mm[draft.members].mean())
                name = "mean of readers' boxes"
        else:
            center = panel.xyz_mm[draft.members].mean(axis=0)
            size, name = float(panel.diameter_mm[draft.members].mean()), "mean of readers"
        verdicts.append(Verdict(draft.members, center, size, draft.is_ignored, name, draft.voxels))
    return verdicts


def _region_diameters(
    panel: Panel, regions: list[IntArray], case: IntArray
) -> tuple[FloatArray, str]:
    spacing = panel.spacing_mm[case]
    needs_outlines = panel.size_definition in ("volume_equivalent_with_rim", "outline_extent")
    definition = "volume_equivalent" if needs_outlines else panel.size_definition
    counts = np.array([len(region) for region in regions], dtype=np.int64)
    if definition == "volume_equivalent" or not len(regions):
        return volume_equivalent_mm(counts, spacing), definition
    owner = np.repeat(np.arange(len(regions)), counts)
    slices = slice_sizes(owner, np.concatenate(regions), spacing[:, :2])
    return region_sizes(slices, spacing[:, 2])[definition].to_numpy(), definition


def voxel_center_mm(panel: Panel, case: int, voxels: IntArray) -> FloatArray:
    """The mean position of voxels; the height of an axial slice is that of its outlines."""
    place = require_geometry(panel.places[case])
    middle = voxels.mean(axis=0)
    middle[2] = place.slice_number(voxels[:, 2].astype(np.float64)).mean()
    center: FloatArray = place.to_world(middle[None])[0]
    if place.is_axial:
        heights = panel.slice_heights[case]
        center[2] = np.mean([heights[number] for number in voxels[:, 2].tolist()])
    return center


def ignored_points(panel: Panel) -> list[Verdict]:
    """Findings that are not nodules to be found; each is ignored separately."""
    return [
        Verdict(np.array([row]), panel.xyz_mm[row], None, True, "")
        for row in np.flatnonzero(~panel.is_nodule).tolist()
    ]


def nodule_slices(
    panel: Panel, verdicts: Sequence[Verdict], names: Sequence[str]
) -> tuple[pl.DataFrame | None, pl.DataFrame]:
    """NODULE_SLICES of all verdicts that have voxels, and the axes of nodules; None where none has.

    Axes are those on the slice with the largest area, and measured only on nodules: no rule needs
    those of ignored findings. A nodule that was drawn only as boxes has the mean of its readers'
    boxes, and no outline.
    """
    outlined = [number for number, verdict in enumerate(verdicts) if verdict.voxels is not None]
    if not outlined:
        return None, NODULE_SLICES.empty().select("case_id", "nodule_id", *_AXES)
    regions = [region for verdict in verdicts if (region := verdict.voxels) is not None]
    owner = np.repeat(outlined, [len(region) for region in regions])
    voxel = np.concatenate(regions)
    case = np.array([panel.case[verdict.members[0]] for verdict in verdicts], dtype=np.int64)
    is_boxed = np.array([bool(panel.is_boxed[verdict.members].all()) for verdict in verdicts])
    is_nodule = ~np.array([verdict.is_ignored for verdict in verdicts])
    drawn = (is_nodule & ~is_boxed)[owner]
    sizes = slice_sizes(owner[drawn], voxel[drawn], panel.spacing_mm[case][:, :2])
    rows = _boxes(panel, case, owner, voxel).join(
        sizes, on=["owner", "slice_index"], how="left", maintain_order="left"
    )
    if is_boxed.any():
        boxes = _drawn_boxes(panel, verdicts, np.flatnonzero(is_boxed))
        rows = _as_drawn(rows, boxes, is_boxed, is_boxed & is_nodule)
    rows = rows.with_columns(
        case_id=panel.readings.cases["case_id"][case[rows["owner"].to_numpy()]],
        nodule_id=pl.Series(names, dtype=pl.String)[rows["owner"].to_numpy()],
    )
    axes = (
        rows.filter(pl.col("long_mm").is_not_null())
        .group_by("case_id", "nodule_id", maintain_order=True)
        .agg(pl.col(_AXES).get(pl.col("area_mm2").arg_max()))
    )
    return NODULE_SLICES.arrange(rows), axes


_AXES = ("long_mm", "short_mm")
_X, _Y = pl.col("x"), pl.col("y")
_BOX = {
    "center_x_mm": (_X.min() + _X.max()) / 2,
    "center_y_mm": (_Y.min() + _Y.max()) / 2,
    "length_mm": _X.max() - _X.min(),
    "width_mm": _Y.max() - _Y.min(),
}
_SIDES = tuple(_BOX)


def _drawn_boxes(panel: Panel, verdicts: Sequence[Verdict], boxed: IntArray) -> pl.DataFrame:
    """The mean of the readers' boxes of each boxed verdict on each slice."""
    drawn = panel.outlines
    corners = pl.DataFrame(
        {"outline": drawn.points.owner, "x": drawn.points.x, "y": drawn.points.y}
    )
    boxes = corners.group_by("outline", maintain_order=True).agg(**_BOX)
    of_outline = pl.DataFrame(
        {
            "outline": np.arange(len(drawn.finding)),
            "finding": drawn.finding,
            "slice_index": drawn.slice_index,
        }
    )
    of_verdict = pl.DataFrame(
        {
            "finding": np.concatenate([verdicts[number].members for number in boxed]),
            "owner": np.repeat(boxed, [len(verdicts[number].members) for number in boxed]),
        }
    )
    joined = of_verdict.join(of_outline, on="finding").join(boxes, on="outline")
    return joined.group_by("owner", "slice_index").agg(pl.col(_SIDES).mean())


def _as_drawn(
    rows: pl.DataFrame, drawn: pl.DataFrame, is_boxed: BoolArray, is_measured: BoolArray
) -> pl.DataFrame:
    """The slices of boxed verdicts with the boxes that were drawn, their sides as axes."""
    joined = rows.join(
        drawn, on=["owner", "slice_index"], how="left", maintain_order="left", suffix="_drawn"
    )
    owner = joined["owner"].to_numpy()
    boxed, measured = pl.Series(is_boxed[owner]), pl.Series(is_measured[owner])
    sides = pl.concat_list("length_mm", "width_mm")
    own = {
        "long_mm": sides.list.max(),
        "short_mm": sides.list.min(),
        "area_mm2": pl.col("length_mm") * pl.col("width_mm"),
    }
    return (
        joined.with_columns(pl.coalesce(f"{name}_drawn", name).alias(name) for name in _SIDES)
        .with_columns(
            contour=pl.when(~boxed).then("contour"),
            **{name: pl.when(measured).then(size).otherwise(name) for name, size in own.items()},
        )
        .select(rows.columns)
    )


def _boxes(panel: Panel, case: IntArray, owner: IntArray, voxel: IntArray) -> pl.DataFrame:
    by_slice = np.lexsort((voxel[:, 2], owner))
    owner, voxel = owner[by_slice], voxel[by_slice]
    is_first = (np.diff(owner, prepend=-1) != 0) | (np.diff(voxel[:, 2], prepend=-1) != 0)
    number = np.cumsum(is_first) - 1
    slice_owner, slice_index = owner[is_first], voxel[is_first, 2]
    outline, corner = trace_outlines(number, voxel[:, 0], voxel[:, 1])
    xy_mm = _in_patient(panel, case[slice_owner[outline]], corner, slice_index[outline])
    boxes = (
        pl.DataFrame({"outline": outline, "x": xy_mm[:, 0], "y": xy_mm[:, 1]})
        .group_by("outline", maintain_order=True)
        .agg(**_BOX)
    )
    heights = panel.slice_heights
    at = zip(case[slice_owner].tolist(), slice_index.tolist(), strict=True)
    return (
        boxes.join(outline_texts(outline, xy_mm[:, 0], xy_mm[:, 1]), on="outline")
        .sort("outline")
        .with_columns(
            owner=pl.Series(slice_owner),
            slice_index=pl.Series(slice_index),
            z_mm=pl.Series(
                [heights[case_number][slice_number] for case_number, slice_number in at]
            ),
        )
    )


def _in_patient(
    panel: Panel, case: IntArray, corner: FloatArray, slice_index: IntArray
) -> FloatArray:
    xy_mm = np.empty((len(corner), 2))
    by_case = np.argsort(case, kind="stable")
    for part in np.split(by_case, np.flatnonzero(np.diff(case[by_case])) + 1):
        place = require_geometry(panel.places[case[part[0]]])
        k = place.slice_number(slice_index[part].astype(np.float64))
        xy_mm[part] = place.to_world(np.column_stack([corner[part], k]))[:, :2]
    return xy_mm


SOLID_CALCIFICATION = 3
"""LIDC's calcification pattern 'solid'. NIFDC calls a nodule calcified if it is so completely, so
popcorn, laminated, central and non-central calcification do not make one."""

TYPE_OF_TEXTURE = {
    1: "pure_ground_glass",
    2: "pure_ground_glass",
    3: "part_solid",
    4: "solid",
    5: "solid",
}
"""LIDC's texture. Its scale names 1 (ground glass), 3 (part-solid) and 5 (solid); the steps between
go to the nearer pure type, since only 3 says that both parts are seen."""


def lidc_type() -> pl.Expr:
    """The NIFDC type of a finding from its columns ``calcification`` and ``texture``.

    Null where the reader rated neither. LIDC does not state whether a nodule is pleural, so the two
    pleural types never occur.
    """
    calcification = pl.col("calcification")
    by_texture = pl.col("texture").replace_strict(
        TYPE_OF_TEXTURE, default=None, return_dtype=pl.String
    )
    is_calcified = calcification == SOLID_CALCIFICATION
    return pl.when(is_calcified).then(pl.lit("calcified")).otherwise(by_texture)


def density_of_type(type_column: str = "type") -> pl.Expr:
    """The ITU density of a column of NIFDC types: pleural is solid, pleural calcified calcified."""
    return pl.col(type_column).replace_strict(DENSITY_OF_TYPE, default=None, return_dtype=pl.String)


def most_frequent(column: str) -> pl.Expr:
    """Within a group the value that most readers gave; null where two are equally frequent."""
    counted = pl.col(column).drop_nulls().value_counts(sort=True)
    first, second = (counted.get(place, null_on_oob=True) for place in (0, 1))
    leads = first.struct.field("count") > second.struct.field("count").fill_null(0)
    return pl.when(leads).then(first.struct.field(column))
