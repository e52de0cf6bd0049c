"""The tables of NoduleBench, and the two objects made of them: a Reference and a Submission."""

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import polars as pl

from nodulebench.core.arrays import IntArray
from nodulebench.core.cache import cached_on_owner
from nodulebench.core.errors import Problem, raise_problems
from nodulebench.core.notices import Notice
from nodulebench.core.schema import Column, TableSchema, optional

DENSITIES = ("solid", "part_solid", "ground_glass", "calcified")
"""The four density classes of ITU FG-AI4H."""

DENSITY_OF_TYPE = {
    "solid": "solid",
    "part_solid": "part_solid",
    "pure_ground_glass": "ground_glass",
    "calcified": "calcified",
    "pleural": "solid",
    "pleural_calcified": "calcified",
}
NODULE_TYPES = tuple(DENSITY_OF_TYPE)
"""The six types of NIFDC 2022, pulmonary ones first."""
PULMONARY_TYPES = NODULE_TYPES[:4]

CASES = TableSchema(
    "CASES",
    "One row per CT series as tested. Any further column can be used as a stratum.",
    (
        Column("case_id", pl.String, "the CT series; LUNA16 calls it seriesuid"),
        optional("patient_id", pl.String, "the patient; the unit of resampling"),
        optional("size_x", pl.Int64, "voxels along x", minimum=1),
        optional("size_y", pl.Int64, "voxels along y", minimum=1),
        optional("size_z", pl.Int64, "slices", minimum=1),
        optional("spacing_x_mm", pl.Float64, "voxel size along x", "mm"),
        optional("spacing_y_mm", pl.Float64, "voxel size along y", "mm"),
        optional("spacing_z_mm", pl.Float64, "slice spacing", "mm"),
        optional("origin_x_mm", pl.Float64, "centre of the first voxel, LPS", "mm"),
        optional("origin_y_mm", pl.Float64, "centre of the first voxel, LPS", "mm"),
        optional("origin_z_mm", pl.Float64, "centre of the first voxel, LPS", "mm"),
        optional(
            "direction",
            pl.String,
            "nine direction cosines, row by row, separated by spaces; empty: identity",
        ),
    ),
    key=("case_id",),
    is_open=True,
)

SCAN_FACTS = (
    *("scan_kind", "slice_thickness_mm", "kernel", "kernel_class", "contrast_agent"),
    *("tube_voltage_kv", "tube_current_ma", "exposure_mas", "ctdi_vol_mgy", "dlp_mgy_cm"),
    *("dose_msv", "dose_class", "vendor", "manufacturer", "model"),
)
"""Further columns of CASES that describe how and with what was scanned."""

CASE_FACTS = (
    *SCAN_FACTS,
    *("sex", "age", "race"),
    *("country", "continent", "terrain", "province", "hospital", "hospital_beds", "is_public"),
)
"""Further columns of CASES that designs and protocols know: how, with what and whom was scanned."""

IMAGES = "images"
"""A further column of CASES: the folder of the case's DICOM images, where objects about them are
read or written. Results and bundles do not keep it."""


def without_images(cases: pl.DataFrame) -> pl.DataFrame:
    """CASES as they are stored: without the paths that images had when they were read."""
    return cases.drop(IMAGES, strict=False)


IN_CASE = Column("case_id", pl.String, "the CT series")
PLACE = ("x_mm", "y_mm", "z_mm")
POSITION = tuple(
    Column(name, pl.Float64, "centre in patient coordinates, LPS", "mm") for name in PLACE
)
OF_TYPE = optional("type", pl.String, "one of the six NIFDC types", allowed=NODULE_TYPES)
OF_DENSITY = optional("density", pl.String, "one of the four ITU classes", allowed=DENSITIES)
_CHARACTER = (
    optional("long_mm", pl.Float64, "long axis on the largest slice", "mm"),
    optional("short_mm", pl.Float64, "short axis on the same slice", "mm"),
    OF_TYPE,
    OF_DENSITY,
    optional(
        "malignancy",
        pl.Float64,
        "probability of malignancy; in a reference 0 (benign) or 1 (malignant)",
        minimum=0,
        maximum=1,
    ),
    optional("category", pl.String, "Lung-RADS category"),
)

