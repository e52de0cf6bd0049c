"""Rule files of a benchmark: candidate lists, folds and acceptance criteria, in versions."""

from pathlib import Path
from typing import Annotated, Literal

import polars as pl
from pydantic import Field

from nodulebench.core.config_model import ConfigModel
from nodulebench.core.errors import InputError, Problem, raise_problems
from nodulebench.core.json_types import JsonObject
from nodulebench.core.plans import TestPlan
from nodulebench.core.protocol import load_protocol
from nodulebench.core.tables import NODULES, Reference
from nodulebench.custody.sealed_set import read_note
from nodulebench.evaluation.folds import fold_problems, read_folds
from nodulebench.evaluation.plans import freeze_plan, read_criteria, read_plan, write_plan
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
"""The kinds of rule files, and the file name of a version."""


class RuleFile(ConfigModel):
    """A version of a rule file; older versions remain for the entries accepted under them."""

    version: Annotated[int, Field(ge=1)]
    digest: str
    count: int
    """Number of candidates, folds, or criteria."""


def rule_file_path(site: Site, benchmark: str, kind: Kind, version: int) -> Path:
    return site.benchmark(benchmark) / "rules" / FILES[kind].format(version=version)


def write_candidates(source: Path, cases: pl.DataFrame, target: Path) -> int:
    """Write positions of these cases' candidates without classes; return their number."""
    listed = read_candidates(source, cases)
    if listed.is_empty():
        what, remedy = "has no candidate of this test set.", "Check that it belongs to this set."
        raise InputError.at(source.name, what, remedy)
    places = {"seriesuid": "case_id", "coordX": "x_mm", "coordY": "y_mm", "coordZ": "z_mm"}
    write_csv(listed.select(**{name: pl.col(column) for name, column in places.items()}), target)
    return listed.height


def candidate_problems(marks: Path, listed: Path, cases: pl.DataFrame) -> tuple[Problem, ...]:
    """Marks that are not candidates, and candidates without a score or with several."""
    return check_candidate_track(read_submission(marks, cases), read_candidates(listed)).problems


def write_frozen(
    source: Path, reference: Path, protocol: str, target: Path, *, is_sealed: bool
) -> int:
    """Freeze criteria, or accept a frozen plan (of sealed sets only this); count the criteria.

    Refused if the protocol cannot decide them on this test set, or the number of cases differs.
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
        remedy = "Freeze them with 'nodulebench test-plan freeze', and upload the plan."
        raise InputError.at(source.name, "must be a frozen plan: the test set is sealed.", remedy)
    return freeze_plan(read_criteria(source), read_reference(reference), chosen, source=source.name)


Answer = Literal["", "no", "folds", "yes"]
ANSWERS: tuple[Answer, ...] = ("no", "folds", "yes")
"""Not trained on the test set; cross-validated on it; trained on it without folds."""


class Training(ConfigModel):
    """The checked statement of a participant about training on the test set."""

    answer: Answer = ""
    folds: str = ""
    """Digest of the folds, if they were submitted."""
    count: int = 0


def checked_folds(path: Path, cases: pl.DataFrame) -> pl.DataFrame:
    """Read folds that test each case once, with a network that was not trained on its patient."""
    folds = read_folds([path])
    raise_problems([*fold_problems(folds, Reference("test set", cases, NODULES.empty()))])
    return folds


def write_folds(source: Path, cases: pl.DataFrame, target: Path) -> int:
    tested = _tested(checked_folds(source, cases))
    write_csv(tested.select("fold", seriesuid="case_id"), target)
    return tested["fold"].n_unique()


def require_same_folds(folds: pl.DataFrame, expected: pl.DataFrame, source: str) -> None:
    """Require folds that divide the cases as those of the benchmark do, under any names."""
    pairs = (
        _tested(folds)
        .join(expected, on="case_id", suffix="_expected")
        .select("fold", "fold_expected")
        .unique()
    )
    if not pairs.height == pairs["fold"].n_unique() == pairs["fold_expected"].n_unique():
        what = "divides the cases in another way than the folds of this benchmark."
        raise InputError.at(source, what, "Cross-validate by the folds that can be downloaded.")


def _tested(folds: pl.DataFrame) -> pl.DataFrame:
    return folds.filter((pl.col("part") == "test") | pl.col("part").is_null())


class AcceptedRules(ConfigModel):
    """The rules under which an entry was accepted; later changes do not affect it."""

    candidates: RuleFile | None = None
    training: Training = Training()

    @property
    def content(self) -> JsonObject:
        return self.model_dump(mode="json", exclude_defaults=True)


def accepted_rules(entry: Entry) -> AcceptedRules:
    return AcceptedRules.model_validate(entry.accepted_rules)


def track_of(entry: Entry) -> str:
    """The track an entry is ranked in; with candidates, the track of their version."""
    listed = accepted_rules(entry).candidates
    return entry.track if listed is None else f"{entry.track}-{listed.version}"
