"""The page of a test set's composition."""

from builders.tables import case, nodule, reference
from nodulebench.curate.composition.design import CoverageRule, DesignInput
from nodulebench.report.sections.results.composition import render_coverage
from nodulebench.workflows.curate.coverage import cover


def test_the_clause_that_asks_for_a_rule_can_be_read_on_paper() -> None:
    rule = CoverageRule(name="patients", source="design input 3.1", minimum_rows=2)
    test_set = reference(case("a", nodule(5)))
    page = render_coverage(cover(test_set, DesignInput(name="x", rules=(rule,))))
    assert '<td class="words">design input 3.1</td>' in page
    assert '<td class="words">not\N{NO-BREAK SPACE}met</td>' in page
    assert '<td class="words">1 more cases</td>' in page
