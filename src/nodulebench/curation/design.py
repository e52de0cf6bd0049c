"""DesignInput: the planned composition of a test set, written before it is collected.

Rules refer to columns of CASES and NODULES; a design can name any additional columns.
"""

from importlib.resources import files
from math import inf
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from nodulebench.core.config_model import ConfigModel, parse_config
from nodulebench.core.errors import InputError, UnknownNameError, did_you_mean
from nodulebench.curation.admission_checks import Limits

NAMES = ("fg-ai4h", "luna16", "nifdc-2022")
LARGEST_HALF_WIDTH = 0.1
SLACK = 1e-6
"""How far the sum of shares may exceed 1: shares are written rounded."""

TableName = Literal["cases", "nodules"]
Share = Annotated[float, Field(ge=0, le=1)]


class Span(ConfigModel):
    """A range of numbers; it excludes ``below`` and includes the other bounds."""

    at_least: float | None = None
    below: float | None = None
    at_most: float | None = None

    @property
    def has_bounds(self) -> bool:
        return (self.at_least, self.below, self.at_most) != (None, None, None)

    @model_validator(mode="after")
    def _is_not_empty(self) -> Self:
        low = -inf if self.at_least is None else self.at_least
        is_empty = (self.below is not None and self.below <= low) or (
            self.at_most is not None and self.at_most < low
        )
        if is_empty:
            raise ValueError("holds no number: its lower bound is above its upper one")
        return self


class RowFilter(Span):
    """Rows to which a rule applies: their column has one of these values, or is in a range."""

    column: str
    values: tuple[str, ...] = ()
    """Accepted values, as text."""

    @model_validator(mode="after")
    def _has_values_or_range(self) -> Self:
        if bool(self.values) == self.has_bounds:
            raise ValueError("chooses rows by values or by a range: give one of the two")
        return self


class Bin(Span):
    """A named range of a number."""

    name: str


class CoverageRule(ConfigModel):
    """One requirement on the composition; the given fields define which."""

    name: str
    source: str = ""
    """The clause of the document that requires it."""
    table: TableName = "cases"
    column: str | None = None
    """None: the rule counts rows."""
    where: tuple[RowFilter, ...] = ()
    is_preferred: bool = False
    """Whether not meeting it is a warning and not a failure."""
    minimum_rows: Annotated[int, Field(ge=1)] | None = None
    """At least this many rows."""
    minimum_distinct: Annotated[int, Field(ge=1)] | None = None
    """At least this many different values of the column."""
    values: tuple[str, ...] = ()
    """Values that must all occur."""
    bins: tuple[Bin, ...] = ()
    """Ranges that must all occur."""
    rows_each: Annotated[int, Field(ge=1)] = 1
    """In how many rows each value or range must occur."""
    shares: dict[str, Share] = Field(default_factory=dict)
    """Planned share of each value, or of each bin by its name."""
    tolerance: Share = 0.05
    """How far a share may differ from the planned one."""
    minimum_share: Share | None = None
    """Least share of the rows of ``where`` among all rows of the table."""
    is_complete: bool = False
    """Whether every row must have a value."""

    @model_validator(mode="after")
    def _has_a_requirement(self) -> "CoverageRule":
        asks = (
            self.minimum_rows, self.minimum_distinct, self.values, self.bins, self.shares,
            self.minimum_share, self.is_complete,
        )  # fmt: skip
        if not any(asks):
            raise ValueError(
                "requires nothing; give minimum_rows, minimum_distinct, values, bins, shares, "
                "minimum_share or is_complete"
            )
        needs_column = self.minimum_distinct or self.values or self.bins or self.shares
        if (needs_column or self.is_complete) and self.column is None:
            raise ValueError("needs a column")
        return self

    @model_validator(mode="after")
    def _is_consistent(self) -> Self:
        if self.values and self.bins:
            raise ValueError("has values and bins; give one of the two")
        if self.minimum_share is not None and not self.where:
            raise ValueError(
                "has a minimum_share, which needs a `where` clause that selects the rows"
            )
        named = self.values or tuple(bin_.name for bin_ in self.bins)
        strange = [name for name in self.shares if named and name not in named]
        if strange:
            raise ValueError(
                f"has a share of '{strange[0]}', which is not one of {', '.join(named)}"
            )
        if not self.bins and sum(self.shares.values()) > 1 + SLACK:
            raise ValueError(f"has shares that add up to {sum(self.shares.values()):g}")
        return self


