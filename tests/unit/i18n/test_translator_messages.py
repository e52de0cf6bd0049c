"""Every code in the source has a text in every language, and every text has its code."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import nodulebench
from builders.failures import failures
from nodulebench.core.notices import AS_STATED, Notice, read_notice
from nodulebench.i18n.translator import (
    LANGUAGES,
    NAMES,
    NOTICES,
    PAGES,
    PORTAL,
    catalogue,
    fields,
    in_english,
    translator,
)
from nodulebench.report.disclosure import FOR_DEVELOPERS, for_developers

PACKAGE = Path(nodulebench.__file__).parent
CALLED = {
    "Notice": 0,
    "UndefinedError": 0,
    "Ratio": 3,
    "ratio": 0,
    "NotCleanableError": 0,
    "leftover": 0,
}
"""What takes a code, and at which place."""
COPYING = ("core/notices.py", "metrics/metric.py", "curation/deidentify/codec.py")
"""Where codes are handed on, not made."""
UNMEANT = {
    "file", "files", "folder", "names", "mark", "case", "nodule", "reader", "series", "text",
    "problem", "score", "others", "planned", "tested",
}  # fmt: skip
"""Values that name cases, nodules, marks, readers or files, or that were not examined."""


def worded(name: str) -> dict[str, str]:
    parts = [catalogue(name, domain) for domain in NOTICES]
    together = {code: text for part in parts for code, text in part.items()}
    assert len(together) == sum(map(len, parts)), "a code occurs twice"
    return together


WORDS = {name: worded(name) for name in LANGUAGES}


def needed(template: str) -> set[str]:
    """The values that a template cannot do without."""
    return fields(re.sub(r"\[[^\]]*\]", "", template))


def codes_in_source() -> Iterator[tuple[str, str, ast.Call]]:
    """Every code in the source with its file and its call."""
    for path in sorted(PACKAGE.rglob("*.py")):
        place = path.relative_to(PACKAGE).as_posix()
        tree = ast.parse(path.read_text(encoding="utf-8"))
        constants = {
            target.id: node.value
            for node in tree.body
            if isinstance(node, ast.Assign)
            for target in node.targets
            if isinstance(target, ast.Name)
        }
        for node in ast.walk(tree):
            if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name)):
                continue
            number = CALLED.get(node.func.id)
            if number is None or len(node.args) <= number or place in COPYING:
                continue
            given = node.args[number]
            given = constants.get(given.id, given) if isinstance(given, ast.Name) else given
            for code in (given.body, given.orelse) if isinstance(given, ast.IfExp) else (given,):
                assert isinstance(code, ast.Constant), (
                    f"{place}:{node.lineno}: no code is seen here"
                )
                yield code.value, f"{place}:{node.lineno}", node


@cache
def codes() -> list[tuple[str, str, ast.Call]]:
    """The same, read once."""
    return list(codes_in_source())


@pytest.mark.slow
def test_every_code_in_the_source_has_a_text_in_every_language() -> None:
    assert len(codes()) > 150
    for words in WORDS.values():
        assert [f"{code} at {place}" for code, place, _ in codes() if code not in words] == []


@pytest.mark.slow
def test_every_code_with_a_text_is_in_the_source() -> None:
    used = {code for code, _, _ in codes()} | {AS_STATED}
    for words in WORDS.values():
        assert sorted(set(words) - used) == []


def test_languages_name_the_same_values() -> None:
    first, *others = WORDS.values()
    for other in others:
        assert [code for code in first if fields(first[code]) != fields(other[code])] == []
        assert [code for code in first if needed(first[code]) != needed(other[code])] == []


@pytest.mark.slow
def test_the_values_of_a_notice_are_the_placeholders_of_its_text() -> None:
    assert failures(check_values, codes()) == []


def check_values(code: str, place: str, call: ast.Call) -> None:
    """A notice is given every value that its text needs, and none that it does not know."""
    template = WORDS["en"][code]
    if len(call.args) < 2 and call.func.id in ("Notice", "ratio"):  # type: ignore[attr-defined]
        given = set()
    elif call.func.id in ("UndefinedError", "NotCleanableError", "leftover"):  # type: ignore[attr-defined]
        given = {str(keyword.arg) for keyword in call.keywords}
        given |= {"where"} if call.func.id == "leftover" else set()  # type: ignore[attr-defined]
    elif isinstance(call.args[1], ast.Dict) and None not in call.args[1].keys:
        given = {key.value for key in call.args[1].keys if isinstance(key, ast.Constant)}  # type: ignore[misc]
    else:
        return
    if place.startswith("statistics/groups") and "reason" in fields(template):
        given.add("reason")  # added where the test fails
    if not needed(template) <= given <= fields(template):
        raise AssertionError(f"{sorted(given)} are given, the text has {sorted(fields(template))}")


def test_chinese_is_chinese_and_is_punctuated_so() -> None:
    words = {code: text for code, text in WORDS["zh"].items() if code != AS_STATED}
    spoken = {
        code: re.sub(r"\{[^}]*\}", "", re.sub(r"=([^|}]*)", r"}\1{", text))
        for code, text in words.items()
    }
    assert [code for code, text in spoken.items() if not re.search("[\u4e00-\u9fff：]", text)] == []
    wrong = r"[\u4e00-\u9fff][,;:]|[,;:][\u4e00-\u9fff]"
    assert [code for code, text in words.items() if re.search(wrong, text)] == []


# how values are written


def test_long_lists_of_names_are_quoted_and_shortened() -> None:
    dropped = Notice("marks_dropped", {"marks": 9, "cases": 5, "names": ["a", "b", "c", "d"]})
    assert in_english(dropped).endswith("were dropped: 'a', 'b', 'c', ....")
    assert translator("zh").message(dropped).endswith("已舍去\uff1a“a”、“b”、“c”等。")


def test_lists_hold_counts_shares_and_notices() -> None:
    counts = Notice("each_found", {"found": {"part_solid": 1200, "not stated": 3}})
    assert in_english(counts) == "part-solid 1,200, not stated 3"
    assert translator("zh").message(counts) == "其中 部分实性 1,200、未注明 3"
    assert in_english(Notice("each_found", {"found": {"GE": 0.25}})) == "GE 25.0%"
    where = [
        Notice("where_values", {"column": "vendor", "values": ["GE", "Canon"]}),
        Notice("where_range", {"column": "age", "at_least": 0, "below": None, "at_most": 75}),
    ]
    asked = Notice("asks_rows", {"count": 2, "table": "cases", "where": where})
    assert in_english(asked) == "at least 2 cases with vendor GE or Canon and age from 0 to 75"


def test_the_form_of_a_text_follows_its_count_or_the_number_it_names_first() -> None:
    english, chinese = translator("en"), translator("zh")
    forms = [english("page.algorithms", count=count) for count in (0, 1, 2)]
    assert forms == ["0 algorithms", "1 algorithm", "2 algorithms"]
    assert [chinese("page.algorithms", count=count) for count in (1, 2)] == ["1 个算法", "2 个算法"]
    dropped = [Notice("marks_dropped", {"marks": marks, "cases": 1}) for marks in (1, 2)]
    assert [in_english(notice) for notice in dropped] == [
        "1 mark of 1 case that is not in the list was dropped.",
        "2 marks of 1 case not in the list were dropped.",
    ]
    undisclosed = Notice("few_patients", {"unit": "patient"})
    assert in_english(undisclosed).startswith("few patients (–):")


def test_no_form_of_a_text_has_another_value_or_a_plural_in_brackets() -> None:
    for domain in (*NOTICES, *PAGES, NAMES, PORTAL):
        texts = catalogue("en", domain)
        for key in texts:
            one = texts.form(key, dict.fromkeys(("count", *fields(texts[key])), 1))
            assert fields(one) <= fields(texts[key])
            assert "(s)" not in one


def test_several_notices_are_one_statement() -> None:
    notices = (Notice("rows_found", {"count": 2}), "a sentence of others")
    assert translator("en").messages(notices) == "2; a sentence of others"
    assert translator("zh").messages(notices) == "共 2；a sentence of others"
    assert translator("en").messages("a sentence") == "a sentence"
    assert translator("en").messages(Notice("rows_found", {"count": 2})) == "2"


def test_missing_values_leave_no_trace() -> None:
    values = {"boxes": 8, "marks": 3}
    assert in_english(Notice("boxes_linked_by_place", {"file": "a.csv", **values})).startswith(
        "a.csv"
    )
    assert in_english(Notice("boxes_linked_by_place", values)).startswith(
        "The file has no nodule_id"
    )
    assert in_english(Notice("marks_dropped", {"marks": 1, "cases": 1})).endswith("was dropped.")


def test_a_nested_reason_has_the_same_language() -> None:
    inner = Notice("no_boxes_in_submission", {"rule": "center_hit"})
    outer = Notice("rule_not_applicable", {"rule": "center_hit", "reason": inner})
    assert in_english(outer) == (
        "the rule center_hit could not be applied: center_hit needs boxes per slice; the "
        "submission is a list of points"
    )
    assert "中心命中需要逐层边界框" in translator("zh").message(outer)
    assert read_notice(outer.to_json()) == outer


def test_a_code_without_a_text_is_shown_unchanged() -> None:
    assert in_english(Notice("of_another_program", {"count": 2})) == "of_another_program (count 2)"
    assert in_english("a sentence of others {x}") == "a sentence of others {x}"


@pytest.mark.parametrize("value", [7, "a sentence"])
def test_a_value_that_cannot_be_a_notice_is_refused(value: object) -> None:
    with pytest.raises(ValueError, match="not a code with values"):
        read_notice(value)


# methods


@pytest.mark.parametrize(
    ("method", "words"),
    [
        (
            Notice("guarded_bootstrap", {"unit": "patient", "replicates": 2000, "icc": 0.5}),
            "guarded Bayesian bootstrap over patients, 2000 replicates (one pseudo-patient with "
            "all nodules missed or found, prior ICC 0.5)",
        ),
        (
            Notice("percentile_bootstrap", {"unit": "patient", "replicates": 2000}),
            "percentile bootstrap over patients, 2000 replicates",
        ),
        (
            Notice("bca_bootstrap", {"unit": "case", "replicates": 1000}),
            "BCa bootstrap over cases, 1000 replicates",
        ),
        (
            Notice("luna16_bootstrap", {"replicates": 1000}),
            "LUNA16 bootstrap over scans, 1000 replicates, sorted-index bounds",
        ),
        (Notice("jackknife", {"unit": "patient"}), "jackknife over patients, normal"),
        (Notice("clopper_pearson", {"unit": "case"}), "Clopper-Pearson over cases"),
        (Notice("paired_bootstrap"), "paired bootstrap, percentile"),
        (Notice("ratio_estimator"), "ratio estimator over patients, normal"),
        (Notice("kendall_tau"), "Kendall's tau-b over replicates, percentile"),
        (
            Notice("interval_against_margin", {"level": 0.95, "better": "higher"}),
            "95% two-sided percentile interval against the margin, higher is better",
        ),
        (
            Notice("permutation_test", {"swaps": 2000}),
            "permutation test, 2000 random swaps of algorithm labels by unit",
        ),
        (
            Notice("permutation_test", {"swaps": None}),
            "permutation test, all swaps of algorithm labels by unit",
        ),
        (Notice("mcnemar_exact"), "McNemar test (exact)"),
        (Notice("mcnemar_durkalski"), "McNemar test for clusters (Durkalski 2003)"),
        (Notice("mcnemar_obuchowski"), "McNemar test for clusters (Obuchowski 1998)"),
        (
            Notice("mcnemar_eliasziw_donner"),
            "McNemar test for clusters (Eliasziw and Donner 1991)",
        ),
        (Notice("one_way_anova"), "one-way analysis of variance (independent groups)"),
        (
            Notice("repeated_anova_corrected"),
            "repeated-measures analysis of variance (Greenhouse-Geisser corrected)",
        ),
        (Notice("repeated_anova"), "repeated-measures analysis of variance"),
        (Notice("friedman"), "Friedman test"),
        (Notice("unpaired_t"), "unpaired t-test (pooled variance)"),
        (Notice("paired_t"), "paired t-test"),
        (Notice("wilcoxon_exact"), "Wilcoxon signed-rank test (exact)"),
        (Notice("wilcoxon_normal"), "Wilcoxon signed-rank test (normal approximation)"),
    ],
)
def test_methods_are_named_by_their_usual_words(method: Notice, words: str) -> None:
    assert in_english(method) == words


@pytest.mark.parametrize(
    ("method", "words"),
    [
        (Notice("cohen_kappa", {"weights": None}), "Cohen's kappa, normal"),
        (Notice("cohen_kappa", {"weights": "linear"}), "Cohen's kappa, linear weights, normal"),
        (
            Notice(
                "obuchowski_rockette",
                {"covariance": "DeLong", "kind": "one_treatment_fixed_cases"},
            ),
            "Obuchowski-Rockette, DeLong covariance, one treatment, fixed cases",
        ),
        (
            Notice("normal_interval_of_area", {"variance": "obuchowski"}),
            "normal interval, Obuchowski 1994 variance",
        ),
        (
            Notice("exact_acceptance", {"family": "poisson"}),
            "exact Poisson acceptance test",
        ),
    ],
)
def test_values_of_methods_are_words(method: Notice, words: str) -> None:
    assert in_english(method) == words


def test_every_method_is_for_developers_with_all_its_values() -> None:
    methods = catalogue("en", "methods")
    assert {code: set(FOR_DEVELOPERS.get(code, ("?",))) for code in methods} == {
        code: fields(text) for code, text in methods.items()
    }


# what developers may see


def test_the_allow_list_has_codes_with_a_text_and_their_values() -> None:
    words = WORDS["en"]
    assert sorted(set(FOR_DEVELOPERS) - set(words)) == []
    assert {
        code: set(shown) - fields(words[code])
        for code, shown in FOR_DEVELOPERS.items()
        if set(shown) - fields(words[code])
    } == {}


def test_texts_work_without_values_hidden_from_developers() -> None:
    for words in WORDS.values():
        lost = {code: needed(words[code]) - set(shown) for code, shown in FOR_DEVELOPERS.items()}
        assert {code: names for code, names in lost.items() if names} == {}


def test_no_name_or_file_is_on_the_allow_list() -> None:
    assert {code: shown for code, shown in FOR_DEVELOPERS.items() if UNMEANT & set(shown)} == {}
    assert AS_STATED not in FOR_DEVELOPERS


def test_a_withheld_reason_within_a_reason_is_withheld() -> None:
    secret = Notice(AS_STATED, {"text": "case O'Brien's"})
    shown = for_developers(Notice("rule_not_applicable", {"rule": "r", "reason": secret}))
    assert shown == Notice("rule_not_applicable", {"rule": "r", "reason": Notice("withheld")})


def test_texts_need_no_import_of_tables_or_models() -> None:
    """Commands import them at their head, and their help must come at once."""
    heavy = "{'polars', 'numpy', 'pydantic'}"
    asked = f"import sys, nodulebench.i18n.translator; print({heavy} & {{*sys.modules}})"
    done = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
