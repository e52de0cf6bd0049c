"""Policy + protocol and plan -> whether a sealed set may be asked that way.

A verdict tells a bit, and a plan chooses which. So whoever may choose freely among plans, or among
protocols with strata of their own, asks for one nodule after the other. The signed policy names
what may be asked; where it names nothing, every plan and protocol makes a further look.
"""

from nodulebench.custody.policy import Reuse
from nodulebench.errors import InputError
from nodulebench.model.plan import TestPlan
from nodulebench.model.protocol import TestProtocol
from nodulebench.protocols import NAMES, load_protocol


class UnaskedError(InputError):
    """The policy does not allow that this is asked."""


def refuse_unasked(protocol: TestProtocol, plan: TestPlan | None, reuse: Reuse) -> None:
    """Refuse a protocol or plan that a policy does not name; nothing of the set is looked at.

    A plan that the policy names brings its protocol with it.

    Raises:
        InputError: if a plan is needed, and none was given.
        UnaskedError: if it may not be asked.
    """
    if plan is None and reuse.feedback == "verdict":
        raise InputError.at(
            "policy", "tells passed or not passed only, and no plan was given.", "Give --plan."
        )
    if plan is not None and plan.digests.protocol != plan.protocol.digest:
        raise UnaskedError.at(
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


def _unnamed(where: str, digest: str, kind: str, named: tuple[str, ...]) -> UnaskedError:
    return UnaskedError.at(
        where,
        f"is not among the {kind} that the policy names: its digest is {digest}, options included.",
        f"It names: {', '.join(named)}. The policy was signed with the set and stays.",
    )


def _digest(named: str) -> str:
    """The digest of a protocol that a policy names: a published one, or by its digest."""
    return load_protocol(named).digest if named in NAMES else named
