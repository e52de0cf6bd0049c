"""Both languages have the same keys; a report has no code without a text."""

import ast
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import get_args

import pytest

import nodulebench
from builders.evaluation import algorithm_result, curves_of, evaluation, flips_of
from nodulebench.core.cohort import LABEL_NAMES
from nodulebench.core.documents.evaluation import evaluation_document
from nodulebench.core.documents.records import Verdict, WorstCases
from nodulebench.core.plans import Criterion
from nodulebench.core.protocol import IntervalChoice, TestProtocol
from nodulebench.core.tables import NODULE_TYPES
from nodulebench.curation.composition import DIFFICULTIES, SHARES
from nodulebench.curation.page import STEPS as CURATION_STEPS
from nodulebench.i18n.translator import (
    COUNTS,
    LANGUAGES,
    NAMES,
    PAGES,
    TERMS,
    catalogue,
    translator,
)
from nodulebench.matching.rules import RULES as REGISTERED_RULES
from nodulebench.metrics import METRIC_INFO
from nodulebench.metrics import METRICS as REGISTERED_METRICS
from nodulebench.report.checklist import ITEMS
from nodulebench.report.comparison import FORMATS as COMBINED
from nodulebench.report.comparison import MARGIN_ANSWERS, SIDES
from nodulebench.report.curves import OTHER_CURVES
from nodulebench.report.errors import KINDS as GALLERY_KINDS
from nodulebench.report.html import render_html
from nodulebench.report.methods import ONE_TO_ONE
from nodulebench.report.verdict import ANSWERS, SIGNING, WHY_NOT
from nodulebench.web.viewer.export import WRITABLE

PACKAGE = Path(nodulebench.__file__).parent
PAGE_OF_CURATION = PACKAGE / "curation" / "page.py"
SPEAKING = (PACKAGE / "report", PACKAGE / "i18n", PACKAGE / "web" / "viewer", PAGE_OF_CURATION)
"""Where keys are used."""
CONTEXTS = (
    *("metric", "meaning of a metric", "mark rule", "use of a mark rule"),
    *("count", "meaning of a count", "stratum"),
)


def texts(name: str) -> dict[str, str]:
    return {key: text for domain in PAGES for key, text in catalogue(name, domain).items()}


def names(language: str, context: str) -> dict[str, str]:
    """The names of one kind, by message id."""
    entries = catalogue(language, NAMES).items()
    together = ((*key.partition("\x04"), text) for key, text in entries)
    return {name: text for kind, _, name, text in together if kind == context}


def fields(text: str) -> set[str]:
    return set(re.findall(r"\{(\w+)(?::[^{}]*)?\}", text))


def keys_in_source() -> tuple[set[str], set[str]]:
    """Texts that look like keys, and families: keys that are put together, with what is put in."""
    whole, families = set(), set()
    for path in (path for source in SPEAKING for path in (source, *source.rglob("*.py"))):
        if path.is_dir() or path.parent.parent.name == "i18n":
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                whole.add(node.value)
            if isinstance(node, ast.JoinedStr):
                key = "".join(
                    part.value
                    if isinstance(part, ast.Constant)
                    else f"{{{ast.unparse(part.value)}}}"
                    for part in node.values
                )
                families |= {key} if re.match(r"(?!nodulebench)[a-z_]+\.", key) else set()
    for path in (PACKAGE / "report" / "pages" / "templates").rglob("*.html"):
        whole |= set(re.findall(r'\bt(?:ranslate)?\("([^"]+)"', path.read_text(encoding="utf-8")))
    for path in (PACKAGE / "web" / "viewer" / "static").rglob("*.js"):
        keys_used = re.findall(r'"([a-z_.]+)"', path.read_text(encoding="utf-8"))
        whole |= {f"workbench.{key}" for key in keys_used}
    return whole, families


def test_every_key_of_the_viewer_has_a_text() -> None:
    keys_used: set[str] = set()
    for path in (PACKAGE / "web" / "viewer" / "static").rglob("*.js"):
        source = path.read_text(encoding="utf-8")
        keys_used |= set(re.findall(r'translate\("([a-z_.]+)"|"((?:key|plane)\.[a-z_]+)"', source))
    keys = {f"workbench.{key}" for pair in keys_used for key in pair if key}
    assert len(keys) > 20
    assert sorted(keys - set(texts("en"))) == []


