from dataclasses import replace

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders.tables import case, ignored, nodule, reference
from nodulebench.core.errors import InputError, UnknownNameError
from nodulebench.curation.composition import NOT_STATED, compose, thin_strata
from nodulebench.curation.coverage import RuleOutcome, check_coverage, cover, reach_to_one_side
from nodulebench.curation.design import (
    NAMES,
    CoverageRule,
    DesignInput,
    SamplingPlan,
    load_design,
    parse_design,
)
from nodulebench.curation.sampling import draw_cases
from nodulebench.i18n.translator import in_english, translator
from nodulebench.report.coverage import render_coverage

POOL = reference(
    case(
        "a",
        nodule(3, type="solid"),
        nodule(5, at=(50, 0, 0), type="pleural"),
        vendor="GE",
        beds=900,
    ),
    case("b", nodule(12, type="solid"), ignored(8, (90, 0, 0)), vendor="GE", beds=100),
    case("c", nodule(6, type="solid"), vendor="Canon", beds=800),
    case("d", vendor=None, beds=None),
)


def outcome(**rule: object) -> RuleOutcome:
    design = DesignInput(name="test", rules=(CoverageRule.model_validate({"name": "r", **rule}),))
    (rule_outcome,) = check_coverage(design, POOL)
    return rule_outcome


messages = translator("en").messages


def missing(rule_outcome: RuleOutcome) -> tuple[str, ...]:
    return tuple(in_english(notice) for notice in rule_outcome.missing)


def test_rows_are_counted() -> None:
    assert outcome(minimum_rows=4).is_met
    missed = outcome(minimum_rows=6)
    assert (messages(missed.required), messages(missed.found)) == ("at least 6 cases", "4")
    assert missing(missed) == ("2 more cases",)
    assert missed.answer == "not met"


def test_ignored_findings_do_not_count_for_the_plan() -> None:
    assert outcome(table="nodules", minimum_rows=4).is_met
    assert not outcome(table="nodules", minimum_rows=5).is_met


def test_a_preference_is_a_warning() -> None:
    assert outcome(minimum_rows=6, is_preferred=True).answer == "preferred, not met"


def test_different_values_are_counted_without_empty_ones() -> None:
    assert outcome(column="vendor", minimum_distinct=2).is_met
    assert missing(outcome(column="vendor", minimum_distinct=3)) == ("1 more vendor",)


def test_every_listed_value_must_be_there() -> None:
    rule_outcome = outcome(column="vendor", values=["GE", "Canon", "Philips"], rows_each=2)
    assert messages(rule_outcome.found) == "GE 2, Canon 1, Philips 0"
    assert missing(rule_outcome) == ("1 cases of Canon", "2 cases of Philips")


def test_bins_hold_their_lower_bound_and_not_their_upper() -> None:
    bins = [{"name": "small", "below": 800}, {"name": "large", "at_least": 800}]
    assert messages(outcome(column="beds", bins=bins).found) == "small 1, large 2"


def test_shares_may_differ_by_the_tolerance() -> None:
    shares = {"solid": 0.8, "pleural": 0.2}  # found 3 and 1 of 4
    assert outcome(table="nodules", column="type", shares=shares, tolerance=0.05).is_met
    off = outcome(table="nodules", column="type", shares=shares, tolerance=0.04)
    assert messages(off.found) == "solid 75.0%, pleural 25.0%"
    assert missing(off) == ("solid: 5.0% too few", "pleural: 5.0% too many")


def test_rows_can_be_chosen_by_several_columns() -> None:
    where = [{"column": "vendor", "values": ["GE"]}, {"column": "beds", "at_least": 500}]
    rule_outcome = outcome(where=where, minimum_share=0.5)
    assert (
        messages(rule_outcome.required)
        == "at least 50% of the cases with vendor GE and beds from 500"
    )
    assert (messages(rule_outcome.found), missing(rule_outcome)) == (
        "1 of 4 (25.0%)",
        ("25.0% of the cases",),
    )


def test_every_row_must_have_a_value() -> None:
    rule_outcome = outcome(column="vendor", is_complete=True)
    assert (messages(rule_outcome.found), missing(rule_outcome)) == (
        "3 of 4 stated",
        ("vendor of 1 cases",),
    )


def test_spaces_are_not_a_value() -> None:
    blank = POOL.cases.with_columns(pl.Series("vendor", ["GE ", " ", "", None]))
    rule = CoverageRule(name="r", column="vendor", is_complete=True, values=("GE",))
    (rule_outcome,) = check_coverage(
        DesignInput(name="x", rules=(rule,)), replace(POOL, cases=blank)
    )
    assert missing(rule_outcome) == ("vendor of 3 cases",)
    shares = {share.column: share.counts for share in compose(replace(POOL, cases=blank)).shares}
    assert shares["vendor"] == {"GE": 1, NOT_STATED: 3}


