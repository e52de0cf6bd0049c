"""Exams: a secret key, which no page or response contains, and the scans it belongs to."""

from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import numpy as np
from pydantic import ValidationError
from sqlalchemy import select
from sqlalchemy.orm import Session as Transaction

from nodulebench.annotation.exam import ExamRules
from nodulebench.annotation.readings import drawn_slice
from nodulebench.core.errors import Problem, raise_problems
from nodulebench.core.json_types import JsonObject
from nodulebench.io.atomic import staged_folder
from nodulebench.io.manifests import file_digest
from nodulebench.web.portal.accounts.service import DeniedError
from nodulebench.web.portal.benchmarks.service import MAX_TITLE
from nodulebench.web.portal.database.models import ExamResult, SiteExam, new_id, now
from nodulebench.web.portal.site import Site
from nodulebench.web.portal.viewer_access.reviews import images_of, voxels_of
from nodulebench.web.viewer.evaluation import shown_position
from nodulebench.web.viewer.exam import Exam, exam_of
from nodulebench.web.viewer.scans import Scan, Tiles, scans_of, tiles_of

KEY = "key.csv"


def make_exam(
    site: Site, by: str, *, title: str, images: str, key: BinaryIO, pass_mark: str = ""
) -> str:
    """Make an exam of a panel's key (NIFDC CSV) and a folder of scans; return its id.

    All scans are read now, so that candidates need not wait, and to check the key against them. The
    account ``by`` knows the key and cannot take the exam.
    """
    title = title.strip()
    if not title or len(title) > MAX_TITLE or not title.isprintable():
        raise DeniedError("title_form")
    exam_id, place = new_id(), images_of(site, images)
    chosen = {"pass_mark": pass_mark} if pass_mark else {}
    try:
        rules = ExamRules.model_validate({"sequences": None, **chosen})
    except ValidationError as error:
        raise DeniedError("field_form") from error
    with staged_folder(site.exam(exam_id), last=KEY, is_new=True) as stage:
        (stage / KEY).write_bytes(key.read())
        exam = exam_of(stage / KEY, rules)
        raise_problems(_misplaced(exam, scans_of(place, exam.case_ids), voxels_of(site)))
    digest = file_digest(site.exam(exam_id) / KEY)
    with site.acting(by, "exam_made", exam=exam_id, digest=digest) as session:
        made = {"title": title, "images": images, "rules": rules.model_dump(mode="json")}
        session.add(SiteExam(id=exam_id, made_by=by, **made))
    return exam_id


def _misplaced(exam: Exam, scans: dict[str, Scan], voxels: Path) -> Iterator[Problem]:
    """Nodules of the key outside of their scan, which no candidate could find."""
    slices = exam.key.slices
    for case_id in exam.case_ids:
        tiles = tiles_of(scans[case_id], voxels)
        own = () if slices is None else slices.filter(case_id=case_id).iter_rows(named=True)
        outside = {nodule["nodule_id"]: nodule for nodule in own if not _is_inside(nodule, tiles)}
        for name, nodule in outside.items():
            what = f"slice {nodule['slice_index']} is outside of the scan."
            remedy = "Slices count from 0 at the feet; millimetres are those of the scan (LPS)."
            yield Problem(f"key, sequence '{case_id}', nodule '{name}'", what, remedy)


def _is_inside(nodule: JsonObject, tiles: Tiles) -> bool:
    place, size = shown_position(drawn_slice(nodule), tiles), np.array(tiles.volume.shape[::-1])
    return bool(np.all((place >= -0.5) & (place <= size - 0.5)))


def find_exam(session: Transaction, exam_id: str) -> SiteExam:
    exam = session.get(SiteExam, exam_id)
    if exam is None:
        raise DeniedError("not_found", 404)
    return exam


def end_exam(site: Site, by: str, exam_id: str) -> None:
    """Close an exam; results of candidates who submitted everything remain."""
    with site.acting(by, "exam_ended", exam=exam_id) as session:
        exam = find_exam(session, exam_id)
        exam.ended_at = exam.ended_at or now()


def rules_of(exam: SiteExam) -> ExamRules:
    return ExamRules.model_validate(exam.rules)


SHEET_FIELDS = ("candidate", "has_passed", "failed", "pass_mark", "rule", "counts", "metrics")
"""The fields of a sheet that others may see: none contains the position of a nodule."""


def results_of(session: Transaction, exam_id: str) -> list[ExamResult]:
    rows = select(ExamResult).where(ExamResult.exam_id == exam_id)
    return list(session.scalars(rows.order_by(ExamResult.created_at.desc())))


def passed_accounts(session: Transaction, exam_id: str | None) -> frozenset[str] | None:
    if exam_id is None:
        return None
    return frozenset(
        result.account_id for result in results_of(session, exam_id) if result.has_passed
    )


def disclosed_sheet(result: ExamResult, candidate: str = "") -> JsonObject:
    """A result as in ``exam.json``, for a candidate's name or the login, without missed nodules."""
    disclosed = {name: result.sheet[name] for name in SHEET_FIELDS}
    return {**disclosed, "candidate": candidate} if candidate else disclosed
