"""A key that nobody sees, and a reader's answers -> the sheet, once everything was handed in."""

from dataclasses import dataclass, replace
from pathlib import Path
from threading import Lock

from nodulebench.errors import InputError
from nodulebench.formats import read_reference, read_submission
from nodulebench.model.protocol import IntervalChoice, RuleChoice, TestProtocol
from nodulebench.model.tables import Reference
from nodulebench.workbench.export import NODULES
from nodulebench.workbench.judged import Judged
from nodulebench.workbench.room import Room
from nodulebench.workflows.annotate.exam import (
    FIGURES,
    ExamRules,
    ExamSheet,
    hold_exam,
    write_sheets,
)
from nodulebench.workflows.evaluate.evaluate import evaluate
from nodulebench.workflows.evaluate.recompute import evaluated_of

SHEETS = "exam"
_ANY_NUMBER = ExamRules(sequences=None)


@dataclass(frozen=True, eq=False)
class Sat:
    """An exam that is over: its sheet, and key and answers over the images."""

    sheet: ExamSheet
    judged: Judged


class Exam:
    """The exam of a room. Its key leaves here in no form before every scan was handed in."""

    def __init__(self, key: Reference, rules: ExamRules) -> None:
        self._key = key
        self._rules = rules
        self._lock = Lock()
        self._sat: Sat | None = None

    @property
    def case_ids(self) -> list[str]:
        """The sequences of the exam, in order."""
        return list(self._key.cases["case_id"])

    def result(self, room: Room) -> Sat | None:
        """The result, of which sheets are written too; None: not everything was handed in."""
        drafts = room.drafts
        if drafts is None or not all(drafts.of(one).is_handed_in for one in self.case_ids):
            return None
        with self._lock:
            if self._sat is None:
                self._sat = self._judge(room)
            return self._sat

    def _judge(self, room: Room) -> Sat:
        answer = read_submission(room.folder / NODULES, self._key.cases)
        answer = replace(answer, name=room.reader)
        (sheet,) = hold_exam(self._key, [answer], self._rules)
        protocol = TestProtocol(
            name="exam",
            rules=(RuleChoice(name=self._rules.rule),),
            figures=tuple(one.name for one in FIGURES),
            interval=IntervalChoice(bootstraps=0),
        )
        judged = Judged(evaluated_of(evaluate(self._key, [answer], protocol)))
        write_sheets([sheet], room.folder / SHEETS)
        return Sat(sheet, judged)


def exam_of(key: Path, rules: ExamRules = _ANY_NUMBER) -> Exam:
    """The exam that a key is for.

    Raises:
        InputError: if the key cannot be read, or has no outlines or boxes to compare with.
    """
    truth = read_reference(key)
    if truth.slices is None:
        what = "has no slices: outlines of answers cannot be compared with it."
        raise InputError.at(key, what, "Give the panel's nodules slice by slice (NIFDC CSV).")
    return Exam(truth, rules)
