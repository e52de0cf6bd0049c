from dataclasses import fields

import polars as pl
import pytest

from builders.tables import case, ignored, mark, nodule, protocol, reference, submission
from builders.words import sentences
from nodulebench.annotation.observer_conclusion import conclude, effect
from nodulebench.annotation.observer_selection import SelectOptions, false_positives, select
from nodulebench.annotation.observer_study import EARLIER_CALLS, PRESCREEN, READER_CALLS, SUSPECTS
from nodulebench.cli.annotate.observer import select as select_command
from nodulebench.core.errors import InputError
from nodulebench.core.protocol import load_protocol
from nodulebench.evaluation.service import with_options

FOUR = ("r1", "r2", "r3", "r4")
LUNA16 = with_options(load_protocol("luna16"), bootstraps=0)


def listed(*names: str) -> pl.DataFrame:
    rows = [
        {"case_id": "a", "mark_id": name, "x_mm": 100.0 * n, "y_mm": 0.0, "z_mm": 0.0, "score": 0.5}
        for n, name in enumerate(names)
    ]
    return SUSPECTS.conform(pl.DataFrame(rows), "suspects")


def called(**calls: str) -> pl.DataFrame:
    """For each mark a letter per reader: N nodule of 5 mm, s small nodule, - no nodule."""
    words = {"N": ("nodule", 5.0), "s": ("small_nodule", 2.0), "-": ("non_nodule", None)}
    rows = [
        ("a", name, reader, *words[letter])
        for name, letters in calls.items()
        for reader, letter in zip(FOUR, letters, strict=False)
    ]
    columns = ["case_id", "mark_id", "reader_id", "call", "diameter_mm"]
    return READER_CALLS.conform(pl.DataFrame(rows, schema=columns, orient="row"), "calls")


def test_false_positives_are_taken_from_the_top_up_to_the_rate() -> None:
    cases = (
        case(
            "a",
            nodule(10),
            mark(0.99),
            mark(0.9, (100, 0, 0)),
            mark(0.8, (200, 0, 0)),
            mark(0.7, (300, 0, 0)),
        ),
        case("b", ignored(10), mark(0.95), mark(0.1, (100, 0, 0))),
    )
    truth, marks_file = reference(*cases), submission(*cases)
    assert false_positives(truth, marks_file, protocol(), 1)["mark_id"].to_list() == ["m1", "m2"]
    assert false_positives(truth, marks_file, protocol(), 1.5).height == 3
    assert false_positives(truth, marks_file, protocol(), 8).height == 4


def test_false_positives_tied_across_the_cut_are_left_out() -> None:
    marked_case = case("a", mark(0.9), mark(0.5, (90, 0, 0)), mark(0.5, (180, 0, 0)))
    marks = false_positives(reference(marked_case), submission(marked_case), protocol(), 2)
    assert marks["mark_id"].to_list() == ["m0"]


def test_a_quarter_per_scan_of_888_scans_is_222() -> None:
    cases = [case(f"s{n:03}", mark(1 - n / 1000)) for n in range(888)]
    assert false_positives(reference(*cases), submission(*cases), protocol(), 0.25).height == 222


def test_false_positives_without_a_score_are_refused() -> None:
    marked_case = case("a", mark(None))
    with pytest.raises(InputError, match="has false positives without a score"):
        false_positives(reference(marked_case), submission(marked_case), protocol(), 1)


def test_obvious_annotated_and_read_marks_need_no_reading() -> None:
    marks = listed("m0", "m1", "m2", "m3", "m4")  # 100 mm apart
    screen = pl.DataFrame(
        {"case_id": ["a", "a"], "mark_id": ["m0", "m1"], "is_obvious": [True, False]}
    )
    lesions = reference(
        case("a", ignored(4, (104, 0, 0)), ignored(30, (212, 0, 0)), ignored(4, (305, 0, 0)))
    )
    earlier = [
        ("a", 397.0, 0.0, 0.0, "r1", "nodule", 6.0),
        ("a", 399.0, 0.0, 0.0, "r1", "nodule", 7.0),
        ("a", 399.0, 0.0, 0.0, "r2", "non_nodule", None),
        ("b", 300.0, 0.0, 0.0, "r1", "nodule", 6.0),
    ]
    selection = select(
        marks,
        reference(case("a"), case("b")),
        prescreen=PRESCREEN.conform(screen, "screen"),
        annotated=lesions.nodules,
        earlier=EARLIER_CALLS.conform(
            pl.DataFrame(
                earlier, schema=[column.name for column in EARLIER_CALLS.columns], orient="row"
            ),
            "earlier",
        ),
    )
    # m1 is 4 mm from a lesion, m2 12 mm from one of radius 15; m3 exactly 5 mm, so not on it
    assert selection.suspects["mark_id"].to_list() == ["m3"]
    assert selection.flow == {
        "false_positives": 5,
        "obvious": 1,
        "already_annotated": 2,
        "read_before": 1,
        "to_read": 1,
    }
    assert selection.reused.rows() == [
        ("a", "m4", "r1", "nodule", 7.0),  # the nearer of two
        ("a", "m4", "r2", "non_nodule", None),
    ]
    both = pl.concat([selection.suspects, selection.reused_suspects])
    assert both["mark_id"].to_list() == ["m3", "m4"]


