"""A file that was laid down for a benchmark: its version and its digest, which results repeat."""

from pathlib import Path
from typing import Annotated, Literal

import polars as pl
from pydantic import Field

from nodulebench.core.config_model import ConfigModel
from nodulebench.core.errors import InputError, Problem, raise_problems
from nodulebench.core.json_types import JsonObject
from nodulebench.core.plans import TestPlan
from nodulebench.core.protocols import load_protocol
from nodulebench.core.tables import NODULES, Reference
from nodulebench.custody.sealed_set import read_note
from nodulebench.evaluation.comparison.folds import fold_problems, read_folds
from nodulebench.evaluation.plans.freeze import freeze_plan, read_criteria, read_plan, write_plan
from nodulebench.io.csv_files import write_csv
from nodulebench.io.formats import read_reference, read_submission
from nodulebench.io.marks.luna16_candidates import check_candidate_track, read_candidates
from nodulebench.web.portal.database.models import Entry
from nodulebench.web.portal.site import Site

Kind = Literal["candidates", "folds", "plan"]
FILES: dict[Kind, str] = {
    "candidates": "candidates-{version}.csv",
    "folds": "folds-{version}.csv",
    "plan": "plan-{version}.json",
}
"""What can be laid down, and the name that each version of it has."""


class RuleFile(ConfigModel):
    """One version of a file; older versions stay, for the entries that were made under them."""

    version: Annotated[int, Field(ge=1)]
    digest: str
    count: int
    """Candidates, folds, or criteria in it."""


def rule_file_path(site: Site, benchmark: str, kind: Kind, version: int) -> Path:
    """Where a version of a file lies."""
    return site.benchmark(benchmark) / "rules" / FILES[kind].format(version=version)


def write_candidates(source: Path, cases: pl.DataFrame, target: Path) -> int:
    """Write the places of a candidate list, and nothing that tells which are nodules; how many.

    Args:
        source: LUNA16's candidates.csv or candidates_V2.csv, or a table like it.
        cases: of the test set; candidates elsewhere are left out.
        target: where the list that people get goes.

    Raises:
        InputError: if it cannot be read, or has no candidate in these cases.
    """
    listed = read_candidates(source, cases)
    if listed.is_empty():
        what, remedy = "lists no candidate of this test set.", "Is it of another one?"
        raise InputError.at(source.name, what, remedy)
    places = {"seriesuid": "case_id", "coordX": "x_mm", "coordY": "y_mm", "coordZ": "z_mm"}
    write_csv(listed.select(**{name: pl.col(column) for name, column in places.items()}), target)
    return listed.height


def candidate_problems(marks: Path, listed: Path, cases: pl.DataFrame) -> tuple[Problem, ...]:
    """Marks that are no candidates, candidates without a score, and those with several.

    Raises:
        InputError: if the marks cannot be read.
    """
    return check_candidate_track(read_submission(marks, cases), read_candidates(listed)).problems


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


Answer = Literal["", "no", "folds", "yes"]
ANSWERS: tuple[Answer, ...] = ("no", "folds", "yes")
"""Not trained on the test set; cross-validated on it; trained on it without folds."""


class Training(ConfigModel):
    """What who submits says of training on the test set, as it was checked."""

    answer: Answer = ""
    """Nothing: it was not said."""
    folds: str = ""
    """Digest of the folds, where they were shown."""
    count: int = 0
    """How many folds."""


def checked_folds(path: Path, cases: pl.DataFrame) -> pl.DataFrame:
    """A table of folds that tests every case once, on a network that never saw its patient.

    Raises:
        InputError: with every problem, as ``nodulebench folds check`` tells them.
    """
    folds = read_folds([path])
    raise_problems([*fold_problems(folds, Reference("test set", cases, NODULES.empty()))])
    return folds


def write_folds(source: Path, cases: pl.DataFrame, target: Path) -> int:
    """Write the folds that a benchmark asks for; how many there are."""
    tested = _tested(checked_folds(source, cases))
    write_csv(tested.select("fold", seriesuid="case_id"), target)
    return tested["fold"].n_unique()


def require_same_folds(folds: pl.DataFrame, expected: pl.DataFrame, source: str) -> None:
    """Refuse folds that divide the cases in another way than those of the benchmark.

    Names of folds do not matter.
    """
    pairs = (
        _tested(folds)
        .join(expected, on="case_id", suffix="_laid")
        .select("fold", "fold_laid")
        .unique()
    )
    if not pairs.height == pairs["fold"].n_unique() == pairs["fold_laid"].n_unique():
        what = "divides the cases in another way than the folds of this benchmark."
        raise InputError.at(source, what, "Cross-validate by the folds that can be downloaded.")


def _tested(folds: pl.DataFrame) -> pl.DataFrame:
    return folds.filter((pl.col("part") == "test") | pl.col("part").is_null())


class AcceptedRules(ConfigModel):
    """Under what an entry was taken; it stays so, whatever is laid down later."""

    candidates: RuleFile | None = None
    training: Training = Training()

    @property
    def content(self) -> JsonObject:
        """What is not empty, as rows and receipts hold it."""
        return self.model_dump(mode="json", exclude_defaults=True)


def accepted_rules(entry: Entry) -> AcceptedRules:
    """Under what an entry was taken."""
    return AcceptedRules.model_validate(entry.accepted_rules)


def track_of(entry: Entry) -> str:
    """What an entry is ranked among: its track, and of candidate lists the very version."""
    listed = accepted_rules(entry).candidates
    return entry.track if listed is None else f"{entry.track}-{listed.version}"
