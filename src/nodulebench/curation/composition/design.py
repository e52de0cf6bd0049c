"""DesignInput: what a test set shall consist of, as people write it before they collect it.

Rules look at the columns of CASES and NODULES; a design adds whatever columns its rules name.
"""

from importlib.resources import files
from math import inf
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from nodulebench.core.config_model import ConfigModel, parse_config
from nodulebench.core.errors import InputError, UnknownNameError, did_you_mean
from nodulebench.curation.admission.reasons import Limits

NAMES = ("fg-ai4h", "luna16", "nifdc-2022")
LARGEST_HALF_WIDTH = 0.1
SLACK = 1e-6
"""By how much shares may exceed 1: they are written rounded."""

TableName = Literal["cases", "nodules"]
Share = Annotated[float, Field(ge=0, le=1)]


class Span(ConfigModel):
    """A range of a number; ``below`` does not belong to it, the other bounds do."""

    at_least: float | None = None
    below: float | None = None
    at_most: float | None = None

    @property
    def has_bounds(self) -> bool:
        """Whether it leaves anything out."""
        return (self.at_least, self.below, self.at_most) != (None, None, None)

    @model_validator(mode="after")
    def _is_not_empty(self) -> Self:
        low = -inf if self.at_least is None else self.at_least
        is_empty = (self.below is not None and self.below <= low) or (
            self.at_most is not None and self.at_most < low
        )
        if is_empty:
            raise ValueError("holds no number: its lower bound lies above its upper one")
        return self


class RowFilter(Span):
    """Rows that a rule looks at: those whose column has one of these values, or lies in a range."""

    column: str
    values: tuple[str, ...] = ()
    """Accepted values, as text."""

    @model_validator(mode="after")
    def _chooses_in_one_way(self) -> Self:
        if bool(self.values) == self.has_bounds:
            raise ValueError("chooses rows by values or by a range: give one of the two")
        return self


class Bin(Span):
    """A named range of a number."""

    name: str


class CoverageRule(ConfigModel):
    """One demand on the composition; which one is told by the fields that are given."""

    name: str
    source: str = ""
    """The clause of the document that asks for it."""
    table: TableName = "cases"
    column: str | None = None
    """None: the rule counts rows."""
    where: tuple[RowFilter, ...] = ()
    is_preferred: bool = False
    """Whether missing it is a warning and not a failure."""
    minimum_rows: Annotated[int, Field(ge=1)] | None = None
    """So many rows at least."""
    minimum_distinct: Annotated[int, Field(ge=1)] | None = None
    """So many different values of the column at least."""
    values: tuple[str, ...] = ()
    """Values that must each be there."""
    bins: tuple[Bin, ...] = ()
    """Ranges that must each be there."""
    rows_each: Annotated[int, Field(ge=1)] = 1
    """In so many rows each value or range must be there."""
    shares: dict[str, Share] = Field(default_factory=dict)
    """Planned share of each value, or of each bin by its name."""
    tolerance: Share = 0.05
    """By how much a share may differ from the planned one."""
    minimum_share: Share | None = None
    """Rows of ``where`` among all rows of the table, at least."""
    is_complete: bool = False
    """Whether every row must have a value."""

    @model_validator(mode="after")
    def _asks_for_something(self) -> "CoverageRule":
        asks = (
            self.minimum_rows, self.minimum_distinct, self.values, self.bins, self.shares,
            self.minimum_share, self.is_complete,
        )  # fmt: skip
        if not any(asks):
            raise ValueError(
                "asks for nothing; give minimum_rows, minimum_distinct, values, bins, shares, "
                "minimum_share or is_complete"
            )
        needs_column = self.minimum_distinct or self.values or self.bins or self.shares
        if (needs_column or self.is_complete) and self.column is None:
            raise ValueError("needs the column that it looks at")
        return self

    @model_validator(mode="after")
    def _does_not_contradict_itself(self) -> Self:
        if self.values and self.bins:
            raise ValueError("has values and bins; give one of the two")
        if self.minimum_share is not None and not self.where:
            raise ValueError("has a minimum_share of all rows; say in where of which")
        named = self.values or tuple(bin_.name for bin_ in self.bins)
        strange = [name for name in self.shares if named and name not in named]
        if strange:
            raise ValueError(f"has a share of '{strange[0]}', which is none of {', '.join(named)}")
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
    """CT equipment and imaging parameters, as planned; coverage checks them like other rules."""

    vendors: tuple[str, ...] = ()
    tube_voltage_kv: Ends | None = None
    slice_thickness_mm: Ends | None = None
    slice_spacing_mm: Ends | None = None
    reconstruction: tuple[str, ...] = ()
    """Classes of kernels."""

    @property
    def rules(self) -> tuple[CoverageRule, ...]:
        """What the plan asks of the cases: all within it, and each named value among them."""
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
    """The record that a test set is collected to."""

    name: str = "unnamed"
    title: str = ""
    purpose: str = ""
    identification: str = ""
    """The rule that gives every case and series its unique name."""
    patients: str = ""
    """Spectrum of patients, in words."""
    equipment: Equipment = Equipment()
    rules: tuple[CoverageRule, ...] = ()
    sampling: SamplingPlan = SamplingPlan()
    expected_sensitivity: Annotated[float, Field(gt=0, lt=1)] = 0.8
    """For which the width of intervals in strata is told."""
    largest_half_width: Annotated[float, Field(gt=0, lt=0.5)] = LARGEST_HALF_WIDTH
    """A stratum whose interval would be wider, to either side, is thin."""
    strata: tuple[str, ...] = ("type", "size", "vendor")
    """Columns of NODULES or CASES whose values are strata of the analysis; ``size`` is in bins."""
    limits: Limits = Limits()
    """What a series must keep to be admitted."""

    @property
    def all_rules(self) -> tuple[CoverageRule, ...]:
        """The planned equipment and the rules."""
        return (*self.equipment.rules, *self.rules)


def load_design(name_or_file: str) -> DesignInput:
    """A published design by its name, or one's own from a TOML file.

    Raises:
        UnknownNameError: if it is neither.
        InputError: with one problem per wrong field.
    """
    if name_or_file in NAMES:
        text = files(__package__).joinpath("designs", f"{name_or_file}.toml").read_text("utf-8")
        return parse_design(text, f"design {name_or_file}")
    path = Path(name_or_file)
    if name_or_file.endswith(".toml") or path.exists():
        try:
            return parse_design(path.read_text(encoding="utf-8"), str(path))
        except (OSError, UnicodeDecodeError) as error:
            raise InputError.at(path, f"cannot be read: {error}.") from error
    hint = did_you_mean(name_or_file, NAMES)
    raise UnknownNameError(
        f"there is no design '{name_or_file}'.{hint} Published designs: "
        f"{', '.join(NAMES)}; or name a TOML file."
    )


def parse_design(text: str, source: str) -> DesignInput:
    """A design from the text of a TOML file."""
    return parse_config(DesignInput, text, source)
