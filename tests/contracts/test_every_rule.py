"""Every registered mark rule, under every assignment and duplicate policy it offers."""

import inspect
from collections.abc import Iterator

import pytest

from nodulebench.core.protocol import TestProtocol
from nodulebench.matching.rules import RULES
from nodulebench.testing.mark_rules import MARK_RULE_CHECKS, variants
from nodulebench.testing.test_sets import expect_all


def _variants() -> Iterator[object]:
    for name in RULES:
        for chosen in variants(name):
            yield pytest.param(chosen, id=f"{name}-{chosen.assignment}-{chosen.duplicates}")


@pytest.mark.parametrize("chosen", list(_variants()))
def test_it_keeps_to_the_contract(chosen: TestProtocol) -> None:
    expect_all(MARK_RULE_CHECKS, chosen)


def test_a_rule_names_its_source() -> None:
    for name, rule in RULES.items():
        assert "et al." in (inspect.getdoc(rule) or ""), f"{name} does not name its source"
