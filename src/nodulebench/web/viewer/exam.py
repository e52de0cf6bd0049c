"""A key that nobody sees, and a reader's answers -> the sheet, once everything was handed in."""

from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Lock

from nodulebench.annotation.exam import (
    METRICS,
    ExamRules,
    ExamSheet,
    hold_exam,
    write_sheets,
)
from nodulebench.core.errors import InputError
from nodulebench.core.protocol import IntervalChoice, RuleChoice, TestProtocol
from nodulebench.core.tables import Reference, Submission
from nodulebench.evaluation.evaluate import evaluate
from nodulebench.evaluation.recompute import evaluated_of
from nodulebench.io.formats import read_reference
from nodulebench.web.viewer.drafts import Drafts, open_drafts
from nodulebench.web.viewer.evaluation import EvaluationLayer
from nodulebench.web.viewer.export import answer_of
from nodulebench.web.viewer.scans import Scan, scans_of
from nodulebench.web.viewer.session import ReadingSession, Voxels, scan_context

SHEETS = "exam"
_ANY_NUMBER = ExamRules(sequences=None)


@dataclass(frozen=True, eq=False)
class Sat:
    """An exam that is over: its sheet, and key and answers over the images."""

    sheet: ExamSheet
    judged: EvaluationLayer


@dataclass(frozen=True, eq=False)
class Exam:
    """A key, which leaves here in no form but that of a judged answer."""

    key: Reference
    rules: ExamRules

    @property
    def case_ids(self) -> list[str]:
        """The sequences of the exam, in order."""
        return list(self.key.cases["case_id"])

    def judge(self, answer: Submission) -> Sat:
        """Compare an answer to all sequences with the key."""
        (sheet,) = hold_exam(self.key, [answer], self.rules)
        protocol = TestProtocol(
            name="exam",
            rules=(RuleChoice(name=self.rules.rule),),
            metrics=tuple(metric.name for metric in METRICS),
            interval=IntervalChoice(bootstraps=0),
        )
        return Sat(sheet, EvaluationLayer(evaluated_of(evaluate(self.key, [answer], protocol))))


class ExamSession(ReadingSession):
    """The sequences of an exam. Nothing of its key is told before all of them were handed in."""

    def __init__(
        self,
        folder: Path,
        images: Mapping[str, Scan],
        drafts: Drafts,
        reader: str,
        exam: Exam,
        voxels: Voxels | None = None,
    ) -> None:
        super().__init__(
            folder, [images[case_id] for case_id in exam.case_ids], drafts, reader, voxels
        )
        self.exam = exam
        self._own = drafts
        self._lock = Lock()
        self._sat: Sat | None = None

    def sat(self) -> Sat | None:
        """The result, which is kept as soon as there is one; None: something is not handed in."""
        if not all(self._own.of(case_id).is_submitted for case_id in self.exam.case_ids):
            return None
        with self._lock:
            if self._sat is None:
                found = self.exam.judge(answer_of(self, self._own))
                self.keep(found.sheet)
                self._sat = found
            return self._sat

    def keep(self, sheet: ExamSheet) -> None:
        """Write the sheet into the folder of the room."""
        write_sheets([sheet], self.folder / SHEETS)

    def judged(self) -> EvaluationLayer | None:
        """Key and answers over the images, when it is over."""
        found = self.sat()
        return None if found is None else found.judged

    def sheet(self) -> ExamSheet | None:
        """The result, when it is over."""
        found = self.sat()
        return None if found is None else found.sheet


@contextmanager
def open_exam_session(
    place: Path, reader: str, exam: Exam, folder: Path | None = None
) -> Iterator[ExamSession]:
    """The room of somebody who sits an exam on their own machine.

    Raises:
        InputError: if a scan is not there, or somebody else reads there.
    """
    scans, kept = scans_of(place, exam.case_ids), folder or scan_context(place)
    with (
        open_drafts(kept, reader) as drafts,
        closing(ExamSession(kept, scans, drafts, reader, exam)) as room,
    ):
        yield room


def exam_of(key: Path, rules: ExamRules = _ANY_NUMBER) -> Exam:
    """The exam that a key is for.

    Raises:
        InputError: if the key cannot be read, or has no outlines or boxes to compare with.
    """
    truth = read_reference(key)
    if truth.slices is None:
        what = "has no slices: outlines of answers cannot be compared with it."
        raise InputError.at(key.name, what, "Give the panel's nodules slice by slice (NIFDC CSV).")
    return Exam(truth, rules)
