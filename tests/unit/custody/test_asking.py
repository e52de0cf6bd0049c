"""Protocols of a policy that count or divide nodules differently are told when it is sealed."""

import pytest

from nodulebench.custody import asking
from nodulebench.custody.asking import differing_protocols
from nodulebench.custody.policy import Reuse
from nodulebench.model.protocol import TestProtocol
from nodulebench.protocols import load_protocol


def differing(*protocols: str) -> list[tuple[str, str, tuple[str, ...]]]:
    return differing_protocols(Reuse(protocols=protocols))


def test_one_protocol_differs_from_none() -> None:
    assert differing() == []
    assert differing("luna16") == []
    assert differing("luna16", load_protocol("luna16").digest) == []  # the same by its digest


def test_protocols_that_count_alike_may_stand_together() -> None:
    assert differing("luna16", "nifdc-2022") == []


def test_the_field_in_which_two_differ_is_named() -> None:
    assert differing("luna16", "fotin-2008", "nifdc-2022") == [
        ("luna16", "fotin-2008", ("size_limit",)),
        ("fotin-2008", "nifdc-2022", ("size_limit",)),
    ]
    assert differing("luna16", "fg-ai4h") == [("luna16", "fg-ai4h", ("scope", "strata"))]


def test_a_protocol_known_by_its_digest_alone_cannot_be_compared() -> None:
    digest = f"sha256:{'0' * 64}"
    assert differing("luna16", digest) == [("luna16", digest, ("digest",))]


def test_cuts_of_size_count_where_both_divide_by_size(monkeypatch: pytest.MonkeyPatch) -> None:
    def made(name: str) -> TestProtocol:
        cuts, strata = ((5.0,), ("size",)) if name == "luna16" else ((6.0,), told)
        change = {"name": name, "size_bins_mm": cuts, "strata": strata}
        return load_protocol("luna16").model_copy(update=change)

    monkeypatch.setattr(asking, "load_protocol", made)
    told: tuple[str, ...] = ("size", "type")
    assert differing("luna16", "nifdc-2022") == [("luna16", "nifdc-2022", ("size_bins_mm",))]
    told = ("type",)
    assert differing("luna16", "nifdc-2022") == [
        ("luna16", "nifdc-2022", ("strata", "size_bins_mm"))
    ]
