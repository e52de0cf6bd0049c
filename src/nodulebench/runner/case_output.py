"""Read the files that an algorithm wrote for one case as MARKS and MARK_SLICES.

Only positions, sizes, scores and a lung warning are taken. Marks get new names and free text is
dropped, so that no image data leaves in them.
"""

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import polars as pl
from polars.exceptions import PanicException

from nodulebench.core.algorithm import MarkAdapter, RunContract
from nodulebench.core.errors import InputError, NoduleBenchError, first_line
from nodulebench.core.notices import Notice
from nodulebench.core.tables import CASES, IMAGES, MARK_SLICES, MARKS, PLACE, Submission
from nodulebench.imaging.geometry import geometry_columns
from nodulebench.imaging.volume import Volume
from nodulebench.io.format import Format
from nodulebench.io.formats import FORMATS, fitting
from nodulebench.io.table_files import require_no_parquet
from nodulebench.io.untrusted_files import OutputRejectedError

MOST_MARKS = 5_000
"""Limit per case; of more marks, those with the highest scores are taken."""
_ADAPTERS: dict[MarkAdapter, Format | None] = {
    "any": None,
    "gc-points": FORMATS["grand_challenge_json"],
    "gc-2d-boxes": FORMATS["grand_challenge_json"],
}
"""Adapter -> format of the file; None: recognised from the content."""
_NO_SLICES = MARK_SLICES.empty()
_CASE_TYPES = CASES.empty().schema
WARNING_CODES = "lungs_implausible"
"""The only state that an algorithm may report itself, in ``runs.*``; all others are observed."""
CATEGORY = r"^[0-9][ABXSabxs]{0,2}$"


@dataclass(frozen=True, eq=False)
class TakenMarks:
    """The marks of a case, with notices."""

    marks: pl.DataFrame
    slices: pl.DataFrame
    notices: tuple[Notice, ...] = ()
    is_doubtful: bool = False
    """Whether the algorithm itself reports that the lungs are implausible."""


def read_output(
    taken: Path, volume: Volume, name: str, images: Path | None, run: RunContract
) -> TakenMarks:
    """Read the marks in copies of the files of an output folder.

    ``name`` is the pseudonym of the case for the algorithm, ``images`` the DICOM images that it
    received.
    """
    wanted: list[tuple[Path, Format | None]] = [
        (taken / output.path, _ADAPTERS[output.adapter]) for output in run.outputs
    ] or [_only_file(taken)]
    marks, slices, is_doubtful = [], [], False
    for number, (path, form) in enumerate(wanted, 1):
        if not path.exists():
            raise OutputRejectedError(Notice("output_lacks", {"file": path.name}))
        # a document of one case may name it only by its file name
        names = dict.fromkeys((name, path.name.partition(".")[0]))
        rows = [{"case_id": known, **geometry_columns(volume.geometry)} for known in names]
        cases = pl.DataFrame(rows, schema=_CASE_TYPES)
        if images is not None:
            cases = cases.with_columns(pl.lit(str(images)).alias(IMAGES))
        submission = _read(path, cases, form)
        table, parts = submission.marks, submission.slices
        parts = _NO_SLICES.clone() if parts is None else parts
        if len(wanted) > 1:  # two files may use the same names of marks
            prefix = pl.lit(f"{number}-")
            table, parts = (
                part.with_columns(prefix + pl.col("mark_id")) for part in (table, parts)
            )
        marks.append(table)
        slices.append(parts)
        is_doubtful |= submission.runs is not None and WARNING_CODES in submission.runs["state"]
    taken_marks = _plain(pl.concat(marks), pl.concat(slices), volume, name)
    return replace(taken_marks, is_doubtful=is_doubtful)


def _only_file(taken: Path) -> tuple[Path, Format | None]:
    """Return the only file of a folder with its format; otherwise the folder."""
    inside = list(taken.iterdir())
    if len(inside) != 1 or not inside[0].is_file():
        return taken, None
    try:
        return inside[0], fitting(inside[0], "marks")
    except InputError:  # it may be one of our tables, recognised by its name in a folder
        return taken, None


def _read(path: Path, cases: pl.DataFrame, form: Format | None) -> Submission:
    try:
        require_no_parquet(path)
        form = form or fitting(path, "marks")
        if form.read_marks is None:
            raise InputError.at(path, f"is {form.name}, which does not contain marks.")
        submission = form.read_marks(path, cases)
    except NoduleBenchError as error:
        problem = first_line(error).replace(f"{path.parent}/", "")
        raise OutputRejectedError(Notice("output_no_marks", {"problem": problem})) from error
    except (Exception, PanicException) as error:  # a hostile file crashed a reader
        why = {"problem": type(error).__name__}
        raise OutputRejectedError(Notice("output_no_marks", why)) from error
    if submission.marks["case_id"].n_unique() > 1:
        raise OutputRejectedError(Notice("output_several_cases"))
    return submission


def _plain(marks: pl.DataFrame, slices: pl.DataFrame, volume: Volume, name: str) -> TakenMarks:
    notices = []
    if marks.height > MOST_MARKS:
        notices.append(Notice("run_marks_over", {"marks": marks.height, "most": MOST_MARKS}))
        by_score = marks.with_columns(pl.col("score").fill_null(float("inf")))
        first = by_score.with_row_index("row").sort("score", "row", descending=[True, False])
        marks = marks[first["row"].head(MOST_MARKS).sort()]
    position = np.column_stack([marks[axis].to_numpy().astype(np.float64) for axis in PLACE])
    outside = int((~volume.geometry.contains(position)).sum()) if len(position) else 0
    if outside:
        notices.append(Notice("run_marks_outside", {"outside": outside, "marks": marks.height}))
    named = pl.lit(name).alias("case_id")
    numbers = pl.Series("mark_id", [str(number) for number in range(1, marks.height + 1)])
    if slices.height:
        new = pl.DataFrame({"mark_id": marks["mark_id"], "new": numbers})
        joined = slices.join(new, on="mark_id", how="inner", maintain_order="left_right")
        slices = MARK_SLICES.arrange(joined.with_columns(named, pl.col("new").alias("mark_id")))
    is_known = pl.col("category").str.contains(CATEGORY)
    plain = marks.with_columns(named, numbers, pl.when(is_known).then(pl.col("category")))
    return TakenMarks(MARKS.arrange(plain), slices, tuple(notices))