VERDICTS = get_args(Verdict)
SOURCES = ("sampling", "rule", "order", "reference", "size", "replicates", "algorithm", "computing")
SECTIONS = (
    "compared",
    "curves",
    "strata",
    "errors",
    "rules",
    "test_set",
    "extras",
    "literature",
    "metrics",
    "methods",
    "uncertainty",
    "checklist",
)
FAMILIES: dict[str, Iterable[object]] = {
    "fact.{name}": ("test_set", "cases", "patients", "nodules", "rule", "rules", "protocol"),
    "curated.fact_{key}": ("series", "admitted", "excluded", "slices", "unreadable", "others"),
    "curated.left_{group}": CURATION_STEPS,
    "curated.head_{key}": ("reason", "code", "decided", "applied"),
    "coverage.total_{key}": (
        "cases", "patients", "hospitals", "provinces", "nodules", "ignored findings",
    ),
    "coverage.section_{key}": (
        *("design", "rules", "ranges", "shares", "thin", "against", "commission"),
    ),
    "coverage.hard_{row['name']}": DIFFICULTIES,
    "coverage.{key}": ("purpose", "patients", "identification"),
    "coverage.head_{key}": (
        "rule", "source", "required", "found", "answer", "missing", "low", "mean", "high",
        "stated", "column", "stratum", "nodules", "half_width", "topic", "evidence", "assessed",
        "by",
    ),
    "coverage.of_{shares['table']}": SHARES,
    "lead.{plan.verdict}": VERDICTS,
    "issued.{name}": ("laboratory", "number", "date", "operator"),
    "signature.{step}": SIGNING,
    "signature.{key}": ("name", "day", "sign"),
    "lead.{outcome}": VERDICTS,
    "lead.{kind}": ("more", "fewer", "higher", "lower", "alike"),
    "section.{name}": SECTIONS,
    "verdict.{plan.verdict}": VERDICTS,
    "feedback.{feedback['verdict']}": VERDICTS,
    "verdict.{outcome}.adjective": VERDICTS,
    "verdict.{key}": ("counted", "families"),
    "verdict.{answer}": (*ANSWERS.values(), *WHY_NOT.values()),
    "verdict.bound_{criterion.bound}": get_args(Criterion.model_fields["bound"].annotation),
    "readings.by_{by}": ("rate", "fraction", "point"),
    "answer.{topic}": (
        "design", "goal", "missing_data", "blinding_index", "hit_criterion", "metrics", "counts",
        "estimates", "protocol", "software", "subgroups", "fairness",
    ),
    "answer.{key}": ("threshold_declared", "threshold_none"),
    "check.{topic}": (topic for topic, _, _ in ITEMS),
    "sketch.{name}": (*ONE_TO_ONE, "luna16"),
    "flow.best_{rule}": ONE_TO_ONE,
    "interval.{choice.method}": get_args(IntervalChoice.model_fields["method"].annotation),
    "interpolation.{protocol.interpolation}": get_args(
        TestProtocol.model_fields["interpolation"].annotation
    ),
    "ties.{protocol.ties}": get_args(TestProtocol.model_fields["ties"].annotation),
    "protocol.{name}": (
        "name", "source", "test_set", "reference_rule", "intended_use", "size_limit", "assignment",
        "duplicates", "scored_marks", "score_threshold", "operating_point",
        "operating_points", "reading", "size_bins", "smallest_stratum", "intervals", "seed",
    ),
    "source.{name}": SOURCES,
    "source.{name}_in": SOURCES,
    "trace.{key}": ("reference", "cohort"),
    "combined.{name}": COMBINED,
    "compared.p_{key}": ("permutation", "delong"),
    "compared.{shown}": (*(name for _, name in MARGIN_ANSWERS), "not_shown"),
    "mcnemar.{side}": SIDES,
    "workbench.file.{kind}": WRITABLE,
    "worst.{kind}": WorstCases.__annotations__,
    "gallery.{kind}": GALLERY_KINDS,
    "axis.{column}": ("sensitivity", "fp_per_case"),
    "curve.{curve}.{axis}": (f"{curve}.{axis}" for curve in OTHER_CURVES for axis in "xy"),
    "curve.{curve}": OTHER_CURVES,
}  # fmt: skip
"""Keys that are put together -> everything that is put in."""
PUT_IN = {family: tuple(put_in) for family, put_in in FAMILIES.items()}


def keys_of_families() -> set[str]:
    return {
        re.sub(r"\{.*\}", str(value), family)
        for family, put_in in PUT_IN.items()
        for value in put_in
    }


def test_languages_have_the_same_keys() -> None:
    english, *others = (set(texts(name)) for name in LANGUAGES)
    assert [english ^ other for other in others] == [set()]


def test_texts_of_a_key_take_the_same_values() -> None:
    english, chinese = texts("en"), texts("zh")
    assert [key for key in english if fields(english[key]) != fields(chinese[key])] == []