def test_a_prescreen_of_other_marks_is_refused() -> None:
    screen = pl.DataFrame({"case_id": ["a"], "mark_id": ["m7"], "is_obvious": [True]})
    with pytest.raises(InputError, match=r"prescreen: mark 'm7' of case 'a' is not among the"):
        select(listed("m0"), reference(case("a")), prescreen=PRESCREEN.conform(screen, "s"))


def test_the_table_of_luna16_counts_by_agreement() -> None:
    # exactly 1, 2, 3, 4 readers: 17, 22, 28, 41; of the other 19, 6 are small and 13 rejected
    patterns = {"N---": 17, "NNs-": 22, "NNN-": 28, "NNNN": 41, "s---": 6, "----": 13}
    names, calls = [], {}
    for letters, count in patterns.items():
        for number in range(count):
            names.append(f"{letters}{number}")
            calls[names[-1]] = letters
    conclusion = conclude(reference(case("a")), listed(*names), called(**calls))
    assert conclusion.levels["at_least"].to_list() == [108, 91, 69, 41]
    assert conclusion.levels["exactly"].to_list() == [17, 22, 28, 41]
    assert (conclusion.small, conclusion.rejected, conclusion.added) == (6, 13, 69)
    assert conclusion.after.nodules["is_ignored"].sum() == 17 + 22 + 6
    assert conclusion.before.nodules.height == 0


def test_an_added_nodule_has_the_mean_diameter_of_those_who_call_it_one() -> None:
    calls = called(m0="NNN-").with_columns(
        diameter_mm=pl.Series([4.0, 5.0, 9.0, None], dtype=pl.Float64)
    )
    truth = reference(case("a", nodule(8, (500, 0, 0))))
    conclusion = conclude(truth, listed("m0"), calls)
    added = conclusion.after.nodules.row(1, named=True)
    assert added["size_definition"] == "mean of readers"
    assert (added["nodule_id"], added["diameter_mm"], added["agreement"]) == ("observer-m0", 6.0, 3)
    assert not added["is_ignored"]
    assert sentences(conclusion.after.notices) == (
        "After an observer study of false positives, 1 nodule was added and 0 findings are "
        "ignored.",
    )
    strict = conclude(truth, listed("m0"), calls, minimum_agreement=4, ignores_others=False)
    assert strict.after.nodules.height == 1


@pytest.mark.parametrize(
    ("calls", "what"),
    [
        (called(m0="NNN"), "case 'a' mark 'm0': has calls of 3 readers, not 4."),
        (called(m0="NNNN", m9="NNNN"), "readings: mark 'm9' of case 'a' is not among the false"),
        (
            called(m0="NNNN").with_columns(diameter_mm=pl.lit(2.0)),
            "case 'a' mark 'm0' reader 'r1': is called 'nodule' and measures 2 mm. A nodule",
        ),
        (
            called(m0="NNNN").with_columns(diameter_mm=pl.lit(None, dtype=pl.Float64)),
            "case 'a' mark 'm0' reader 'r1': is called 'nodule' and is not measured.",
        ),
    ],
)
def test_calls_that_are_incomplete_or_contradict_themselves_are_refused(calls, what: str) -> None:
    with pytest.raises(InputError) as caught:
        conclude(reference(case("a")), listed("m0"), calls)
    assert str(caught.value).startswith(what)


def test_the_effect_on_an_algorithm_is_shown_with_the_old_metric() -> None:
    marked_case = case("a", nodule(10), nodule(10, (500, 0, 0)), mark(0.9), mark(0.8, (100, 0, 0)))
    truth, marks_file = reference(marked_case), submission(marked_case)
    marks = false_positives(truth, marks_file, LUNA16, 8)
    conclusion = conclude(truth, marks, called(m1="NNNN"))
    rows = effect(conclusion, [marks_file], LUNA16)
    changed = {name: (before, after) for _, name, before, after in rows.rows()}
    assert changed["recall"] == (1 / 2, 2 / 3)
    assert changed["precision"] == (1 / 2, 1.0)
    assert changed["sensitivity_at_fp_rate 0.125"][1] == pytest.approx(2 / 3)


def test_the_command_takes_the_options_of_the_service() -> None:
    taken = {param.name for param in select_command.params}
    assert taken == {field.name for field in fields(SelectOptions)}
