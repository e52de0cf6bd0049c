import json
from pathlib import Path

import pytest

from builders.tables import Slice, case, mark, nodule, reference, submission
from nodulebench.annotation.exam import ExamRules, exam_files, hold_exam, sheet_text
from nodulebench.core.errors import InputError
from nodulebench.io.marks.nifdc import write_marks, write_reference

FIVE = ExamRules(sequences=None)


def square(x: float, side: float = 10.0, index: int = 3) -> Slice:
    return Slice(index, x, 50, side, side)


def exam(*marks, nodules: int = 5, rules: ExamRules = FIVE):
    """One sequence with nodules 30 mm apart, and these marks in it."""
    key = case("a", *(nodule(10, (30 * n, 50, 3), square(30 * n)) for n in range(nodules)))
    answer = case("a", *(mark(None, (box.x, box.y, 3), box) for box in marks))
    (sheet,) = hold_exam(reference(key), [submission(answer, name="candidate")], rules)
    return sheet


def test_a_perfect_answer_passes() -> None:
    sheet = exam(*(square(30 * n) for n in range(5)))
    assert sheet.has_passed
    assert {name: metric.value for name, metric in sheet.metrics.items()} == {
        "precision": 1.0,
        "recall": 1.0,
        "mean_dice": 1.0,
        "pooled_dice": 1.0,
    }
    assert sheet.missed.height == sheet.false_marks.height == 0


def test_four_of_five_is_exactly_the_pass_mark_and_fails() -> None:
    sheet = exam(*(square(30 * n) for n in range(4)))
    assert sheet.metrics["recall"].value == 0.8
    assert sheet.failed == ("recall",)
    row = sheet.missed.row(0, named=True)
    assert (row["case_id"], row["nodule_id"], row["first_slice"], row["last_slice"]) == (
        "a",
        "n4",
        3,
        3,
    )


def test_a_mark_on_no_nodule_costs_precision_and_is_shown() -> None:
    sheet = exam(*(square(30 * n) for n in range(4)), Slice(3, 0, 200, 6, 6), nodules=4)
    assert sheet.metrics["precision"].value == 0.8
    assert sheet.failed == ("precision",)
    assert sheet.false_marks.rows() == [("a", "m4", 0.0, 200.0, 3.0)]


def test_dice_is_a_mean_over_nodules_and_also_pooled() -> None:
    # 10 x 10 against 10 x 10: 1; 10 x 10 against 5 x 5: 2 * 25 / 125 = 0.4
    sheet = exam(square(0), square(30, 5.0), nodules=2)
    assert sheet.metrics["mean_dice"].value == pytest.approx(0.7)
    assert sheet.metrics["pooled_dice"].value == pytest.approx(2 * 125 / 325)
    assert sheet.failed == ("mean_dice",)
    assert sheet.outlines["nodule_id"].to_list() == ["n1", "n0"]


def test_a_dice_of_exactly_the_pass_mark_fails() -> None:
    # 10 x 10 against 10 x 20/3: 2 * 66.67 / 166.67 = 0.8
    narrow = Slice(3, 0, 50, 10, 20 / 3)
    sheet = exam(narrow, nodules=1)
    assert sheet.metrics["mean_dice"].value == pytest.approx(0.8)
    assert sheet.failed == ("mean_dice",)


def test_counts_are_pooled_over_sequences() -> None:
    marked_case = case("a", nodule(10, (0, 50, 3), square(0)), nodule(10, (30, 50, 3), square(30)))
    key = reference(marked_case, case("b", nodule(10, (0, 50, 3), square(0))))
    answer = submission(
        case("a", mark(None, (0, 50, 3), square(0))), case("b", mark(None, (0, 50, 3), square(0)))
    )
    (sheet,) = hold_exam(key, [answer], FIVE)
    # by sequence recall would be (1/2 + 1)/2
    assert sheet.metrics["recall"].value == 2 / 3


def test_nothing_found_is_undefined_and_not_passed() -> None:
    sheet = exam(Slice(3, 0, 200, 6, 6))
    assert sheet.metrics["mean_dice"].value is None
    assert sheet.failed == ("precision", "recall", "mean_dice")
    assert "| mean_dice | undefined: no found nodule has boxes or outlines" in sheet_text(sheet)


def test_an_exam_has_twenty_sequences_by_default() -> None:
    with pytest.raises(InputError, match=r"key 'test': has 1 sequences, not 20"):
        exam(rules=ExamRules())


def test_wrong_answers_are_refused() -> None:
    key = reference(case("a", nodule(10, (0, 50, 3), square(0))))
    answer = submission(case("z", mark(None, (0, 50, 3), square(0))), name="someone")
    with pytest.raises(InputError, match=r"'someone' mark 'm0': case 'z' is not in the test set"):
        hold_exam(key, [answer], FIVE)
    same = submission(case("a"), name="someone")
    with pytest.raises(InputError, match=r"candidate 'someone': submitted more than one answer"):
        hold_exam(key, [same, same], FIVE)


def test_files_give_a_sheet_for_each_candidate(tmp_path: Path) -> None:
    key = reference(case("a", nodule(10, (0, 50, 3), square(0), type="solid")))
    write_reference(key, tmp_path / "key.csv")
    answer = submission(case("a", mark(None, (0, 50, 3), square(0))))
    write_marks(answer, tmp_path / "lee.csv")
    write_marks(submission(case("a", mark(None, (0, 90, 3), square(90)))), tmp_path / "kim.csv")
    out = tmp_path / "out"
    exam_files(
        tmp_path / "key.csv", [tmp_path / "lee.csv", tmp_path / "kim.csv"], rules=FIVE, out=out
    )
    written = json.loads((out / "exam.json").read_text())
    assert [(sheet["candidate"], sheet["has_passed"]) for sheet in written] == [
        ("lee", True),
        ("kim", False),
    ]
    assert written[1]["missed"][0]["type"] == "solid"
    text = (out / "kim.md").read_text()
    assert text.startswith("# Exam of kim: not passed: precision, recall, mean_dice\n")
    assert "## Missed nodules\n" in text
    assert (out / "lee.md").read_text().startswith("# Exam of lee: passed\n")
