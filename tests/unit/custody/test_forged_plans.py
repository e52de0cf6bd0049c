"""Developers who write their own plans learn no more of a sealed set than one evaluation tells."""

import json
from pathlib import Path
from typing import Any

import pytest

from builders.people import person_key
from builders.sealed import POLICY, SealedLab, make_lab
from nodulebench.core.errors import InputError
from nodulebench.core.plans import Criterion, TestPlan
from nodulebench.core.protocol import load_protocol
from nodulebench.custody.evaluate import SealedEvaluateOptions, evaluate_sealed
from nodulebench.custody.verify import read_audit, verify_sealed
from nodulebench.evaluation.plans import FreezeOptions, freeze_files, read_plan, write_plan

pytest.importorskip("cryptography")
NODULES = 28
PEOPLE = POLICY.partition("[reuse]")[0]
HIT = [f"scan{number}" for number in range(0, NODULES, 3)]


def frozen(folder: Path, lab: SealedLab) -> Path:
    """The plan of the laboratory."""
    criteria = folder / "criteria.toml"
    criteria.write_text(
        'name = "accept"\n[[criteria]]\nmetric = "recall"\nrule = "luna16"\n'
        'comparison = ">="\nlimit = 0.9\n'
    )
    path = folder / "plan.json"
    freeze_files(
        FreezeOptions(
            criteria=criteria, reference=lab.bundle, protocol="luna16", out=path, bootstraps=0
        )
    )
    return path


def forged(honest: Path, stratum: str, **protocol: Any) -> Path:
    """A plan that asks for one stratum, made of the laboratory's: its digests are known."""
    plan = read_plan(honest)
    other = plan.protocol.model_copy(update={"minimum_stratum": 1, **protocol})
    criterion = Criterion(
        metric="miss_rate", rule="luna16", stratum=stratum, comparison="<=", limit=0
    )
    made = plan.model_copy(
        update={
            "criteria": (criterion,),
            "protocol": other,
            "digests": plan.digests.model_copy(update={"protocol": other.digest}),
        }
    )
    path = honest.with_name(f"{stratum}.json")
    write_plan(made, path)
    return path


def ask(lab: SealedLab, plan: Path | None, **more: Any) -> dict[str, Any]:
    marks = lab.marks("mine.csv", *HIT)
    order = SealedEvaluateOptions(marks, lab.sealed, person_key("Bo"), "Example", plan=plan, **more)
    return evaluate_sealed(order)[0]


def made(folder: Path, reuse: str) -> tuple[SealedLab, Path]:
    """A sealed set of 28 nodules with a policy, where ``PLAN`` becomes the plan's digest."""
    lab = make_lab(folder, cases=NODULES)
    plan = frozen(folder, lab)
    digest = read_plan(plan).digest
    (folder / "policy.toml").write_text(f"{PEOPLE}[reuse]\n{reuse.replace('PLAN', digest)}\n")
    lab.seal()
    return lab, plan


@pytest.mark.slow
@pytest.mark.parametrize("reuse", ["", 'plans = ["PLAN"]', 'protocols = ["luna16"]'])
def test_one_evaluation_gives_no_more_than_one_verdict_however_many_plans_are_forged(
    tmp_path: Path, reuse: str
) -> None:
    lab, honest = made(tmp_path, reuse)
    verdicts = 0
    for number in range(3 if reuse else NODULES):
        plan = forged(honest, f"case_id=scan{number}", strata=("case_id",))
        try:
            ask(lab, plan)
        except InputError:
            continue
        verdicts += 1
    assert verdicts <= 1
    assert sum(len(use.evaluations) for use in read_audit(lab.sealed).uses) <= 1
    verified = verify_sealed(lab.sealed, public_key=lab.public_key, own_key=person_key("Safe"))
    assert verified.is_good, verified.problems


def test_a_plan_that_the_policy_names_is_admitted_and_is_in_the_log(tmp_path: Path) -> None:
    lab, honest = made(tmp_path, 'plans = ["PLAN"]')
    assert ask(lab, honest)["verdict"] == "failed"
    assert ask(lab, honest)["budget"] == {"used": 1, "allowed": 1}
    digest = read_plan(honest).digest
    events = [event for event in read_audit(lab.sealed).events if event.step != "sealed"]
    assert [event.facts["plan"] for event in events] == [digest] * len(events)
    assert {event.step for event in events} == {"evaluation_charged", "evaluated"}