@pytest.mark.parametrize("context", CONTEXTS)
def test_languages_name_the_same_metrics_rules_and_counts(context: str) -> None:
    english, *others = (list(names(language, context)) for language in LANGUAGES)
    assert english
    assert [sorted(other) for other in others] == [sorted(english)]


def test_rules_for_uses_are_the_same() -> None:
    english, *others = ([rule for rule, _ in translator(name).uses] for name in LANGUAGES)
    assert others == [english]


def test_every_family_of_keys_is_enumerated() -> None:
    _, families = keys_in_source()
    assert sorted(families) == sorted(FAMILIES)


def test_every_key_that_is_put_together_has_a_text() -> None:
    assert sorted(keys_of_families() - set(texts("en"))) == []


def test_every_text_is_used_somewhere() -> None:
    whole, _ = keys_in_source()
    used = whole | keys_of_families()
    hints = {f"{key}_hint" for key in used}
    assert sorted(set(texts("en")) - used - hints) == []


@pytest.mark.parametrize("name", LANGUAGES)
def test_every_metric_rule_label_and_type_has_a_text(name: str) -> None:
    translate = translator(name)
    metrics = [metric for metric in REGISTERED_METRICS if metric != "f_beta"]
    assert [metric for metric in metrics if not translate.metric(metric).meaning] == []
    assert [rule for rule in REGISTERED_RULES if not translate.rule(rule)] == []
    assert set(COUNTS) >= set(LABEL_NAMES)
    assert sorted(COUNTS) == sorted(names(name, "count"))


def test_every_english_name_has_a_chinese_one() -> None:
    english, chinese = names("en", "name"), names("zh", "name")
    assert set(chinese) >= {*english, *NODULE_TYPES, *LABEL_NAMES, *REGISTERED_RULES}
    assert [name for name, text in english.items() if text == name.replace("_", " ")] == []


def test_chinese_terms_come_before_the_english_ones() -> None:
    assert translator("zh").metric("recall").term == "病灶定位率 (lesion localisation rate)"
    assert translator("zh").metric("density_kappa").term == "kappa"
    assert translator("en").metric("recall").term == "lesion localisation rate"
    assert set(names("zh", "term of IEEE 2802")) <= set(TERMS.values())


def test_terms_are_those_of_the_metrics_own_facts() -> None:
    stated = {
        "f1" if name == "f_beta" else name: facts.ieee_2802
        for name, facts in METRIC_INFO.items()
        if facts.ieee_2802
    }
    assert stated == TERMS


def test_list_in_a_sentence() -> None:
    assert translator("en").joined(["a", "b", "c"]) == "a, b and c"
    assert translator("en").joined(["a"]) == "a"
    assert translator("zh").joined(["甲", "乙", "丙"]) == "甲、乙和丙"


def chinese_page() -> str:
    made_up = evaluation(algorithm_result("Alpha", (90, 66)), algorithm_result("Beta", (84, 70)))
    return render_html(
        evaluation_document(made_up), curves_of(made_up), flips_of(made_up), language="zh"
    )


def shown_texts(html: str) -> Iterator[str]:
    """Every text between tags, scripts and styles left out."""
    body = re.sub(r"<(script|style)\b.*?</\1>", "", html, flags=re.DOTALL)
    for text in re.findall(r">([^<]+)<", body):
        yield text.strip()


def test_a_chinese_report_has_no_english_heading_or_sentence() -> None:
    shown = set(shown_texts(chinese_page()))
    same = {text for key, text in texts("zh").items() if text == texts("en")[key]}
    english = {text for text in texts("en").values() if not fields(text) and len(text) > 3} - same
    assert shown & english == set()
    assert "主要指标" in shown
    assert "测量不确定度与溯源性" in shown


def test_chinese_page_states_its_language_and_fonts() -> None:
    html = chinese_page()
    assert '<html lang="zh-CN">' in html
    assert '"Noto Sans CJK SC"' in html
    assert "@font-face" not in html


def test_chinese_is_punctuated_as_chinese() -> None:
    unpunctuated = [
        key
        for key, text in texts("zh").items()
        if re.search(r"[\u4e00-\u9fff][,;:]|[,;:][\u4e00-\u9fff]", text)
    ]
    assert unpunctuated == []


def test_numbers_are_the_same_in_every_language() -> None:
    made_up = evaluation(algorithm_result("Alpha", (90, 66)))
    pages = [
        render_html(evaluation_document(made_up), curves_of(made_up), language=name)
        for name in LANGUAGES
    ]
    cells = [re.findall(r'<td class="number"[^>]*>([\d.,]+)', page) for page in pages]
    assert len(cells[0]) > 100
    assert cells[0] == cells[1]