TRUTHS = ("pathology", "follow_up", "readers", "none")
NODULE_FACTS = (
    optional(
        "truth", pl.String, "the evidence for the nodule in addition to its readers", allowed=TRUTHS
    ),
    optional("truth_date", pl.Date, "day of that evidence, YYYY-MM-DD"),
    optional("pathology_type", pl.String, "the diagnosis, in the pathologist's words"),
    optional("pathology_stage", pl.String, "its stage"),
    optional("pathology_method", pl.String, "how tissue was obtained: resection, needle, fluid"),
    optional(
        "pathology_confirmed",
        pl.String,
        "what the pathologist looked at",
        allowed=("histology", "cytology"),
    ),
    optional(
        "malignancy_source",
        pl.String,
        "who says whether it is malignant",
        allowed=("pathology", "follow_up", "readers"),
    ),
    optional("is_near_vessel", pl.Boolean, "it touches a vessel, or nearly"),
    optional("is_near_cavity", pl.Boolean, "it is at a cavity"),
)
"""What may be known of a nodule of the reference in addition to what readers see in the image."""

NODULES = TableSchema(
    "NODULES",
    "One row per nodule or ignored finding of the reference standard, in matching order.",
    (
        IN_CASE,
        Column("nodule_id", pl.String, "unique within the case"),
        *POSITION,
        optional(
            "diameter_mm",
            pl.Float64,
            "diameter; empty: not measured (10 mm under the luna16 rule)",
            "mm",
            minimum=0,
        ),
        Column("is_ignored", pl.Boolean, "a mark on it is neither hit nor false positive"),
        *_CHARACTER,
        optional("agreement", pl.Int64, "readers who drew it", minimum=0),
    ),
    key=("case_id", "nodule_id"),
    is_open=True,
    further=NODULE_FACTS,
)

MARKS = TableSchema(
    "MARKS",
    "One row per mark of one algorithm.",
    (
        IN_CASE,
        Column("mark_id", pl.String, "unique within the case"),
        *POSITION,
        optional("score", pl.Float64, "higher: more likely a nodule; empty: fixed threshold"),
        optional("diameter_mm", pl.Float64, "estimated diameter", "mm", minimum=0),
        *_CHARACTER,
    ),
    key=("case_id", "mark_id"),
)

SLICE_INDEX = Column("slice_index", pl.Int64, "0-based from the feet", minimum=0)
SLICE_HEIGHT = optional("z_mm", pl.Float64, "position of the slice, LPS", "mm")
_SLICE = (
    SLICE_INDEX,
    SLICE_HEIGHT,
    Column("center_x_mm", pl.Float64, "centre of the box, LPS", "mm"),
    Column("center_y_mm", pl.Float64, "centre of the box, LPS", "mm"),
    Column("length_mm", pl.Float64, "extent of the box along x", "mm", minimum=0),
    Column("width_mm", pl.Float64, "extent of the box along y", "mm", minimum=0),
    optional("long_mm", pl.Float64, "long diameter on this slice", "mm", minimum=0),
    optional("short_mm", pl.Float64, "short diameter on this slice", "mm", minimum=0),
    optional("contour", pl.String, "outline as 'x y;x y;...' in mm, LPS; may be empty"),
)
NODULE_SLICES = TableSchema(
    "NODULE_SLICES",
    "One row per nodule and slice: box and optional contour.",
    (IN_CASE, Column("nodule_id", pl.String, "the nodule"), *_SLICE),
    key=("case_id", "nodule_id", "slice_index"),
)
MARK_SLICES = TableSchema(
    "MARK_SLICES",
    "One row per mark and slice: box and optional contour.",
    (IN_CASE, Column("mark_id", pl.String, "the mark"), *_SLICE),
    key=("case_id", "mark_id", "slice_index"),
)

RUN_STATES = (
    *("ok", "failed", "timed_out", "out_of_memory", "too_many_processes"),
    *("output_invalid", "output_missing", "lungs_implausible", "infrastructure"),
)
"""How a run ends; all but ``infrastructure`` are results of the algorithm. Where its lungs are
implausible there may be marks, but they were looked for in what may be no lung."""
RUNS = TableSchema(
    "RUNS",
    "One row per case that the algorithm was run on.",
    (
        IN_CASE,
        Column("state", pl.String, "how the run ended", allowed=RUN_STATES),
        optional("seconds", pl.Float64, "wall time, start-up excluded where known", "s", minimum=0),
        optional("peak_memory_mb", pl.Float64, "peak memory, file cache included", "MB", minimum=0),
        optional("startup_seconds", pl.Float64, "wall time until it was ready", "s", minimum=0),
        optional("cpu_seconds", pl.Float64, "time of all cores together", "s", minimum=0),
        optional("peak_anonymous_mb", pl.Float64, "peak memory without cache", "MB", minimum=0),
        optional("peak_gpu_mb", pl.Float64, "peak memory of graphics cards", "MB", minimum=0),
        optional("exit_code", pl.Int64, "of the program, where it ended by itself"),
        optional("signal", pl.Int64, "that ended the program", minimum=1),
        optional("attempts", pl.Int64, "how often it was started on the case", minimum=1),
        optional("repeats", pl.Int64, "how often the case was read on purpose", minimum=1),
        optional("is_reproduced", pl.Boolean, "every time gave the same marks"),
        optional("seconds_spread", pl.Float64, "longest less shortest time", "s", minimum=0),
    ),
    key=("case_id",),
)

