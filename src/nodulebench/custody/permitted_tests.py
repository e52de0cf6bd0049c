"""Policy + protocol and plan -> whether a sealed set may be asked that way, and of how few.

A verdict tells a bit, and a plan chooses which. So whoever may choose freely among plans, or among
protocols with strata of their own, asks for one nodule after the other. The signed policy names
what may be asked; where it names nothing, every plan and protocol makes a further look.
"""

from itertools import combinations

from nodulebench.core.documents.evaluation import Document
from nodulebench.core.errors import InputError
from nodulebench.core.plans import TestPlan
from nodulebench.core.protocol import TestProtocol
from nodulebench.core.protocols import NAMES, load_protocol
from nodulebench.custody.budget import require_one_developer, same_developer
from nodulebench.custody.policy import Reuse


class NotPermittedError(InputError):
    """The policy does not allow that this is asked."""


class FewError(InputError):
    """So few nodules were asked for that nothing is told."""


def require_permitted(protocol: TestProtocol, plan: TestPlan | None, reuse: Reuse) -> None:
    """Refuse a protocol or plan that a policy does not name; nothing of the set is looked at.

    A plan that the policy names brings its protocol with it.

    Raises:
        InputError: if a plan is needed, and none was given.
        UnaskedError: if it may not be asked.
    """
    if plan is None and reuse.feedback == "verdict":
        raise InputError.at(
            "policy",
            "permits only a verdict under a frozen plan; no plan was given.",
            "Give --plan.",
        )
    if plan is not None and plan.digests.protocol != plan.protocol.digest:
        raise NotPermittedError.at(
            f"plan '{plan.name}'",
            "holds another protocol than the one that it was frozen with.",
            "Use the plan as it was frozen.",
        )
    if plan is not None and reuse.plans:
        if plan.digest not in reuse.plans:
            raise _unnamed(f"plan '{plan.name}'", plan.digest, "plans", reuse.plans)
    elif reuse.protocols:
        if protocol.digest not in {_digest(one) for one in reuse.protocols}:
            where = f"protocol '{protocol.name}'"
            raise _unnamed(where, protocol.digest, "protocols", reuse.protocols)
    elif reuse.plans:
        raise InputError.at("policy", "names plans, and no plan was given.", "Give --plan.")
    elif reuse.feedback == "metrics" and not _is_published(protocol):
        raise NotPermittedError.at(
            f"protocol '{protocol.name}'",
            "is no published one, nor does the policy name it; strata of its own would tell of "
            "single nodules.",
            f"Take one of {', '.join(NAMES)}, or seal with it among 'protocols'.",
        )


class OutdatedPlanError(NotPermittedError):
    """A plan was frozen for more or fewer cases than the sealed set has."""


