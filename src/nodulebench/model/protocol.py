"""TestProtocol: everything that can change a number, as people write it in TOML."""

import hashlib
import json
import tomllib
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from nodulebench.errors import InputError, Problem

Parameter = bool | int | float | str


class _Written(BaseModel):
    """What people write: frozen, and a field nobody knows is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class RuleChoice(_Written):
    """A mark rule by name, with the parameters that differ from its published defaults."""

    name: str
    parameters: dict[str, Parameter] = {}


class IntervalChoice(_Written):
    """How intervals are made."""

    method: Literal["percentile", "bca", "jackknife", "luna16"] = "percentile"
    unit: Literal["patient", "case"] = "patient"
    level: Annotated[float, Field(gt=0, lt=1)] = 0.95
    bootstraps: Annotated[int, Field(ge=0)] = 2000
    others: tuple[Literal["wilson", "clopper_pearson", "cluster_ratio"], ...] = ()
    """Further intervals shown beside the main one, for proportions."""


class Scope(_Written):
    """The intended use: references outside it become ignore regions."""

    types: tuple[str, ...] = ()
    """Nodule types that have to be found; empty: all."""
    uses_declaration: bool = False
    """Whether an algorithm's own declared types narrow the scope for that algorithm."""


class SizeLimit(_Written):
    """A smallest size to report, with tolerance for size error (Fotin 2008)."""

    minimum_mm: Annotated[float, Field(gt=0)]
    tolerance_mm: Annotated[float, Field(ge=0)] = 0.0
    reading: Literal["table", "strict_truth"] = "table"
    sweep_mm: tuple[Annotated[float, Field(ge=0)], ...] = ()


class TestProtocol(_Written):
    """A published or own test protocol; its digest stands in every result."""

    __test__ = False  # not a test class, whatever pytest thinks of its name

    name: str
    title: str = ""
    citation: str = ""
    reference_rule: str = ""
    rules: tuple[RuleChoice, ...] = Field(min_length=1)
    baseline_rule: str = ""
    """The rule that relative differences and flip lists start from; empty: the first."""
    assignment: Literal["published", "greedy", "optimal"] = "published"
    duplicates: Literal["published", "ignore", "false_positive"] = "published"
    ties: Literal["drop", "keep", "file_order"] = "keep"
    """What happens to marks tied across the cap."""
    mark_cap: Annotated[int, Field(ge=1)] | None = None
    unlisted_cases: Literal["error", "drop"] = "error"
    """What happens to marks of cases that are not in the test set."""
    figures: tuple[str, ...] = Field(min_length=1)
    operating_points: tuple[Annotated[float, Field(gt=0)], ...] = (0.125, 0.25, 0.5, 1, 2, 4, 8)
    """False positives per case at which sensitivity is read; their mean is the CPM."""
    interpolation: Literal["linear", "step", "luna16"] = "linear"
    fpf_points: tuple[Annotated[float, Field(gt=0, lt=1)], ...] = (0.05, 0.2)
    """Fractions of normal cases called abnormal at which correct localisation is read (LROC)."""
    score_threshold: float | None = None
    """Marks below it do not count, for tests at a fixed operating point."""
    malignancy_threshold: float = 0.5
    beta: Annotated[float, Field(gt=0)] = 1.0
    interval: IntervalChoice = IntervalChoice()
    strata: tuple[str, ...] = ()
    size_bins_mm: tuple[float, ...] = (4.0, 6.0, 10.0)
    minimum_stratum: Annotated[int, Field(ge=1)] = 10
    """Strata with fewer nodules are marked as too few."""
    scope: Scope = Scope()
    size_limit: SizeLimit | None = None
    seed: Annotated[int, Field(ge=0)] = 0

    @model_validator(mode="after")
    def _check_luna16_bootstrap(self) -> Self:
        is_official = self.interpolation == "luna16" and self.interval.unit == "case"
        if self.interval.method == "luna16" and not is_official:
            raise ValueError(
                'interval.method "luna16" goes with interpolation "luna16" and unit "case"'
            )
        return self

    @property
    def digest(self) -> str:
        """SHA-256 of the effective values (title and citation change no number)."""
        values = self.model_dump(mode="json", exclude={"title", "citation"})
        text = json.dumps(values, sort_keys=True, separators=(",", ":"))
        return "sha256:" + hashlib.sha256(text.encode()).hexdigest()


def parse_protocol(text: str, source: str) -> TestProtocol:
    """The protocol that a TOML text describes.

    Raises:
        InputError: with one problem per wrong field.
    """
    try:
        return TestProtocol.model_validate(tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        raise InputError(Problem(source, f"is not valid TOML: {error}.")) from error
    except ValidationError as error:
        raise InputError(
            Problem(
                f"{source} field '{'.'.join(str(part) for part in item['loc'])}'",
                f"{item['msg']}, got {item['input']!r}.",
            )
            for item in error.errors(include_url=False)
        ) from error


def read_protocol(path: Path) -> TestProtocol:
    """The protocol in a TOML file."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(Problem(str(path), f"cannot be read as text: {error}.")) from error
    return parse_protocol(text, str(path))