def test_a_missing_column_fails_the_rule_by_name() -> None:
    rule_outcome = outcome(column="country", minimum_distinct=5)
    assert (rule_outcome.is_met, messages(rule_outcome.found)) == (
        False,
        "the cases have no column 'country'",
    )


def test_a_rule_that_asks_for_nothing_is_refused() -> None:
    with pytest.raises(InputError, match="requires nothing"):
        parse_design('name = "x"\n[[rules]]\nname = "empty"', "x.toml")
    with pytest.raises(InputError, match="needs a column"):
        parse_design('name = "x"\n[[rules]]\nname = "v"\nvalues = ["GE"]', "x.toml")


def test_a_mistake_in_a_design_is_reported_with_its_position() -> None:
    with pytest.raises(InputError, match="colour"):
        parse_design('name = "x"\ncolour = 1', "x.toml")
    with pytest.raises(InputError, match="is not valid TOML"):
        parse_design("name = ", "x.toml")
    with pytest.raises(UnknownNameError, match="Did you mean 'fg-ai4h'"):
        load_design("fg-ai4")


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ('bins = [{name = "thin", below = 2}]\nshares = {tihn = 0.5}', "has a share of 'tihn'"),
        (
            'values = ["GE"]\nshares = {Canon = 0.5}',
            "has a share of 'Canon', which is not one of GE",
        ),
        ("shares = {GE = 0.8, Canon = 0.8}", "has shares that add up to 1.6"),
        ('values = ["GE"]\nbins = [{name = "a", below = 2}]', "has values and bins"),
        ("minimum_share = 0.5", "has a minimum_share, which needs"),
        ('minimum_rows = 1\nwhere = [{column = "beds"}]', "by values or by a range"),
        (
            'minimum_rows = 1\nwhere = [{column = "beds", values = ["9"], below = 1}]',
            "by values or by a range",
        ),
        ('bins = [{name = "a", at_least = 2, below = 2}]', "holds no number"),
        ('bins = [{name = "a", at_least = 2, at_most = 1}]', "holds no number"),
    ],
)
def test_a_rule_that_contradicts_itself_is_refused(rule: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        parse_design(f'name = "x"\n[[rules]]\nname = "r"\ncolumn = "vendor"\n{rule}', "x.toml")


def test_planned_equipment_is_checked_like_a_rule() -> None:
    text = 'name = "x"\n[equipment]\nvendors = ["GE", "Philips"]\nslice_thickness_mm = [1, 2]\n'
    design = parse_design(text, "x.toml")
    thick = pl.Series("slice_thickness_mm", [1.0, 2.0, 2.5, None])
    cases = replace(POOL, cases=POOL.cases.with_columns(thick))
    vendors, thickness = check_coverage(design, cases)
    assert missing(vendors) == ("50.0% of the cases", "1 cases of Philips")
    assert messages(vendors.required) == (
        "vendor: GE, Philips; at least 100% of the cases with vendor GE or Philips"
    )
    assert (messages(thickness.found), missing(thickness)) == (
        "2 of 4 (50.0%)",
        ("50.0% of the cases",),
    )
    assert messages(thickness.required).endswith("with slice_thickness_mm from 1 to 2")
    assert thickness.rule.name == "planned slice thickness mm"
    with pytest.raises(InputError, match="from its smaller to its larger end"):
        parse_design('name = "x"\n[equipment]\ntube_voltage_kv = [140, 100]', "x.toml")


def test_the_page_shows_the_design_in_words_and_strata_that_no_table_tells() -> None:
    design = DesignInput(
        name="x", purpose="Screening", identification="site-number", strata=("vendor", "vendro")
    )
    document = cover(POOL, design)
    assert document["unknown_strata"] == ["vendro"]
    page = render_coverage(document)
    assert all(word in page for word in ("Screening", "site-number", "vendro"))
    assert cover(POOL, DesignInput(name="y", strata=("size", "type")))["unknown_strata"] == []
    assert cover(POOL, None)["unknown_strata"] == []


@pytest.mark.parametrize("name", NAMES)
def test_published_designs_apply_to_every_set(name: str) -> None:
    design = load_design(name)
    outcomes = check_coverage(design, POOL)
    assert len(outcomes) == len(design.all_rules)
    assert all(outcome.required and outcome.rule.source for outcome in outcomes)


def test_composition_by_hand() -> None:
    composition = compose(POOL)
    assert composition.totals == {"cases": 4, "patients": 4, "nodules": 4, "ignored findings": 1}
    shares = {share.column: share.counts for share in composition.shares}
    assert shares["vendor"] == {"GE": 2, "Canon": 1, NOT_STATED: 1}
    assert shares["size"] == {"<4 mm": 1, "[4, 6) mm": 1, "[6, 10) mm": 1, "≥10 mm": 1}
    assert shares["type"]["solid"] == 3
    assert shares["type"]["calcified"] == 0


def test_the_pathology_of_nodules_is_counted() -> None:
    known = reference(case("a", nodule(8), nodule(9, at=(50, 0, 0)), nodule(5, at=(90, 0, 0))))
    nodules = known.nodules.with_columns(
        truth=pl.Series(["pathology", "follow_up", "pathology"]),
        pathology_type=pl.Series(["adenocarcinoma", None, "hamartoma"]),
        pathology_method=pl.Series(["fine-needle aspiration", None, "fine-needle aspiration"]),
    )
    composition = compose(replace(known, nodules=nodules))
    shares = {share.column: share.counts for share in composition.shares}
    assert shares["truth"] == {"pathology": 2, "follow_up": 1}
    assert shares["pathology_type"] == {"adenocarcinoma": 1, "hamartoma": 1, NOT_STATED: 1}
    assert shares["pathology_method"] == {"fine-needle aspiration": 2, NOT_STATED: 1}


def test_a_stratum_is_thin_where_its_interval_would_be_wide() -> None:
    # 3 solid nodules at a sensitivity of 0.8: Wilson 0.2877 to 0.9754 reaches 0.5123 down
    assert reach_to_one_side(0.8, 3) == pytest.approx(0.5123, abs=1e-4)
    thin = thin_strata(POOL, ("type",), reach_to_one_side, expected=0.8, largest=0.52)
    assert [stratum.value for stratum in thin] == [
        "part_solid", "pure_ground_glass", "calcified", "pleural", "pleural_calcified",
    ]  # fmt: skip
    assert thin[0].half_width == 1.0


def test_the_document_has_what_the_commission_inspects() -> None:
    document = cover(POOL, None)
    topics = [in_english(row["topic"]) for row in document["commission"]]
    assert topics == ["Sufficiency", "Heterogeneity", "Quality of labels", "Ethics and law"]
    assert "ethics approval not stated" in in_english(document["commission"][3]["evidence"])


def test_missing_values_are_not_a_hospital_or_country() -> None:
    stated = POOL.cases.with_columns(
        hospital=pl.Series(["h1", "h2", "h1", None]), country=pl.Series(["CN", "", " ", None])
    )
    document = cover(replace(POOL, cases=stated), None)
    assert document["totals"]["hospitals"] == 2
    evidence = messages(document["commission"][1]["evidence"])
    assert evidence == "2 hospitals; 1 country; vendors GE, Canon, not stated"


CASES = pl.DataFrame(
    {
        "case_id": [f"c{n}" for n in range(60)],
        "patient_id": [f"p{n // 2}" for n in range(60)],
        "vendor": ["GE"] * 40 + ["Canon"] * 20,
    }
)


def test_strata_get_their_planned_shares() -> None:
    plan = SamplingPlan(shares={"vendor": {"GE": 0.5, "Canon": 0.5}}, is_one_per_patient=False)
    sample = draw_cases(CASES, plan, 21, seed=1)
    assert [(stratum.planned, stratum.available, stratum.drawn) for stratum in sample.strata] == [
        (11, 40, 11),
        (10, 20, 10),
    ]
    assert len(sample.case_ids) == 21


def test_a_stratum_the_pool_cannot_fill_stays_short() -> None:
    plan = SamplingPlan(shares={"vendor": {"GE": 0.5, "Canon": 0.5}})
    sample = draw_cases(CASES, plan, 40, seed=1)
    assert [stratum.lacking for stratum in sample.strata] == [0, 10]
    assert len(sample.case_ids) == 30


def test_a_patient_is_drawn_once() -> None:
    sample = draw_cases(CASES, SamplingPlan(), 30, seed=4)
    drawn = CASES.filter(CASES["case_id"].is_in(sample.case_ids.to_list()))
    assert drawn["patient_id"].n_unique() == drawn.height == 30


@given(seed=st.integers(0, 1000), order=st.integers(0, 1000), count=st.integers(1, 60))
def test_the_draw_depends_only_on_the_seed(seed: int, order: int, count: int) -> None:
    plan = SamplingPlan(shares={"vendor": {"GE": 0.7, "Canon": 0.3}})
    sample = draw_cases(CASES, plan, count, seed)
    other = draw_cases(CASES.sample(fraction=1, shuffle=True, seed=order), plan, count, seed)
    assert sorted(sample.case_ids) == sorted(other.case_ids)
    assert sum(stratum.planned for stratum in sample.strata) == count


def test_wrong_plans_are_refused_together() -> None:
    plan = SamplingPlan(shares={"vendor": {"GE": 0.5}, "country": {"A": 1.0}})
    with pytest.raises(InputError) as caught:
        draw_cases(CASES, plan, 5, seed=0)
    assert "no column 'country'" in str(caught.value)
    assert "the shares of 'vendor' add up to 0.5" in str(caught.value)
