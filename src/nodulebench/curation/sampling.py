"""Pool of cases x plan x seed -> a random sample of cases, stratum by stratum."""

from dataclasses import asdict, dataclass
from itertools import product
from math import prod
from pathlib import Path

import numpy as np
import polars as pl

from nodulebench import __version__
from nodulebench.core.errors import Problem, Problems, raise_problems
from nodulebench.curation.design import SamplingPlan, load_design
from nodulebench.io.formats import read_cases
from nodulebench.io.json_files import write_json
from nodulebench.io.table_files import write_table


@dataclass(frozen=True, slots=True)
class DrawnStratum:
    """One cell of the plan."""

    values: dict[str, str]
    planned: int
    available: int
    drawn: int

    @property
    def lacking(self) -> int:
        """Planned cases that the pool does not have."""
        return self.planned - self.drawn


@dataclass(frozen=True, slots=True)
class Sample:
    """The drawn cases, in the pool's order, and the numbers of each stratum."""

    case_ids: pl.Series
    strata: tuple[DrawnStratum, ...]


def draw_cases(cases: pl.DataFrame, plan: SamplingPlan, count: int, seed: int) -> Sample:
    """Draw cases at random so that strata have their planned shares.

    A stratum that the pool cannot fill stays short: it is not filled from other strata, because
    that would change the plan silently. The same seed draws the same cases, in any order of the
    pool.
    """
    _check(cases, plan, count)
    ordered = cases.sort("case_id")  # the draw depends only on the seed and the names
    pool = ordered[np.random.default_rng(seed).permutation(ordered.height)]
    cells = list(product(*(list(shares.items()) for shares in plan.shares.values())))
    planned = _whole_numbers([prod(share for _, share in cell) for cell in cells], count)
    values = [dict(zip(plan.shares, (name for name, _ in cell), strict=True)) for cell in cells]
    choices = [_choices(pool, value, plan.is_one_per_patient) for value in values]
    drawn = _assigned(choices, planned)
    chosen = [choices[at][patient] for at, patients in enumerate(drawn) for patient in patients]
    strata = tuple(
        DrawnStratum(cell, wanted, len(choice), len(patients))
        for cell, wanted, choice, patients in zip(values, planned, choices, drawn, strict=True)
    )
    return Sample(cases["case_id"].filter(cases["case_id"].is_in(chosen)), strata)


def _choices(
    pool: pl.DataFrame, values: dict[str, str], is_one_per_patient: bool
) -> dict[str, str]:
    """The patients of a stratum, in the order of the pool, each with the case that would be drawn.

    A case whose patient is not known, or does not matter, counts as a separate patient.
    """
    rows = pool.filter(
        pl.lit(True), *(pl.col(column).cast(pl.String) == value for column, value in values.items())
    )
    own = "case:" + rows["case_id"]
    has_patients = is_one_per_patient and "patient_id" in rows.columns
    patients = rows["patient_id"].fill_null(own) if has_patients else own
    case_of: dict[str, str] = {}
    for patient, case_id in zip(patients, rows["case_id"], strict=True):
        case_of.setdefault(patient, case_id)
    return case_of


def _assigned(choices: list[dict[str, str]], planned: list[int]) -> list[list[str]]:
    """For every stratum the drawn patients; no patient is drawn for two strata.

    A patient who is in several strata is assigned where a stratum would be short (augmenting
    paths), so that a stratum is short only if the pool cannot fill the plan.
    """
    place_of: dict[str, int] = {}

    def fill(stratum: int, tried: set[int]) -> bool:
        tried.add(stratum)
        for patient in choices[stratum]:
            holder = place_of.get(patient)
            if holder is None or (holder not in tried and fill(holder, tried)):
                place_of[patient] = stratum
                return True
        return False

    for stratum, wanted in enumerate(planned):
        for _ in range(wanted):
            if not fill(stratum, set()):
                break
    return [
        [patient for patient, at in place_of.items() if at == number]
        for number in range(len(choices))
    ]


def _check(cases: pl.DataFrame, plan: SamplingPlan, count: int) -> None:
    problems = Problems(
        Problem("sampling plan", f"the cases have no column '{column}'.", "Add it to the table.")
        for column in plan.shares
        if column not in cases.columns
    )
    problems += [
        Problem("sampling plan", f"the shares of '{column}' add up to {sum(shares.values()):.4g}.")
        for column, shares in plan.shares.items()
        if abs(sum(shares.values()) - 1) > 1e-6
    ]
    if count < 1:
        problems.add("sampling plan", f"{count} cases cannot be drawn.")
    raise_problems(problems)


def _whole_numbers(shares: list[float], count: int) -> list[int]:
    """Shares of a count as whole numbers that add up to it, by the largest remainders."""
    exact = np.array(shares) * count
    whole = np.floor(exact + 1e-9).astype(np.int64)
    rest = count - int(whole.sum())
    order = np.argsort(-(exact - whole), kind="stable")
    whole[order[:rest]] += 1
    return [int(number) for number in whole]


DRAW_SCHEMA = "nodulebench/sampling@1"


def draw_files(pool: Path, design: str, count: int, seed: int, out: Path) -> Sample:
    """Draw cases from a pool and write their rows, with a record that repeats the draw."""
    cases, chosen = read_cases(pool), load_design(design)
    sample = draw_cases(cases, chosen.sampling, count, seed)
    write_table(cases.filter(cases["case_id"].is_in(sample.case_ids.to_list())), out)
    record = {
        "schema": DRAW_SCHEMA,
        "version": __version__,
        "design": chosen.name,
        "purpose": chosen.purpose,
        "seed": seed,
        "pool": cases.height,
        "planned": count,
        "drawn": len(sample.case_ids),
        "strata": [asdict(stratum) for stratum in sample.strata],
    }
    write_json(record, draw_record(out))
    return sample


def draw_record(drawn: Path) -> Path:
    """The sidecar file that records how the cases of a table were drawn."""
    return drawn.with_name(f"{drawn.name}.json")
