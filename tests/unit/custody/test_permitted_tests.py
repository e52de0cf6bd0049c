"""Protocols of a policy that count or divide nodules differently are reported when it is sealed."""

from types import SimpleNamespace
from typing import Any

import pytest

from nodulebench.core.errors import InputError
from nodulebench.core.protocol import TestProtocol, load_protocol
from nodulebench.custody import permitted_tests as asking
from nodulebench.custody.permitted_tests import (
    FewError,
    OutdatedPlanError,
    differing_protocols,
    require_enough,
    require_permitted,
    require_same_cases,
)
from nodulebench.custody.policy import Reuse


def differing(*protocols: str) -> list[tuple[str, str, tuple[str, ...]]]:
    return differing_protocols(Reuse(protocols=protocols))


def test_one_protocol_differs_from_none() -> None:
    assert differing() == []
    assert differing("luna16") == []
    assert differing("luna16", load_protocol("luna16").digest) == []  # the same by its digest


def test_protocols_that_count_alike_are_permitted_together() -> None:
    assert differing("luna16", "nifdc-2022") == []


def test_the_field_in_which_two_differ_is_named() -> None:
    assert differing("luna16", "fotin-2008", "nifdc-2022") == [
        ("luna16", "fotin-2008", ("size_limit",)),
        ("fotin-2008", "nifdc-2022", ("size_limit",)),
    ]
    assert differing("luna16", "fg-ai4h") == [("luna16", "fg-ai4h", ("scope", "strata"))]


def test_a_protocol_known_only_by_its_digest_cannot_be_compared() -> None:
    digest = f"sha256:{'0' * 64}"
    assert differing("luna16", digest) == [("luna16", digest, ("digest",))]


def test_cuts_of_size_count_where_both_divide_by_size(monkeypatch: pytest.MonkeyPatch) -> None:
    def made(name: str) -> TestProtocol:
        cuts, strata = ((5.0,), ("size",)) if name == "luna16" else ((6.0,), other_strata)
        change = {"name": name, "size_bins_mm": cuts, "strata": strata}
        return load_protocol("luna16").model_copy(update=change)

    monkeypatch.setattr(asking, "load_protocol", made)
    other_strata: tuple[str, ...] = ("size", "type")
    assert differing("luna16", "nifdc-2022") == [("luna16", "nifdc-2022", ("size_bins_mm",))]
    other_strata = ("type",)
    assert differing("luna16", "nifdc-2022") == [
        ("luna16", "nifdc-2022", ("strata", "size_bins_mm"))
    ]


def document_of(
    counted: int, *parts: int, rule: str = "luna16", algorithm: str = "a", stratum: str = ""
) -> Any:
    """A result that counts so many nodules, with strata of these sizes."""
    strata = {"size": {f"s{n}": SimpleNamespace(nodules=part) for n, part in enumerate(parts)}}
    criteria = [
        SimpleNamespace(algorithm=algorithm, rule=rule, stratum=stratum or f"size=s{n}")
        for n in range(len(parts))
    ]
    result = SimpleNamespace(counts={"nodules": counted}, strata=strata)
    return SimpleNamespace(
        plan=SimpleNamespace(criteria=criteria) if parts else None,
        results=[(SimpleNamespace(name="a"), "luna16", result)],
    )


def is_disclosed(document: Any, nodules: int, undeclared: int, **policy: Any) -> bool:
    try:
        require_enough(document, nodules, undeclared, Reuse(**{"minimum_stratum": 10} | policy))
    except FewError:
        return False
    return True


@pytest.mark.parametrize(
    ("counted", "nodules", "expected"),
    [(10, 100, True), (9, 100, False), (0, 100, False), (5, 5, True), (4, 5, False), (0, 0, True)],
)
def test_nothing_is_disclosed_of_fewer_than_the_policy_allows(
    counted: int, nodules: int, expected: bool
) -> None:
    assert is_disclosed(document_of(counted), nodules, counted) is expected


@pytest.mark.parametrize(
    ("left_out", "expected"),
    [(0, True), (1, False), (2, False), (9, False), (10, True), (11, True), (30, True)],
)
def test_what_a_declaration_leaves_out_is_none_or_enough(left_out: int, expected: bool) -> None:
    assert is_disclosed(document_of(50), 200, 50 + left_out) is expected


@pytest.mark.parametrize(
    ("left_out", "expected"),
    [(0, True), (1, False), (2, False), (9, False), (10, True), (11, True), (30, True)],
)
def test_what_a_protocol_leaves_out_is_none_or_enough_where_others_may_be_asked(
    left_out: int, expected: bool
) -> None:
    document, nodules = document_of(50), 50 + left_out
    assert is_disclosed(document, nodules, 50, feedback="metrics") is expected
    two = ("luna16", "nifdc-2022")
    assert is_disclosed(document, nodules, 50, feedback="metrics", protocols=two) is expected
    for single_test in ({"protocols": ("luna16",)}, {"plans": (f"sha256:{'0' * 64}",)}):
        assert is_disclosed(document, nodules, 50, feedback="metrics", **single_test)
    assert is_disclosed(document, nodules, 50, feedback="verdict")