def require_same_cases(plan: TestPlan, cases: int, withdrawn: int, reuse: Reuse) -> None:
    """Refuse a plan for another number of cases, which could only end undecided.

    The number is public, so the refusal says nothing of the set, and nothing is decrypted for it.
    After a withdrawal the set has fewer cases than it ever had, so every older plan is refused.

    Args:
        plan: the frozen plan.
        cases: how many cases the set has.
        withdrawn: how many were withdrawn from it.
        reuse: the policy's part.

    Raises:
        OutdatedPlanError: with what to do next.
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
    raise OutdatedPlanError.at(
        f"plan '{plan.name}'",
        f"was frozen for {plan.cases} cases; this test set has {cases}{fewer}.",
        remedy,
    )


SIZES = frozenset({"size", "lung_rads_size", "fleischner_size"})
"""Strata that divide by one measure at cuts of their own."""


def differing_protocols(reuse: Reuse) -> list[tuple[str, str, tuple[str, ...]]]:
    """Pairs of protocols of a policy that count or divide nodules differently.

    What is in a stratum of one and not of the other can be a single nodule: told of both, in two
    looks, their difference tells of it.

    Returns:
        The names of two protocols and the fields in which they differ; for a protocol that is
        named by its digest, which cannot be looked into, the field is its digest.
    """
    named: dict[str, str] = {}
    for protocol in reuse.protocols:
        named.setdefault(_digest(protocol), protocol)
    return [
        (one, other, differing)
        for one, other in combinations(named.values(), 2)
        if (differing := _differing(one, other))
    ]


def _differing(one: str, other: str) -> tuple[str, ...]:
    if not {one, other} <= set(NAMES):
        return ("digest",)
    first, second = (_choosing(load_protocol(name)) for name in (one, other))
    return tuple(field for field in first if first[field] != second[field])


def _choosing(protocol: TestProtocol) -> dict[str, object]:
    """What of a protocol says which nodules count, and which of them together."""
    sizes = SIZES & set(protocol.strata)
    return {
        "scope": protocol.scope,
        "size_limit": protocol.size_limit,
        "strata": sizes,
        "size_bins_mm": protocol.size_bins_mm if "size" in sizes else None,
    }


def require_known(developer: str, reuse: Reuse) -> None:
    """Refuse a developer whom the policy does not list, and a name that mixes scripts.

    Raises:
        InputError: if the name cannot be that of a developer.
        UnaskedError: if the policy lists others.
    """
    if not same_developer(developer):
        raise InputError.at("developer", "has no name.", "Looks are counted by developer.")
    require_one_developer(developer)
    listed = [same_developer(one) for one in reuse.developers]
    if listed and same_developer(developer) not in listed:
        raise NotPermittedError.at(
            f"developer '{same_developer(developer)}'",
            "is not among those whom the policy lists.",
            "Give the name as the policy has it, which was signed with the set.",
        )


def _unnamed(where: str, digest: str, kind: str, named: tuple[str, ...]) -> NotPermittedError:
    return NotPermittedError.at(
        where,
        f"is not among the {kind} that the policy names: its digest is {digest}, options included.",
        f"It names: {', '.join(named)}. The policy was signed with the set and stays: to use "
        "another, seal a new set.",
    )


def _digest(named: str) -> str:
    """The digest of a protocol that a policy names: a published one, or by its digest."""
    return load_protocol(named).digest if named in NAMES else named


def _is_published(protocol: TestProtocol) -> bool:
    """Whether a protocol is a published one, but for options that choose no nodules."""
    if protocol.name not in NAMES:
        return False
    published = load_protocol(protocol.name)
    interval = protocol.interval.model_copy(update={"bootstraps": published.interval.bootstraps})
    options = {"seed": published.seed, "operating_point": published.operating_point}
    plain = protocol.model_copy(update={**options, "interval": interval})
    return plain.digest == published.digest


def require_enough(document: Document, nodules: int, undeclared: int, reuse: Reuse) -> None:
    """Refuse to tell of fewer nodules than the policy allows.

    A protocol narrows by its scope and its smallest size, an algorithm by the types that it
    declares, a plan by strata. What a declaration leaves out follows from a submission without it,
    and what a protocol leaves out from another protocol, unless the policy names one alone.

    Args:
        document: what was found.
        nodules: how many the set has in all; all of a smaller set may be told.
        undeclared: how many would count, had the algorithm declared nothing.
        reuse: the policy's part.

    Raises:
        FewError: in words that are the same however few there are.
    """
    fewest = reuse.minimum_stratum
    is_one_question = len(reuse.plans) + len(reuse.protocols) == 1
    known = undeclared if is_one_question or reuse.feedback != "metrics" else nodules
    for algorithm, rule, result in document.results:
        counted = result.counts.get("nodules", nodules)
        parts = [
            one.nodules
            for criterion in (() if document.plan is None else document.plan.criteria)
            if (criterion.algorithm, criterion.rule) == (algorithm.name, rule)
            for division, _, name in [criterion.stratum.partition("=")]
            if (one := result.strata.get(division, {}).get(name)) is not None
        ]
        if (
            counted < min(fewest, nodules)
            or 0 < undeclared - counted < fewest
            or 0 < known - counted < fewest
            or any(part < fewest for part in parts)
        ):
            raise FewError.at(
                "policy",
                f"lets nothing be told of fewer than {fewest} nodules, and that was asked for.",
                "Take a protocol and a plan that ask for more, and declare no rare types.",
            )
