"""A datasheet answers from the tables what they tell, and leaves the rest as gaps."""

from dataclasses import replace

import polars as pl

from builders.sealed import POLICY
from builders.tables import case, ignored, nodule, reference
from nodulebench.custody.datasheet import (
    QUESTIONS,
    Datasheet,
    WrittenAnswers,
    make_datasheet,
    stated_answers,
)
from nodulebench.custody.policy import FEEDBACK, Reuse, parse_policy

CASES = {
    "a": {"hospital": "North", "country": "NL", "study_date": "20190302", "is_public": False},
    "b": {"hospital": "South", "country": "NL", "study_date": "20211230", "is_public": False},
    "c": {"hospital": " ", "country": "NL", "study_date": None, "is_public": True},
}


def test_tables_tell_sources_period_ethics_and_pathology() -> None:
    approvals = {"a": "2026-17", "b": "2026-17", "c": None}
    test_set = reference(
        *(
            case(name, nodule(5), ignored(3, (50, 0, 0)), ethics_approval=approvals[name], **more)
            for name, more in CASES.items()
        )
    )
    truth = pl.Series("truth", ["pathology", None, "readers", None, "readers", "readers"])
    sheet = make_datasheet(
        type(test_set)(test_set.name, test_set.cases, test_set.nodules.with_columns(truth)), {}
    )
    assert sheet.answers["sources"] == "2 hospitals, 1 countries."
    assert sheet.answers["period"] == "2019 to 2021."
    assert sheet.answers["ethics"] == "2 of 3 cases: 2026-17 2."
    assert sheet.answers["public_share"] == "3 of 3 cases: false 2, true 1."
    assert sheet.answers["pathology"] == "3 of 3 nodules: readers 2, pathology 1."
    assert {"sources", "period", "ethics", "public_share", "pathology"} <= sheet.computed
    assert "North" not in sheet.to_markdown()


def test_what_people_state_overrides_what_tables_tell() -> None:
    test_set = reference(case("a", nodule(5), ethics_approval="2026-17"))
    sheet = make_datasheet(test_set, {"ethics": "Waived by the committee."})
    assert sheet.answers["ethics"] == "Waived by the committee."
    assert "ethics" not in sheet.computed


def test_tables_that_do_not_tell_leave_gaps() -> None:
    sheet = make_datasheet(reference(case("a", nodule(5), hospital=None)), {})
    assert {"sources", "period", "ethics", "public_share", "pathology"} <= set(sheet.gaps)


def test_values_that_are_left_out_are_counted() -> None:
    test_set = reference(*(case(f"c{n:02d}", kernel=f"B{n:02d}") for n in range(14)))
    assert make_datasheet(test_set, {}).answers["equipment"].endswith("B11 1, and 2 more.")


def test_sizes_are_counted_up_to_each_limit() -> None:
    sizes = (2.5, 3, 5.9, 6, 9.9, 10, 19.5, 20, 29.5, 30)
    nodules = [nodule(size, (60.0 * number, 0, 0)) for number, size in enumerate(sizes)]
    sheet = make_datasheet(reference(case("a", *nodules)), {}).answers["sizes"]
    assert sheet == (
        "Diameters 2.5 to 30.0 mm; 0 to 3 mm: 1; 3 to 6 mm: 2; 6 to 10 mm: 2; 10 to 20 mm: 2; "
        "20 to 30 mm: 2; 30 mm and more: 1."
    )


def test_a_sheet_without_gaps_says_so_and_others_list_them() -> None:
    full = Datasheet("set", {question.name: "Stated." for question in QUESTIONS}, frozenset())
    assert full.to_markdown().endswith("## Gaps\n\nNone.\n")
    open_ = Datasheet("set", {question.name: "Stated." for question in QUESTIONS[1:]}, frozenset())
    assert open_.to_markdown().endswith(f"## Gaps\n\n- {QUESTIONS[0].text}\n")


def test_patients_are_counted() -> None:
    two = reference(case("a", patient_id="p"), case("b", patient_id="p"), case("c", patient_id="q"))
    assert make_datasheet(two, {}).answers["cases"] == "3 cases of 2 patients."
    assert make_datasheet(reference(), {}).answers["cases"] == "0 cases of 0 patients."


