"""Exams: the answers of a reader are scored with a hidden key once all sequences are submitted."""

from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Lock

from nodulebench.annotation.exam import METRICS, ExamRules, ExamSheet, hold_exam, write_sheets
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
from nodulebench.web.viewer.session import ReadingSession, Voxels, readings_folder

SHEETS = "exam"
_ANY_NUMBER = ExamRules(sequences=None)


@dataclass(frozen=True, eq=False)
class FinishedExam:
    """The result of a finished exam: its sheet, and key and answers to show over the images."""

    sheet: ExamSheet
    evaluation: EvaluationLayer


@dataclass(frozen=True, eq=False)
class Exam:
    """The key and the rules of an exam; the key leaves this class only in scored answers."""

    key: Reference
    rules: ExamRules

    @property
    def case_ids(self) -> list[str]:
        return list(self.key.cases["case_id"])

    def score(self, answer: Submission) -> FinishedExam:
        (sheet,) = hold_exam(self.key, [answer], self.rules)
        protocol = TestProtocol(
            name="exam",
            rules=(RuleChoice(name=self.rules.rule),),
            metrics=tuple(metric.name for metric in METRICS),
            interval=IntervalChoice(bootstraps=0),
        )
        layer = EvaluationLayer(evaluated_of(evaluate(self.key, [answer], protocol)))
        return FinishedExam(sheet, layer)


class ExamSession(ReadingSession):
    """The sequences of an exam. The key is hidden until all of them are submitted."""

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
        self._result: FinishedExam | None = None

    def result(self) -> FinishedExam | None:
        """The result, saved when it is first computed; None until everything is submitted."""
        if not all(self._own.of(case_id).is_submitted for case_id in self.exam.case_ids):
            return None
        with self._lock:
            if self._result is None:
                result = self.exam.score(answer_of(self, self._own))
                self.save_sheet(result.sheet)
                self._result = result
            return self._result

    def save_sheet(self, sheet: ExamSheet) -> None:
        write_sheets([sheet], self.folder / SHEETS)

    def evaluation(self) -> EvaluationLayer | None:
        result = self.result()
        return None if result is None else result.evaluation

    def sheet(self) -> ExamSheet | None:
        result = self.result()
        return None if result is None else result.sheet


@contextmanager
def open_exam_session(
    images: Path, reader: str, exam: Exam, folder: Path | None = None
) -> Iterator[ExamSession]:
    scans, folder = scans_of(images, exam.case_ids), folder or readings_folder(images)
    with (
        open_drafts(folder, reader) as drafts,
        closing(ExamSession(folder, scans, drafts, reader, exam)) as session,
    ):
        yield session


def exam_of(key: Path, rules: ExamRules = _ANY_NUMBER) -> Exam:
    reference = read_reference(key)
    if reference.slices is None:
        what = "has no slices: outlines of answers cannot be compared with it."
        raise InputError.at(key.name, what, "Give the panel's nodules slice by slice (NIFDC CSV).")
    return Exam(reference, rules)
