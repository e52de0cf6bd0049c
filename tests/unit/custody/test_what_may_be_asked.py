"""No protocol, plan or declaration of a developer's own makes a sealed set tell of few nodules."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from builders.people import person_key
from builders.sealed import HEADER, POLICY, SealedLab, make_lab
from nodulebench.core.errors import InputError
from nodulebench.core.tables import NODULES
from nodulebench.custody.evaluate import SealedEvaluateOptions, evaluate_sealed
from nodulebench.custody.verify import read_audit, verify_sealed
from nodulebench.evaluation.plans import FreezeOptions, freeze_files
from nodulebench.io.bundle import read_reference, write_reference

pytest.importorskip("cryptography")
PEOPLE = POLICY.partition("[reuse]")[0]
CASES = 40
TYPES = ["solid"] * 20 + ["part_solid"] * 16 + ["calcified"] * 4
DIAMETERS = [5.0] * 12 + [8.0] * 12 + [12.0] * 13 + [29.0] * 3
METRICS = 'feedback = "metrics"\nevaluations_per_developer = 3'
ROUNDED = 'feedback = "rounded"\nmetrics = ["luna16.recall"]\nevaluations_per_developer = 3'
OWN = 'name = "{name}"\nmetrics = ["recall"]\n{more}\n[[rules]]\nname = "luna16"\n'


def made(folder: Path, reuse: str, smallest: int = 0) -> SealedLab:
    """A sealed set of 40 nodules of three types and four sizes, some below 4 mm if so asked."""
    folder.mkdir(exist_ok=True)
    lab = make_lab(folder, f"{PEOPLE}[reuse]\n{reuse}\n", CASES)
    plain = read_reference(lab.bundle)
    nodules = plain.nodules.with_columns(
        type=pl.Series(TYPES), diameter_mm=pl.Series([3.0] * smallest + DIAMETERS[smallest:])
    )
    write_reference(replace(plain, nodules=NODULES.conform(nodules, "n")), lab.bundle)
    lab.seal()
    return lab


def ask(lab: SealedLab, marks: Path | None = None, **more: Any) -> dict[str, Any]:
    marks = marks or lab.marks("mine.csv", *(f"scan{number}" for number in range(0, CASES, 2)))
    more = {"bootstraps": 0, **more}
    return evaluate_sealed(
        SealedEvaluateOptions(marks, lab.sealed, person_key("Bo"), "Example", **more)
    )[0]


def own(folder: Path, more: str, name: str = "own") -> str:
    path = folder / "own.toml"
    path.write_text(OWN.format(name=name, more=more))
    return str(path)


def charged(lab: SealedLab) -> int:
    return sum(len(use.evaluations) for use in read_audit(lab.sealed).uses)


@pytest.mark.parametrize(
    "more",
    [
        'strata = ["nodule_id", "x_mm", "y_mm", "z_mm"]\nminimum_stratum = 1',
        'strata = ["size"]\nsize_bins_mm = [5.01, 5.02, 5.03]',
        "size_limit = {minimum_mm = 1.0, sweep_mm = [0.1, 0.2, 0.3]}",
    ],
)
@pytest.mark.parametrize("name", ["own", "luna16"])
def test_strata_of_ones_own_are_not_disclosed(tmp_path: Path, more: str, name: str) -> None:
    lab = made(tmp_path, METRICS)
    with pytest.raises(InputError, match="is neither published nor named in the policy"):
        ask(lab, protocol=own(tmp_path, more, name))
    assert charged(lab) == 0
    assert read_audit(lab.sealed).events[-1].step == "refused"


def test_a_whole_of_few_nodules_is_not_disclosed_and_asking_again_costs(tmp_path: Path) -> None:
    lab = made(tmp_path, ROUNDED)
    protocol = own(tmp_path, 'scope = {types = ["calcified"]}')
    message = "permits no metrics of fewer than 10 nodules"
    for expected in (0, 0):  # the same question has the same answer
        with pytest.raises(InputError, match=message) as caught:
            ask(lab, protocol=protocol)
        assert charged(lab) == expected
        assert "charged" not in str(caught.value)
    with pytest.raises(InputError, match="evaluation: was charged: a failure because"):
        ask(lab, protocol=protocol, seed=1)
    assert charged(lab) == 1
    verified = verify_sealed(lab.sealed, public_key=lab.public_key, own_key=person_key("Safe"))
    assert verified.is_good, verified.problems
    assert not verified.notices


def test_a_plan_uses_no_stratum_of_few_nodules(tmp_path: Path) -> None:
    lab = made(tmp_path, "evaluations_per_developer = 3")
    criteria = tmp_path / "criteria.toml"
    for number, stratum in enumerate(("≥10 mm", "[4, 6) mm")):
        criteria.write_text(
            'name = "own"\n[[criteria]]\nmetric = "miss_rate"\nrule = "luna16"\n'
            f'stratum = "size={stratum}"\ncomparison = "<="\nlimit = 0.5\n'
        )
        plan = tmp_path / f"plan{number}.json"
        freeze_files(
            FreezeOptions(
                criteria=criteria, reference=lab.bundle, protocol="luna16", out=plan, bootstraps=0
            )
        )
    assert "verdict" in ask(lab, plan=tmp_path / "plan0.json")
    assert "verdict" in ask(lab, plan=tmp_path / "plan1.json")
    few = made(tmp_path / "few", "evaluations_per_developer = 3\nminimum_stratum = 13")
    with pytest.raises(InputError, match="permits no metrics of fewer than 13 nodules"):
        ask(few, plan=tmp_path / "plan1.json")


def disclosed_strata(answer: dict[str, Any], rule: str) -> dict[str, dict[str, Any]]:
    strata: dict[str, dict[str, Any]] = answer["evaluation"]["algorithms"][0]["rules"][rule][
        "strata"
    ]
    return strata


def test_few_nodules_do_not_follow_from_what_is_disclosed(tmp_path: Path) -> None:
    """Four of 40 are calcified: 20 solid and 16 part-solid ones would tell of them."""
    lab = made(tmp_path, METRICS)
    answer = ask(lab, protocol="fg-ai4h")
    types = disclosed_strata(answer, "luna16_clean")["type"]
    assert types["solid"]["missed"] is not None
    assert types["calcified"]["missed"] is types["part_solid"]["missed"] is None
    rules = answer["evaluation"]["algorithms"][0]["rules"].values()
    for rule in rules:
        if "extras" in rule:
            assert set(rule["extras"]) <= {"misses_by_type_and_size"}


def test_a_policy_can_ask_for_more_than_a_protocol(tmp_path: Path) -> None:
    for minimum, is_disclosed in ((10, True), (13, False)):
        lab = made(tmp_path / str(minimum), f"{METRICS}\nminimum_stratum = {minimum}")
        sizes = disclosed_strata(ask(lab), "luna16")["size"]
        assert (sizes["[4, 6) mm"]["missed"] is not None) == is_disclosed
        assert sizes["[4, 6) mm"]["nodules"] == 12


@pytest.mark.parametrize("declared", ['"calcified"', '"solid", "part_solid"'])
def test_a_declaration_singles_out_no_few_nodules(tmp_path: Path, declared: str) -> None:
    """Neither few that are declared, nor few that are left out: the next report would tell."""
    lab = made(tmp_path, METRICS)
    folder = tmp_path / "sent"
    folder.mkdir()
    (folder / "marks.csv").write_text(HEADER + "scan0,1,2,3,0.9\n")
    (folder / "algorithm.toml").write_text(f'name = "mine"\nintended_types = [{declared}]\n')
    with pytest.raises(InputError, match="permits no metrics of fewer than 10 nodules"):
        ask(lab, folder, protocol="fg-ai4h")
    (folder / "algorithm.toml").write_text('name = "mine"\nintended_types = ["solid"]\n')
    assert "evaluation" in ask(lab, folder, protocol="fg-ai4h")


@pytest.mark.parametrize("named", ["", 'protocols = ["luna16", "fotin-2008"]'])
def test_what_one_protocol_leaves_out_does_not_follow_from_another(
    tmp_path: Path, named: str
) -> None:
    """Few nodules below the smallest size: all found by one, all but those by the other."""
    lab = made(tmp_path, f"{METRICS}\n{named}", smallest=5)
    sent = tmp_path / "sized.csv"
    rows = "".join(f"scan{number},1,2,3,0.9,8\n" for number in range(CASES))
    sent.write_text(HEADER.strip() + ",diameter_mm\n" + rows)
    options = {"bootstraps": None if named else 0}
    with pytest.raises(InputError, match="permits no metrics of fewer than 10 nodules"):
        ask(lab, sent, protocol="fotin-2008", **options)
    single_test = made(tmp_path / "single", f'{METRICS}\nprotocols = ["fotin-2008"]', smallest=5)
    assert "evaluation" in ask(single_test, sent, protocol="fotin-2008", bootstraps=None)


def test_which_cases_are_in_the_set_is_not_disclosed_for_nothing(tmp_path: Path) -> None:
    """Names of cases were tried one by one: those that are not in the set cost nothing."""
    lab = made(tmp_path, ROUNDED)
    free = 0
    for number in range(6):
        before = charged(lab)
        with pytest.raises(InputError):
            ask(lab, lab.marks(f"guess{number}.csv", f"elsewhere{number}"))
        free += charged(lab) == before
        if charged(lab) == 3:
            break
    assert free == 1
    assert charged(lab) == 3


def test_no_metric_has_so_many_digits_that_it_tells_which_nodules_were_hit(tmp_path: Path) -> None:
    """Ends of intervals are weighted sums of hits, and the seed of the weights is known."""
    lab = made(tmp_path, METRICS)
    order = SealedEvaluateOptions(
        lab.marks("mine.csv", "scan1"), lab.sealed, person_key("Bo"), "X", bootstraps=9
    )
    (algorithm,) = evaluate_sealed(order)[0]["evaluation"]["algorithms"]
    numbers = list(floats([rule[part] for rule in algorithm["rules"].values() for part in PARTS]))
    assert len(numbers) > 20
    assert all(number == round(number, 3) for number in numbers)
    assert any(number not in (0, 1) for number in numbers)


PARTS = ("metrics", "strata")


def floats(value: Any) -> Iterator[float]:
    if isinstance(value, float):
        yield value
    for protocol_ in (
        value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    ):
        yield from floats(protocol_)


def test_columns_of_the_set_are_not_disclosed_by_a_protocol_that_asks_for_others(
    tmp_path: Path,
) -> None:
    lab = made(tmp_path, ROUNDED)
    with pytest.raises(InputError, match="cannot be applied to this test set") as caught:
        ask(lab, protocol=own(tmp_path, 'strata = ["smoker"]'))
    assert "patient_id" not in str(caught.value)
    assert "smoker" in str(read_audit(lab.sealed).events[-1].facts["reason"])
