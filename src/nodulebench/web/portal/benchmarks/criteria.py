"""Acceptance criteria of a benchmark -> a frozen plan, under which every entry is judged."""

from pathlib import Path

from nodulebench.core.errors import InputError
from nodulebench.core.plans import TestPlan
from nodulebench.core.protocols import load_protocol
from nodulebench.custody.sealed_set import read_note
from nodulebench.evaluation.plans.freeze import freeze_plan, read_criteria, read_plan, write_plan
from nodulebench.io.formats import read_reference


def write_frozen(
    source: Path, reference: Path, protocol: str, target: Path, *, is_sealed: bool
) -> int:
    """Freeze criteria, or take a plan that was frozen before; how many criteria it has.

    Args:
        source: criteria in TOML, or a plan that ``nodulebench test-plan freeze`` wrote.
        reference: the test set.
        protocol: of the benchmark.
        target: where the plan goes.
        is_sealed: whether the test set is; then nothing but a frozen plan can be taken.

    Raises:
        InputError: if the criteria cannot be decided by the protocol on this test set, or the plan
            was frozen for another number of cases than a sealed set has.
    """
    plan = _plan(source, reference, protocol, is_sealed=is_sealed)
    write_plan(plan, target)
    return len(plan.criteria)


def _plan(source: Path, reference: Path, protocol: str, *, is_sealed: bool) -> TestPlan:
    chosen = load_protocol(protocol)
    if source.suffix == ".json":
        plan = read_plan(source)
        if plan.digests.protocol != chosen.digest:
            what = f"was frozen for another protocol than '{protocol}'."
            raise InputError.at(source.name, what, "Freeze it for the protocol of the benchmark.")
        if is_sealed and plan.cases != (cases := read_note(reference)["cases"]):
            what = f"was frozen for {plan.cases} cases; this test set has {cases}."
            raise InputError.at(source.name, what, "Freeze it for the set as it is now.")
        return plan
    if is_sealed:
        remedy = "Freeze them with 'nodulebench test-plan freeze', and send the plan."
        raise InputError.at(source.name, "is no frozen plan, and the test set is sealed.", remedy)
    return freeze_plan(read_criteria(source), read_reference(reference), chosen, source=source.name)
