"""Every registered mark rule, under every assignment and duplicate policy it offers."""

import inspect
from collections.abc import Callable, Iterator

import pytest

from nodulebench.match.rules import RULES
from nodulebench.model.protocol import TestProtocol
from nodulebench.testing.mark_rules import MARK_RULE_CHECKS, variants


def _variants() -> Iterator[object]:
    for name in RULES:
        for chosen in variants(name):
            yield pytest.param(chosen, id=f"{name}-{chosen.assignment}-{chosen.duplicates}")


@pytest.mark.parametrize("chosen", list(_variants()))
@pytest.mark.parametrize("check", MARK_RULE_CHECKS, ids=lambda check: check.__name__)
def test_it_keeps_to_the_contract(
    chosen: TestProtocol, check: Callable[[TestProtocol], None]
) -> None:
    check(chosen)


def test_a_rule_names_its_source() -> None:
    for name, rule in RULES.items():
        assert "et al." in (inspect.getdoc(rule) or ""), f"{name} does not name its source"
