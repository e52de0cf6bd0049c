"""The page of a test set's composition."""

import json
import re
from pathlib import Path

from builders.tables import case, nodule, reference
from nodulebench.curation.coverage import cover, write_coverage
from nodulebench.curation.design import CoverageRule, DesignInput, RowFilter
from nodulebench.i18n.translator import LANGUAGES, catalogue, translator
from nodulebench.report.coverage import render_coverage


def test_the_clause_that_asks_for_a_rule_can_be_read_on_paper() -> None:
    rule = CoverageRule(name="patients", source="design input 3.1", minimum_rows=2)
    test_set = reference(case("a", nodule(5)))
    page = render_coverage(cover(test_set, DesignInput(name="x", rules=(rule,))))
    assert '<td class="words">design input 3.1</td>' in page
    assert '<td class="words">not\N{NO-BREAK SPACE}met</td>' in page
    assert '<td class="words">1 more cases</td>' in page


RULES = (
    CoverageRule(name="r1", minimum_rows=2000, is_preferred=True),
    CoverageRule(name="r2", column="vendor", values=("GE",), rows_each=2, minimum_distinct=2),
    CoverageRule(
        name="r3",
        column="beds",
        where=(
            RowFilter(column="vendor", values=("GE", "Canon")),
            RowFilter(column="beds", at_least=500),
        ),
        minimum_share=0.5,
        is_complete=True,
    ),
    CoverageRule(name="r4", table="nodules", column="type", shares={"part_solid": 0.2}),
    CoverageRule(name="r5", column="nowhere", is_complete=True),
)
DESIGN = DesignInput(name="x", purpose="P", rules=RULES, strata=("type", "nothing"))
TEST_SET = reference(
    case("a", nodule(5, type="part_solid"), vendor="GE", beds=900, age=50, is_public=True),
    case("b", vendor=None, beds=100, age=60, is_public=False),
)


def shown(page: str) -> set[str]:
    """Texts between tags, scripts and styles left out."""
    body = re.sub(r"<(script|style)\b.*?</\1>", "", page, flags=re.DOTALL)
    return {text.strip() for text in re.findall(r">([^<>]+)<", body)}


def test_the_page_speaks_chinese() -> None:
    chinese = shown(render_coverage(cover(TEST_SET, DESIGN), "zh"))
    assert chinese & {*translator("en").texts("coverage.").values()} == set()
    assert chinese & {*catalogue("en", "notices").values()} == set()
    assert chinese >= {
        "x：5 条规则中满足 1 条；其余规则中 1 条为优先项。",
        "优先项，不满足",
        "还需 1,998 例",
        "至少 2 个不同的 vendor；vendor：GE，各至少 2 例",
        "至少 50% 的病例（vendor 为 GE 或 Canon 且 beds 不小于 500）；"
        "每例病例均注明 beds（vendor 为 GE 或 Canon 且 beds 不小于 500）",
        "部分实性：多 80.0%",
        "年龄（岁）",
        "厂家 GE、未注明",
        "结节的类型",
    }
    # letters are left for what the design, the tables and the program themselves are called
    latin = {word for text in chinese for word in re.findall("[A-Za-z_]{2,}", text)}
    assert latin <= {
        "test", "NoduleBench", "vendor", "beds", "nowhere", "nothing", "GE", "Canon", "mm", "json",
        "coverage", "Wilson", "quot", "lt",
    }  # fmt: skip


def test_the_file_is_in_english_and_can_be_shown_again(tmp_path: Path) -> None:
    document = cover(TEST_SET, DESIGN)
    for name in LANGUAGES:
        write_coverage(document, tmp_path / name, name)
    written = (tmp_path / "en" / "coverage.json").read_text()
    assert (tmp_path / "zh" / "coverage.json").read_text() == written
    page = (tmp_path / "zh" / "coverage.html").read_text()
    assert '<html lang="zh-CN"' in page
    read = json.loads(written)
    assert read["outcomes"][1] == {
        "name": "r2",
        "source": "",
        "required": "at least 2 different vendor; vendor: GE, at least 2 cases each",
        "found": "1; GE 1",
        "answer": "not met",
        "missing": ["1 more vendor", "1 cases of GE"],
    }
    assert read["commission"][1] == {"topic": "Heterogeneity", "evidence": "vendors GE, not stated"}
    assert render_coverage(read) == (tmp_path / "en" / "coverage.html").read_text()
