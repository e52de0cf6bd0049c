"""Check that the policy of a sealed set permits a protocol, a plan and a number of nodules.

A verdict discloses one bit, and the plan chooses which. A developer who could choose plans freely,
or protocols with custom strata, could query one nodule after another. The signed policy lists what
is permitted. If it lists nothing, each plan and protocol is a separate charged evaluation.
"""

from itertools import combinations

from nodulebench.core.documents.evaluation import Document
from nodulebench.core.errors import InputError
from nodulebench.core.plans import TestPlan
from nodulebench.core.protocol import PROTOCOL_NAMES, TestProtocol, load_protocol
from nodulebench.custody.developers import require_one_developer, same_developer
from nodulebench.custody.policy import Reuse


class NotPermittedError(InputError):
    """The policy does not permit this test."""


class FewError(InputError):
    """The test covers too few nodules for any disclosure."""


def require_permitted(protocol: TestProtocol, plan: TestPlan | None, reuse: Reuse) -> None:
    """Require a protocol, or a plan with its protocol, that the policy names."""
    if plan is None and reuse.feedback == "verdict":
        what = "permits only a verdict under a frozen plan; no plan was given."
        raise InputError.at("policy", what, "Give --plan.")
    if plan is not None and plan.digests.protocol != plan.protocol.digest:
        what = "contains another protocol than the one that it was frozen with."
        raise NotPermittedError.at(f"plan '{plan.name}'", what, "Use the unchanged plan.")
    if plan is not None and reuse.plans:
        if plan.digest not in reuse.plans:
            raise _unnamed(f"plan '{plan.name}'", plan.digest, "plans", reuse.plans)
    elif reuse.protocols:
        if protocol.digest not in {_digest(named) for named in reuse.protocols}:
            where = f"protocol '{protocol.name}'"
            raise _unnamed(where, protocol.digest, "protocols", reuse.protocols)
    elif reuse.plans:
        raise InputError.at("policy", "names plans, and no plan was given.", "Give --plan.")
    elif reuse.feedback == "metrics" and not _is_published(protocol):
        raise NotPermittedError.at(
            f"protocol '{protocol.name}'",
            "is neither published nor named in the policy; custom strata would disclose single "
            "nodules.",
            f"Use one of {', '.join(PROTOCOL_NAMES)}, or name it in 'protocols' before sealing.",
        )


class OutdatedPlanError(NotPermittedError):
    """A plan was frozen for another number of cases than the sealed set has."""


def require_same_cases(plan: TestPlan, cases: int, withdrawn: int, reuse: Reuse) -> None:
    """Refuse a plan for another number of cases, which could only end undecided.

    The number is public, so the refusal discloses nothing, and nothing is decrypted for it. After a
    withdrawal the set has fewer cases than ever before, so every older plan is refused.
    """
    if plan.cases == cases:
        return
    fewer = f" ({withdrawn} withdrawn)" if withdrawn else ""
    remedy = (
        "Freeze a plan for the set as it is now: a curator exports the tables with "
        "'nodulebench unseal' and gives them to 'nodulebench test-plan freeze'."
    )
    if reuse.plans:
        remedy += (
            " The signed policy names its plans, so seal the tables as a new set whose policy "
            "names the new plan ('nodulebench seal'), and end this one "
            "('nodulebench custody retire')."
        )
    what = f"was frozen for {plan.cases} cases; this test set has {cases}{fewer}."
    raise OutdatedPlanError.at(f"plan '{plan.name}'", what, remedy)


SIZES = frozenset({"size", "lung_rads_size", "fleischner_size"})
"""Strata that divide the same measure at different limits."""


def differing_protocols(reuse: Reuse) -> list[tuple[str, str, tuple[str, ...]]]:
    """Return pairs of protocols that count or divide nodules differently, and the fields.

    Strata of two protocols can differ by a single nodule. Two evaluations, one under each, then
    disclose it by subtraction. A protocol named by digest has unknown content: its field is
    "digest".
    """
    named: dict[str, str] = {}
    for protocol in reuse.protocols:
        named.setdefault(_digest(protocol), protocol)
    return [
        (first, second, differing)
        for first, second in combinations(named.values(), 2)
        if (differing := _differing(first, second))
    ]