LABELS = TableSchema(
    "LABELS",
    "One row per mark and nodule it touched: what a rule says of the mark.",
    (
        Column("algorithm", pl.String, "name of the algorithm"),
        Column("rule", pl.String, "name of the rule"),
        IN_CASE,
        Column("mark_id", pl.String, "the mark"),
        optional("nodule_id", pl.String, "the nodule touched, if any"),
        Column("label", pl.String, "hit, false_positive, duplicate, ignored, over_cap, uncounted"),
    ),
    key=("algorithm", "rule", "case_id", "mark_id", "nodule_id"),
)

TABLES = (CASES, NODULES, NODULE_SLICES, MARKS, MARK_SLICES, RUNS, LABELS)


@dataclass(frozen=True, eq=False, repr=False)
class Reference:
    """The test set: its cases in order, and what the reference standard says is in them."""

    name: str
    cases: pl.DataFrame
    nodules: pl.DataFrame
    slices: pl.DataFrame | None = None
    notices: tuple[Notice, ...] = ()
    """What a reader of the report must know about how the files were read."""
    rule: str = ""
    """How it was made of the readers' findings, as it says itself; empty: it does not."""

    def __repr__(self) -> str:
        counted = f"{self.cases.height} cases, {self.nodules.height} findings"
        return f"<Reference {self.name}: {counted}>"

    @cached_property
    def nodule_case(self) -> IntArray:
        return self.rows_of(self.nodules["case_id"])

    @cached_property
    def unit_of_case(self) -> IntArray:
        """For each case the number of its patient; a case without a patient is its own."""
        patients = self.cases["patient_id"].fill_null("case:" + self.cases["case_id"])
        return patients.rank("dense").to_numpy().astype(np.int64) - 1

    def rows_of(self, case_ids: pl.Series) -> IntArray:
        """The row in CASES of each case id, -1 where the case is not in the set."""
        known = pl.DataFrame({"case_id": self.cases["case_id"]}).with_row_index("row")
        rows = (
            case_ids.rename("case_id")
            .to_frame()
            .join(known, on="case_id", how="left", maintain_order="left")
        )
        return rows["row"].cast(pl.Int64).fill_null(-1).to_numpy()

    def restricted(self, case_ids: pl.Series, source: str) -> "Reference":
        """The same reference on these cases only, in this order (a fold, a subgroup)."""
        repeated = case_ids.filter(case_ids.is_duplicated()).unique(maintain_order=True)
        raise_problems(
            Problem(
                source,
                f"case '{case_id}' is listed more than once.",
                "List every case once (the official LUNA16 program would count its nodules "
                "and false positives once per line).",
            )
            for case_id in repeated
        )
        rows = self.rows_of(case_ids)
        raise_problems(
            Problem(
                source,
                f"case '{case_id}' is not in the test set '{self.name}' "
                f"({self.cases.height} cases).",
                "Remove it from the list, or use the reference it belongs to.",
            )
            for case_id in case_ids.filter(pl.Series(rows < 0))
        )
        fewer = replace(self, cases=self.cases[rows])
        return replace(
            fewer,
            nodules=fewer._listed(self.nodules),
            slices=None if self.slices is None else fewer._listed(self.slices),
        )

    def _listed(self, table: pl.DataFrame) -> pl.DataFrame:
        is_listed = self.rows_of(table["case_id"]) >= 0
        return table if is_listed.all() else table.filter(pl.Series(is_listed))


@dataclass(frozen=True, eq=False, repr=False)
class Submission:
    """The output of one algorithm for the cases that it received."""

    name: str
    marks: pl.DataFrame
    slices: pl.DataFrame | None = None
    runs: pl.DataFrame | None = None
    digest: str = ""
    """SHA-256 of the file or folder as it was received."""
    intended_types: tuple[str, ...] | None = None
    """The nodule types the algorithm is declared for; None: all."""
    threshold: float | None = None
    """The score from which the algorithm is declared to show a mark; None: every mark."""
    notices: tuple[Notice, ...] = ()
    facts: dict[str, str] = field(default_factory=dict)
    """Further statements of the algorithm's manifest (version, detector kind)."""

    def __repr__(self) -> str:
        return f"<Submission {self.name}: {self.marks.height} marks>"

    @cached_on_owner
    def rows_in(self, reference: Reference) -> IntArray:
        """For each mark the row of its case in CASES, -1 where it is not in the test set."""
        return reference.rows_of(self.marks["case_id"])