def test_the_period_is_from_the_first_year_to_the_last() -> None:
    dates = ("20200101", "20180101", "20240101", "20190101")
    scans = (case(date, study_date=date) for date in dates)
    assert make_datasheet(reference(*scans), {}).answers["period"] == "2018 to 2024."
    single = reference(case("a", study_date="20180101"))
    assert make_datasheet(single, {}).answers["period"] == "2018 to 2018."


def test_equipment_that_is_unknown_is_not_disclosed() -> None:
    sheet = make_datasheet(reference(case("a", kernel="B30", vendor=None), case("b")), {})
    assert sheet.answers["equipment"] == "kernel: B30 1."
    assert "equipment" in make_datasheet(reference(case("a", kernel=None)), {}).gaps


def test_a_policy_answers_who_may_do_what_and_how_often() -> None:
    policy = parse_policy(POLICY, "policy.toml")
    for limit, reuse, retirement in (
        (None, "2 evaluations per developer. An evaluation discloses: ", ""),
        (
            5,
            "2 evaluations per developer and 5 in all. An evaluation discloses: ",
            "After 5 evaluations of all developers together.",
        ),
    ):
        chosen = Reuse(evaluations_per_developer=2, evaluations_in_total=limit)
        changed_policy = policy.model_copy(update={"reuse": chosen})
        answers = make_datasheet(reference(case("a")), {}, changed_policy).answers
        assert answers["reuse"] == f"{reuse}{FEEDBACK['verdict']}."
        assert answers.get("retirement", "") == retirement
        assert answers["key_custodian"] == policy.key_custodian
        assert "Bo: operator" in answers["access"]


def test_a_sheet_has_a_heading_for_each_section_and_says_who_answered() -> None:
    test_set = reference(case("a", nodule(5), ignored(3, (50, 0, 0)), ignored(4, (90, 0, 0))))
    sheet = make_datasheet(test_set, {"purpose": "To test."})
    assert sheet.answers["nodules"] == "1 nodules, and 2 findings to be ignored."
    sections = [line[3:] for line in sheet.to_markdown().splitlines() if line.startswith("## ")]
    assert sections == [*dict.fromkeys(question.section for question in QUESTIONS), "Gaps"]
    answers = sheet.to_json()["answers"]
    assert (answers["nodules"]["source"], answers["purpose"]["source"]) == ("data", "stated")
    assert (answers["made_by"]["answer"], answers["made_by"]["source"]) == (None, "stated")


def test_equally_frequent_values_are_in_the_order_of_their_names() -> None:
    kernels = ("C", "A", "B", "D", "D")
    cases = (case(f"c{number}", kernel=name) for number, name in enumerate(kernels))
    sheet = make_datasheet(reference(*cases), {}).answers["equipment"]
    assert sheet == "kernel: D 2, A 1, B 1, C 1."


def test_the_rule_of_the_reference_is_reported_where_it_has_one() -> None:
    plain = reference(case("a", nodule(5, type="solid")))
    assert "reference_rule" in make_datasheet(plain, {}).gaps
    ruled = replace(plain, rule="majority of four")
    assert make_datasheet(ruled, {}).answers["reference_rule"] == "majority of four."
    assert make_datasheet(ruled, {}).answers["nodules"].endswith(" Types: solid 1.")


def test_twelve_values_are_reported_in_full() -> None:
    test_set = reference(*(case(f"c{n:02d}", kernel=f"B{n:02d}") for n in range(12)))
    assert make_datasheet(test_set, {}).answers["equipment"].endswith("B10 1, B11 1.")


def test_what_people_stated_is_repeated_and_nothing_else() -> None:
    first, second, third = list(WrittenAnswers.model_fields)[:3]
    sheet = Datasheet("set", {first: "Stated.", second: "Counted.", third: ""}, frozenset([second]))
    document = sheet.to_json()
    assert document["answers"][first]["answer"] == "Stated."
    assert document["answers"][third]["answer"] is None
    assert stated_answers(document) == {first: "Stated."}
    statement = {"source": "stated", "answer": "Stated."}
    assert stated_answers(
        {"answers": {"no question": statement, first: "text", second: statement}}
    ) == {second: "Stated."}
    assert stated_answers({"answers": {first: {"source": "data", "answer": "Stated."}}}) == {}
    assert stated_answers({"answers": {first: {"source": "stated", "answer": 3}}}) == {}
    for nothing in (None, [], {}, {"answers": None}, {"answers": []}):
        assert stated_answers(nothing) == {}