def _differing(first: str, second: str) -> tuple[str, ...]:
    if not {first, second} <= set(PROTOCOL_NAMES):
        return ("digest",)
    left, right = (_choosing(load_protocol(name)) for name in (first, second))
    return tuple(field for field in left if left[field] != right[field])


def _choosing(protocol: TestProtocol) -> dict[str, object]:
    """Return the settings that decide which nodules count, and in which strata."""
    sizes = SIZES & set(protocol.strata)
    return {
        "scope": protocol.scope,
        "size_limit": protocol.size_limit,
        "strata": sizes,
        "size_bins_mm": protocol.size_bins_mm if "size" in sizes else None,
    }


def require_known(developer: str, reuse: Reuse) -> None:
    """Require a developer whom the policy lists, with a name in one script."""
    if not same_developer(developer):
        raise InputError.at("developer", "has no name.", "Evaluations are counted per developer.")
    require_one_developer(developer)
    listed = [same_developer(name) for name in reuse.developers]
    if listed and same_developer(developer) not in listed:
        raise NotPermittedError.at(
            f"developer '{same_developer(developer)}'",
            "is not among the developers in the policy.",
            "Give the name as in the policy, which was signed with the set.",
        )


def _unnamed(where: str, digest: str, kind: str, named: tuple[str, ...]) -> NotPermittedError:
    return NotPermittedError.at(
        where,
        f"is not among the {kind} in the policy: its digest, options included, is {digest}.",
        f"The policy names: {', '.join(named)}. It was signed with the set and cannot change: to "
        "use another, seal a new set.",
    )


def _digest(named: str) -> str:
    return load_protocol(named).digest if named in PROTOCOL_NAMES else named


def _is_published(protocol: TestProtocol) -> bool:
    """Whether a protocol is published, ignoring options that select no nodules."""
    if protocol.name not in PROTOCOL_NAMES:
        return False
    published = load_protocol(protocol.name)
    interval = protocol.interval.model_copy(update={"bootstraps": published.interval.bootstraps})
    options = {"seed": published.seed, "operating_point": published.operating_point}
    plain = protocol.model_copy(update={**options, "interval": interval})
    return plain.digest == published.digest


def require_enough(document: Document, nodules: int, undeclared: int, reuse: Reuse) -> None:
    """Refuse to disclose metrics of fewer nodules than the policy allows.

    A protocol restricts nodules by its scope and its smallest size, an algorithm by the types that
    it declares, a plan by strata. Nodules left out by a declaration follow from a submission
    without it, and those left out by a protocol from another protocol, unless the policy names only
    one. ``nodules`` counts the set, of which all may be disclosed; ``undeclared`` would count if
    the algorithm declared nothing. FewError has the same text for any number.
    """
    fewest = reuse.minimum_stratum
    is_single_test = len(reuse.plans) + len(reuse.protocols) == 1
    known = undeclared if is_single_test or reuse.feedback != "metrics" else nodules
    for algorithm, rule, result in document.results:
        counted = result.counts.get("nodules", nodules)
        parts = [
            stratum.nodules
            for criterion in (() if document.plan is None else document.plan.criteria)
            if (criterion.algorithm, criterion.rule) == (algorithm.name, rule)
            for division, _, name in [criterion.stratum.partition("=")]
            if (stratum := result.strata.get(division, {}).get(name)) is not None
        ]
        if (
            counted < min(fewest, nodules)
            or 0 < undeclared - counted < fewest
            or 0 < known - counted < fewest
            or any(part < fewest for part in parts)
        ):
            what = f"permits no metrics of fewer than {fewest} nodules, as this test needs."
            remedy = "Use a protocol and a plan that cover more nodules, and declare no rare types."
            raise FewError.at("policy", what, remedy)
