"""Series -> the result of all checks: reasons, digest, hash, pictures, facts."""

import base64
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from math import inf

from nodulebench.core.json_types import JsonObject
from nodulebench.core.notices import Notice, read_notice, stated_notice
from nodulebench.curation.admission_checks import CHECKS, CODES_OF_GROUP, Limits, Subject
from nodulebench.curation.perceptual_hash import perceptual_hash
from nodulebench.curation.series_image import SeriesImage, read_image, thumbnails
from nodulebench.imaging.geometry import geometry_columns, is_orthonormal
from nodulebench.imaging.rasters import png
from nodulebench.io.dicom.series import Series

KINDS = CODES_OF_GROUP["kind"]


@dataclass(frozen=True, slots=True)
class CodedReason:
    """Why a series, or a file, is excluded."""

    code: str
    notice: Notice
    files: tuple[str, ...] = ()
    """The files that it concerns; none: all of the series."""


@dataclass(frozen=True, slots=True)
class ExaminedSeries:
    """A series after its headers and pixels were examined."""

    uid: str
    name: str
    """The series UID, and the number of the copy."""
    modality: str
    slices: int
    files: tuple[str, ...]
    """In geometric order."""
    frames: tuple[int, ...]
    """For every slice the number of its file among ``files`` and its frame, one after the other."""
    reasons: tuple[CodedReason, ...]
    """All reasons that apply; the first one decides."""
    waived: tuple[CodedReason, ...]
    """Those that the design allows."""
    pixel_sha256: str
    perceptual_hash: str
    pictures: tuple[str, ...]
    """PNG files, base64."""
    geometry: JsonObject
    """The columns of CASES that locate voxels; empty where the geometry is not known."""
    facts: JsonObject

    @property
    def is_admitted(self) -> bool:
        return not self.reasons

    def with_reason(self, reason: CodedReason, *, is_waived: bool = False) -> "ExaminedSeries":
        if is_waived:
            return replace(self, waived=(*self.waived, reason))
        return replace(self, reasons=(*self.reasons, reason))

    def to_json(self) -> JsonObject:
        return asdict(self)

    @classmethod
    def from_json(cls, content: JsonObject) -> "ExaminedSeries":
        """Read a series from a journal.

        Raises:
            TypeError, KeyError, ValueError: if it is not valid.
        """
        reasons = {
            name: tuple(
                CodedReason(reason["code"], read_notice(reason["notice"]), tuple(reason["files"]))
                for reason in content[name]
            )
            for name in ("reasons", "waived")
        }
        lists = {name: tuple(content[name]) for name in ("files", "frames", "pictures")}
        return cls(**{**content, **reasons, **lists})


def examine(series: Series, limits: Limits) -> ExaminedSeries:
    first = series.slices[0]
    image: SeriesImage | None = None
    if first.pixels.rows and first.pixels.columns:
        # of other kinds than CT only the middle slice, as a picture
        is_scan = not any(CHECKS[code](Subject(series, None, Limits())) for code in KINDS)
        middle = series.slices[len(series.slices) // 2]
        image = read_image(series if is_scan else Series((middle,)))
    all_reasons = _reasons(Subject(series, image, limits))
    reasons = tuple(reason for reason in all_reasons if reason.code not in limits.waived)
    is_whole = image is not None and bool(image.pixel_sha256)
    hashed = perceptual_hash(image.hu, image.step_mm) if image is not None and is_whole else None
    pictures = [] if image is None else thumbnails(image)
    files = {path: number for number, path in enumerate(series.files)}
    return ExaminedSeries(
        uid=series.uid,
        name=series.name,
        modality=series.slices[0].modality,
        slices=len(series.slices),
        files=series.files,
        frames=tuple(n for slice_ in series.slices for n in (files[slice_.path], slice_.frame)),
        reasons=reasons,
        waived=tuple(reason for reason in all_reasons if reason.code in limits.waived),
        pixel_sha256=image.pixel_sha256 if image is not None else "",
        perceptual_hash=hashed.to_text() if hashed is not None else "",
        pictures=tuple(base64.b64encode(png(picture)).decode() for picture in pictures),
        geometry=case_geometry(series),
        facts=_facts(series),
    )


def _reasons(subject: Subject) -> list[CodedReason]:
    """All reasons that apply; a series that is not a CT scan is not checked further."""
    reasons: list[CodedReason] = []
    for code, check in CHECKS.items():
        if code not in KINDS and any(known.code in KINDS for known in reasons):
            break
        reason = check(subject)
        if reason is not None:
            why = reason.notice
            notice = stated_notice(why) if isinstance(why, str) else why
            reasons.append(CodedReason(code, notice, reason.files))
    return reasons


def case_geometry(series: Series) -> JsonObject:
    grid = series.grid
    return {} if grid is None or not is_orthonormal(grid.direction) else geometry_columns(grid)


def _facts(series: Series) -> JsonObject:
    first = series.slices[len(series.slices) // 2]
    thickness = [slice_.thickness_mm for slice_ in series.slices if slice_.thickness_mm]
    stated = []
    for slice_ in series.slices:
        with suppress(ValueError):
            stated.append(float(slice_.facts.get("ctdi_vol_mgy", "")))
    stated = [dose for dose in stated if 0 < dose < inf]
    events = dict.fromkeys(
        event
        for slice_ in series.slices
        for event in slice_.facts.get("irradiation_events", "").split("\\")
        if event
    )
    return {
        "patient_id": first.patient_id or None,
        "study_uid": first.study_uid or None,
        "slice_thickness_mm": max(thickness) if thickness else None,
        **first.facts,
        "ctdi_vol_mgy": sum(stated) / len(stated) if stated else None,
        **({"irradiation_events": "\\".join(events)} if events else {}),
    }
