"""3-D boxes in millimetres, as volumetric detectors give them <-> MARKS, NODULES and slices."""

import polars as pl

from nodulebench.core.errors import Problem, refuse_any
from nodulebench.core.notices import Notice
from nodulebench.core.schema import Column, TableSchema
from nodulebench.core.tables import (
    CASES,
    MARK_SLICES,
    MARKS,
    NODULE_SLICES,
    NODULE_TYPES,
    NODULES,
    Reference,
    Submission,
)
from nodulebench.imaging.geometry import Geometry, geometries
from nodulebench.io.marks.slice_boxes import boxes_of_slices, slices_of_boxes

_EXTENTS = ("extent_x_mm", "extent_y_mm", "extent_z_mm")
BOXES = TableSchema(
    "BOXES",
    "One row per 3-D box; a box without extent stands for a place whose size is unknown.",
    (
        Column("case_id", pl.String, "the CT series"),
        Column("box_id", pl.String, "unique within the case"),
        Column("x_mm", pl.Float64, "centre, LPS", "mm"),
        Column("y_mm", pl.Float64, "centre, LPS", "mm"),
        Column("z_mm", pl.Float64, "centre, LPS", "mm"),
        *(Column(name, pl.Float64, "size of the box", "mm", minimum=0) for name in _EXTENTS),
        Column("score", pl.Float64, "higher: more likely a nodule", is_required=False),
        Column("type", pl.String, "NIFDC type", is_required=False, allowed=NODULE_TYPES),
        Column("is_ignored", pl.Boolean, "marks on it do not count", is_required=False),
    ),
    key=("case_id", "box_id"),
)
_NO_SLICES = Notice("geometry_unknown")


def submission_of(
    boxes: pl.DataFrame,
    *,
    name: str,
    digest: str,
    cases: pl.DataFrame | None,
    notices: tuple[Notice, ...] = (),
) -> Submission:
    """Make a submission of boxes; they are cut into slices where the cases' geometry is known."""
    owned = boxes.rename({"box_id": "mark_id"}).with_columns(diameter_mm=_diameter())
    slices, more = _slices(owned, MARK_SLICES, cases)
    return Submission(
        name=name,
        marks=MARKS.arrange(owned),
        slices=slices,
        digest=digest,
        notices=(*notices, *more),
    )


def reference_of(
    boxes: pl.DataFrame,
    *,
    listed: pl.DataFrame,
    name: str,
    cases: pl.DataFrame | None,
    notices: tuple[Notice, ...] = (),
) -> Reference:
    """Make a reference of boxes.

    Args:
        boxes: the nodules' boxes.
        listed: a table with the case_id of every case that the file lists, in order.
        name: the name of the test set.
        cases: CASES, where the caller has them; the file may then list no other case.
        notices: what was noticed in reading.
    """
    owned = boxes.rename({"box_id": "nodule_id"}).with_columns(
        diameter_mm=_diameter(), is_ignored=pl.col("is_ignored").fill_null(False)
    )
    known = CASES.conform(listed, name) if cases is None else cases
    refuse_unlisted(listed["case_id"], known, name)
    slices, more = _slices(owned, NODULE_SLICES, known)
    return Reference(
        name=name,
        cases=known,
        nodules=NODULES.arrange(owned),
        slices=slices,
        notices=(*notices, *more),
    )


def refuse_unlisted(case_ids: pl.Series, cases: pl.DataFrame, name: str) -> None:
    """Refuse a reference that speaks of cases which the list of cases does not have."""
    unlisted = case_ids.filter(~case_ids.is_in(cases["case_id"].implode())).unique(
        maintain_order=True
    )
    refuse_any(
        Problem(
            name,
            f"case '{case_id}' is not among the {cases.height} cases that were given.",
            "Add it to the list of cases, or remove it here.",
        )
        for case_id in unlisted
    )


def boxes_of_marks(submission: Submission) -> pl.DataFrame:
    """The box of every mark: around its slices, else as large as its diameter, else none."""
    return _boxes(submission.marks, submission.slices, "mark_id")


def boxes_of_nodules(reference: Reference) -> pl.DataFrame:
    """The box of every nodule: around its slices, else as large as its diameter, else none."""
    return _boxes(reference.nodules, reference.slices, "nodule_id")


def complete_slices(
    owners: pl.DataFrame,
    slices: pl.DataFrame | None,
    schema: TableSchema,
    known: dict[str, Geometry],
    name: str,
) -> pl.DataFrame:
    """The slices of all marks or nodules; who has none gets those that its box lies on.

    Raises:
        InputError: if that needs the geometry of a case that is not known.
    """
    key = schema.key[1]
    given = schema.empty() if slices is None else slices
    bare = owners.join(given, on=["case_id", key], how="anti", maintain_order="left")
    unknown = bare.filter(~pl.col("case_id").is_in(list(known)))["case_id"]
    refuse_any(
        Problem(
            name,
            f"case '{case_id}' has {key.removesuffix('_id')}s without slices, and the geometry "
            "of the case is not known.",
            "Give the cases with spacing, origin and size.",
        )
        for case_id in unknown.unique(maintain_order=True)
    )
    boxes = _boxes(bare, None, key).rename({"box_id": key})
    return pl.concat([given, slices_of_boxes(boxes, schema, known)])


def _diameter() -> pl.Expr:
    """The average of the box's extents in the slice, as NIFDC averages long and short axes."""
    average = (pl.col("extent_x_mm") + pl.col("extent_y_mm")) / 2
    return pl.when(average > 0).then(average)


def _slices(
    owned: pl.DataFrame, schema: TableSchema, cases: pl.DataFrame | None
) -> tuple[pl.DataFrame | None, tuple[Notice, ...]]:
    known = {case: grid for case, grid in geometries(cases).items() if grid.size is not None}
    listed = owned if cases is None else owned.join(cases, on="case_id", how="semi")
    if listed["case_id"].is_in(list(known)).all() and known:
        return slices_of_boxes(
            owned.filter(pl.col("case_id").is_in(list(known))), schema, known
        ), ()
    return None, (_NO_SLICES,) if owned.height else ()


def _boxes(owners: pl.DataFrame, slices: pl.DataFrame | None, key: str) -> pl.DataFrame:
    size = pl.when(pl.col("diameter_mm") > 0).then(pl.col("diameter_mm")).otherwise(0.0)
    boxes = owners.with_columns(size.alias(name) for name in _EXTENTS)
    if slices is not None:
        boxes = boxes.drop(_EXTENTS).join(
            boxes_of_slices(slices, key), on=["case_id", key], how="left", maintain_order="left"
        )
        boxes = boxes.with_columns(pl.col(name).fill_null(size) for name in _EXTENTS)
    return BOXES.arrange(boxes.rename({key: "box_id"}))