def test_a_plan_that_the_policy_does_not_name_is_refused_and_is_in_the_log(
    tmp_path: Path,
) -> None:
    lab, honest = made(tmp_path, 'plans = ["PLAN"]')
    other = forged(honest, "size=[6, 10) mm")
    with pytest.raises(InputError, match="plan 'accept': is not among the plans in the policy"):
        ask(lab, other)
    last = read_audit(lab.sealed).events[-1]
    assert (last.step, last.facts["plan"]) == ("refused", read_plan(other).digest)


def test_a_plan_cannot_bring_another_protocol_than_its_own(tmp_path: Path) -> None:
    """Its digest covers the protocol by the digest in it, not by its fields."""
    lab, honest = made(tmp_path, 'plans = ["PLAN"]')
    content = json.loads(honest.read_text())
    content["protocol"]["strata"] = ["case_id"]
    content["protocol"]["minimum_stratum"] = 1
    swapped = tmp_path / "swapped.json"
    swapped.write_text(json.dumps(content))
    assert read_plan(swapped).digest == read_plan(honest).digest
    with pytest.raises(
        InputError, match="contains another protocol than the one that it was frozen"
    ):
        ask(lab, swapped)


@pytest.mark.parametrize(
    "options", [{"protocol": "fotin-2008"}, {"seed": 5}, {"bootstraps": 3}, {"at_fp": 0.5}]
)
def test_a_protocol_that_the_policy_does_not_name_is_refused_options_included(
    tmp_path: Path, options: dict[str, Any]
) -> None:
    reuse = 'feedback = "rounded"\nmetrics = ["luna16.recall"]\nprotocols = ["luna16"]'
    lab, _ = made(tmp_path, reuse)
    with pytest.raises(InputError, match="is not among the protocols in the policy"):
        ask(lab, None, **options)
    assert read_audit(lab.sealed).uses == ()
    assert ask(lab, None, protocol="luna16")["budget"]["used"] == 1


def test_a_protocol_is_named_by_its_digest_too(tmp_path: Path) -> None:
    digest = load_protocol("luna16").digest
    reuse = f'feedback = "rounded"\nmetrics = ["luna16.recall"]\nprotocols = ["{digest}"]'
    lab, _ = made(tmp_path, reuse)
    assert ask(lab, None)["budget"]["used"] == 1


def test_where_plans_are_named_an_evaluation_without_one_is_refused(tmp_path: Path) -> None:
    reuse = 'feedback = "rounded"\nmetrics = ["luna16.recall"]\nplans = ["PLAN"]'
    lab, honest = made(tmp_path, reuse)
    with pytest.raises(InputError, match="names plans, and no plan was given"):
        ask(lab, None)
    assert "verdict" in ask(lab, honest)


def test_a_verdict_next_to_metrics_is_a_separate_evaluation_and_counts_in_the_bound(
    tmp_path: Path,
) -> None:
    reuse = 'feedback = "rounded"\nmetrics = ["luna16.recall"]\nevaluations_per_developer = 3'
    lab, honest = made(tmp_path, reuse)
    assert ask(lab, honest)["budget"]["used"] == 1
    answer = ask(lab, None, bootstraps=0)["budget"]
    assert answer["used"] == 2
    # step 0.01: 103² answers, each with one of three verdicts: 1 + 3 · 103² hypotheses at 0.025
    assert answer["bound_standard_errors"] == pytest.approx(4.8020, abs=1e-4)
    plain, _ = made_plain(tmp_path / "plain", reuse)
    ask(plain, None, bootstraps=0)
    fewer = ask(plain, None, bootstraps=0, seed=1)["budget"]["bound_standard_errors"]
    assert fewer < answer["bound_standard_errors"]


def made_plain(folder: Path, reuse: str) -> tuple[SealedLab, Path]:
    folder.mkdir()
    return made(folder, reuse)


def test_a_test_plan_of_a_policy_is_written_as_a_digest(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"field 'reuse\.plans\.0': String should match pattern"):
        made(tmp_path, 'plans = ["plan.json"]')
    assert isinstance(read_plan(tmp_path / "plan.json"), TestPlan)