def _rising(ends: tuple[float, float]) -> tuple[float, float]:
    if ends[0] > ends[1]:
        raise ValueError("is a range from its smaller to its larger end")
    return ends


Ends = Annotated[tuple[float, float], AfterValidator(_rising)]
"""Smallest and largest value; both belong to the range."""


class Equipment(ConfigModel):
    """Planned CT equipment and imaging parameters; coverage checks them like other rules."""

    vendors: tuple[str, ...] = ()
    tube_voltage_kv: Ends | None = None
    slice_thickness_mm: Ends | None = None
    slice_spacing_mm: Ends | None = None
    reconstruction: tuple[str, ...] = ()
    """Classes of kernels."""

    @property
    def rules(self) -> tuple[CoverageRule, ...]:
        """The rules of the plan: all cases are within it, and each named value occurs."""
        named = {"vendor": self.vendors, "kernel_class": self.reconstruction}
        spans = {
            "tube_voltage_kv": self.tube_voltage_kv,
            "slice_thickness_mm": self.slice_thickness_mm,
            "spacing_z_mm": self.slice_spacing_mm,
        }
        wheres = {
            column: RowFilter(column=column, values=values)
            for column, values in named.items()
            if values
        }
        wheres |= {
            column: RowFilter(column=column, at_least=span[0], at_most=span[1])
            for column, span in spans.items()
            if span is not None
        }
        return tuple(
            CoverageRule(
                name=f"planned {column.replace('_', ' ')}",
                source="equipment",
                column=column,
                where=(where,),
                values=where.values,
                minimum_share=1.0,
            )
            for column, where in wheres.items()
        )


class SamplingPlan(ConfigModel):
    """How cases are drawn from the pool."""

    shares: dict[str, dict[str, Share]] = Field(default_factory=dict)
    """For each column of CASES the planned share of each of its values; columns are crossed."""
    is_one_per_patient: bool = True
    """Whether at most one series of a patient is drawn."""


class DesignInput(ConfigModel):
    """The plan of a test set."""

    name: str = "unnamed"
    title: str = ""
    purpose: str = ""
    identification: str = ""
    """The rule by which every case and series gets a unique name."""
    patients: str = ""
    """Spectrum of patients, as text."""
    equipment: Equipment = Equipment()
    rules: tuple[CoverageRule, ...] = ()
    sampling: SamplingPlan = SamplingPlan()
    expected_sensitivity: Annotated[float, Field(gt=0, lt=1)] = 0.8
    """The sensitivity for which the width of intervals in strata is computed."""
    largest_half_width: Annotated[float, Field(gt=0, lt=0.5)] = LARGEST_HALF_WIDTH
    """A stratum whose interval would extend further to one side is thin."""
    strata: tuple[str, ...] = ("type", "size", "vendor")
    """Columns of NODULES or CASES whose values are strata of the analysis; ``size`` is in bins."""
    limits: Limits = Limits()
    """The limits of admission."""

    @property
    def all_rules(self) -> tuple[CoverageRule, ...]:
        return (*self.equipment.rules, *self.rules)


def load_design(name_or_file: str) -> DesignInput:
    """A published design by its name, or a design from a TOML file."""
    if name_or_file in NAMES:
        text = files(__package__).joinpath(f"design-{name_or_file}.toml").read_text("utf-8")
        return parse_design(text, f"design {name_or_file}")
    path = Path(name_or_file)
    if name_or_file.endswith(".toml") or path.exists():
        try:
            return parse_design(path.read_text(encoding="utf-8"), str(path))
        except (OSError, UnicodeDecodeError) as error:
            raise InputError.at(path, f"cannot be read: {error}.") from error
    hint = did_you_mean(name_or_file, NAMES)
    raise UnknownNameError(
        f"'{name_or_file}' is not a design.{hint} Published designs: "
        f"{', '.join(NAMES)}; or name a TOML file."
    )


def parse_design(text: str, source: str) -> DesignInput:
    return parse_config(DesignInput, text, source)