@pytest.mark.parametrize(("part", "expected"), [(9, False), (10, True), (11, True)])
def test_no_stratum_that_a_plan_uses_is_smaller(part: int, expected: bool) -> None:
    assert is_disclosed(document_of(50, 20, part), 50, 50) is expected
    assert is_disclosed(document_of(50, part, rule="other"), 50, 50)
    assert is_disclosed(document_of(50, part, algorithm="other"), 50, 50)
    assert is_disclosed(document_of(50, part, stratum="density=solid"), 50, 50)


PROTOCOL = load_protocol("luna16")
OWN = PROTOCOL.model_copy(update={"name": "own"})
DIGEST, OTHER = (f"sha256:{letter * 64}" for letter in "01")


def plan(digest: str = DIGEST, frozen_with: TestProtocol = PROTOCOL) -> Any:
    digests = SimpleNamespace(protocol=frozen_with.digest)
    return SimpleNamespace(name="p", cases=5, digest=digest, digests=digests, protocol=PROTOCOL)


def asked(protocol: TestProtocol, with_plan: Any = None, **policy: Any) -> str:
    """Why it may not be asked; nothing: it may."""
    try:
        require_permitted(protocol, with_plan, Reuse(**{"feedback": "metrics"} | policy))
    except InputError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("withdrawn", [0, 2])
@pytest.mark.parametrize("plans", [(), ("sha256:" + "0" * 64,)])
def test_a_plan_for_another_number_of_cases_is_refused_with_the_next_step(
    withdrawn: int, plans: tuple[str, ...]
) -> None:
    reuse, frozen = Reuse(plans=plans), plan()
    require_same_cases(frozen, frozen.cases, withdrawn, reuse)
    with pytest.raises(OutdatedPlanError) as refused:
        require_same_cases(frozen, frozen.cases - 2, withdrawn, reuse)
    message = str(refused.value)
    assert f"was frozen for {frozen.cases} cases; this test set has {frozen.cases - 2}" in message
    assert ("(2 withdrawn)" in message) == bool(withdrawn)
    assert "'nodulebench unseal'" in message
    assert "'nodulebench test-plan freeze'" in message
    assert (
        ("'nodulebench seal'" in message)
        == ("'nodulebench custody retire'" in message)
        == bool(plans)
    )


def test_a_verdict_needs_a_plan() -> None:
    message = asked(PROTOCOL, feedback="verdict")
    assert message.startswith(
        "policy: permits only a verdict under a frozen plan; no plan was given"
    )
    assert asked(PROTOCOL, plan(), feedback="verdict") == ""
    assert asked(PROTOCOL) == ""


def test_a_plan_brings_the_protocol_that_it_was_frozen_with() -> None:
    assert "another protocol" in asked(PROTOCOL, plan(frozen_with=OWN))


def test_a_policy_that_names_plans_takes_no_other() -> None:
    assert asked(PROTOCOL, plan(), plans=(DIGEST,)) == ""
    assert asked(OWN, plan(), plans=(DIGEST,), protocols=("nifdc-2022",)) == ""
    assert "plan 'p': is not among the plans" in asked(PROTOCOL, plan(OTHER), plans=(DIGEST,))
    assert asked(PROTOCOL, plans=(DIGEST,)) == (
        "policy: names plans, and no plan was given. Give --plan."
    )
    assert asked(PROTOCOL, plans=(DIGEST,), protocols=("luna16",)) == ""


def test_a_policy_that_names_protocols_takes_no_other() -> None:
    assert asked(PROTOCOL, protocols=("luna16",)) == ""
    assert asked(PROTOCOL, plan(), protocols=("luna16",)) == ""
    assert asked(OWN, protocols=(OWN.digest,)) == ""
    for with_plan in (None, plan()):
        message = asked(OWN, with_plan, protocols=("luna16",))
        assert message.startswith("protocol 'own': is not among the protocols in the policy")


def test_own_protocols_are_named_where_metrics_are_reported() -> None:
    assert "is neither published" in asked(OWN)
    assert "is neither published" in asked(OWN, plan())
    assert asked(OWN, feedback="rounded", metrics=("luna16.recall",)) == ""
    assert asked(OWN, feedback="cases") == ""
    option = PROTOCOL.interval.model_copy(update={"bootstraps": 7})
    assert asked(PROTOCOL.model_copy(update={"seed": 5, "interval": option})) == ""
    changed = PROTOCOL.model_copy(update={"size_bins_mm": (6.5,)})
    assert "is neither published" in asked(changed)


@pytest.mark.parametrize(("left_out", "expected"), [(0, True), (1, False), (9, False), (10, True)])
def test_what_a_declaration_leaves_out_is_checked_in_addition_to_what_a_protocol_does(
    left_out: int, expected: bool
) -> None:
    assert is_disclosed(document_of(50), 90, 50 + left_out, feedback="metrics") is expected
