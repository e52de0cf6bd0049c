"""What reports say of findings, whatever their kind, and the cases that they can be about."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import polars as pl

from nodulebench.core.arrays import FloatArray
from nodulebench.core.notices import Notice
from nodulebench.core.tables import CASES, without_images
from nodulebench.imaging.geometry import Geometry, geometries
from nodulebench.io.dicom.codes import CENTER
from nodulebench.io.dicom.images import case_row, images_of_cases, read_image_series
from nodulebench.io.dicom.series import Series
from nodulebench.io.dicom.sr_regions import Region


@dataclass(frozen=True, slots=True)
class ReportedFinding:
    """One finding of a report."""

    where: str
    finding_id: str
    regions: tuple[Region, ...]
    kind: str = "nodule"
    numbers: dict[str, float] = field(default_factory=dict)
    """Columns of MARKS, and volume_mm3."""
    said: dict[str, str | int] = field(default_factory=dict)
    """Columns of MARKS or FINDINGS that are named values or ratings."""

    @property
    def center_mm(self) -> FloatArray | None:
        """The point that the report calls its centre, or its only point."""
        points = [one for one in self.regions if not one.is_outline and len(one.points_mm) == 1]
        meant = [one for one in points if one.purpose == CENTER.key] or points
        return middle_mm(meant) if meant else None

    @property
    def outlines(self) -> list[Region]:
        """The areas that it covers."""
        return [one for one in self.regions if one.is_outline]

    @property
    def series_uid(self) -> str:
        """The series of the images it was drawn on; empty: not said."""
        return next((one.series_uid for one in self.regions if one.series_uid), "")


@dataclass(frozen=True, slots=True)
class Report:
    """One report: who says what about which series."""

    name: str
    series_uid: str
    observer: str
    findings: tuple[ReportedFinding, ...]
    notices: tuple[Notice, ...] = ()

    def series_of(self, finding: ReportedFinding) -> str:
        """The series that a finding is about."""
        return finding.series_uid or self.series_uid


@dataclass(frozen=True, slots=True)
class CasesAtHand:
    """The cases that reports can be about: their names, images and geometry."""

    table: pl.DataFrame | None
    images: dict[str, Series]
    """By Series Instance UID."""
    case_of_series: dict[str, str]

    def case_id(self, series_uid: str) -> str:
        """The case that a series is."""
        return self.case_of_series.get(series_uid, series_uid)

    def grids(self) -> dict[str, Geometry]:
        """Where the voxels of each case are."""
        own = {self.case_id(uid): series.geometry for uid, series in self.images.items()}
        return geometries(self.table) | own

    def listed(self, case_ids: Iterable[str]) -> pl.DataFrame:
        """CASES of these, as far as anything is known of them."""
        rows = {self.case_id(uid): case_row(series) for uid, series in self.images.items()}
        wanted = pl.DataFrame({"case_id": list(dict.fromkeys(case_ids))}, {"case_id": pl.String})
        known = CASES.empty() if self.table is None else without_images(self.table)
        bare = wanted.join(known, on="case_id", how="anti", maintain_order="left")["case_id"]
        new = [{**rows.get(case_id, {}), "case_id": case_id} for case_id in bare]
        made = without_images(CASES.arrange(pl.DataFrame(new))) if new else CASES.empty()
        whole = pl.concat([known, made], how="diagonal")
        return wanted.join(whole, on="case_id", how="left", maintain_order="left")


def cases_at_hand(
    path: Path, cases: pl.DataFrame | None, series_uids: Iterable[str]
) -> CasesAtHand:
    """Find the images of series: where the cases say, else beside the reports.

    Args:
        path: the file or folder of the reports.
        cases: CASES, where the caller has them.
        series_uids: the series that the reports are about.
    """
    placed = images_of_cases(cases)
    images = {series.uid: series for series in placed.values()}
    names = {series.uid: case_id for case_id, series in placed.items()}
    missing = set(series_uids) - set(images)
    if missing:
        images |= read_image_series(path if path.is_dir() else path.parent, missing)
    return CasesAtHand(cases, images, names)


def middle_mm(regions: Sequence[Region]) -> FloatArray:
    """The middle of the box around regions."""
    points = np.concatenate([one.points_mm for one in regions])
    middle: FloatArray = (points.min(axis=0) + points.max(axis=0)) / 2
    return middle


def passed_over(name: str, others: Mapping[str, int]) -> tuple[Notice, ...]:
    """The notice of findings that are no nodules."""
    if not others:
        return ()
    listed = [f"{count} {meaning}" for meaning, count in others.items()]
    return (Notice("others_passed_over", {"file": name, "others": listed}),)
