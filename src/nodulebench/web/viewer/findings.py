"""What a reader says of one place in a scan: outlines on slices or a point, and what it looks like.

Millimetres are LPS, as everywhere. Nothing measured stands here: that follows from the outlines.
"""

from typing import Annotated, Literal, Self

import numpy as np
from pydantic import Field, FiniteFloat, model_validator

from nodulebench.annotation.observer_study.calls import Call
from nodulebench.core.config_model import Written
from nodulebench.imaging.geometry import FARTHEST_MM
from nodulebench.imaging.rasters import DrawnOutline

Millimetre = Annotated[FiniteFloat, Field(ge=-FARTHEST_MM, le=FARTHEST_MM)]
Point = tuple[Millimetre, Millimetre]
Place = tuple[Millimetre, Millimetre, Millimetre]
Rating = Annotated[int, Field(ge=1, le=5)]
Colleague = Annotated[str, Field(min_length=1, max_length=64)]
MOST_CORNERS = 2_000
LONGEST_COMMENT = 2_000


class OutlinedSlice(Written):
    """A closed outline on one slice."""

    slice_index: int = Field(ge=0)
    """0-based from the feet."""
    outline: Annotated[tuple[Point, ...], Field(min_length=3, max_length=MOST_CORNERS)]
    """Corners x, y in mm; the last joins the first."""

    @property
    def as_drawn(self) -> DrawnOutline:
        """The same, as the geometry of outlines has it."""
        return DrawnOutline(self.slice_index, np.array(self.outline, dtype=np.float64))


class Ruler(Written):
    """A long axis, and a short one across it, that a reader laid on a slice."""

    slice_index: int = Field(ge=0)
    long: tuple[Point, Point]
    short: tuple[Point, Point] | None = None


class Finding(Written):
    """One finding, as it stands now."""

    kind: Call = "nodule"
    place_mm: Place
    """Where the reader pointed at; a finding without outlines lies there."""
    slices: tuple[OutlinedSlice, ...] = ()
    ruler: Ruler | None = None
    type: (
        Literal[
            "solid",
            "part_solid",
            "pure_ground_glass",
            "calcified",
            "pleural",
            "pleural_calcified",
        ]
        | None
    ) = None
    density: Literal["solid", "part_solid", "ground_glass", "calcified"] | None = None
    malignancy: Rating | None = None
    subtlety: Rating | None = None
    is_near_vessel: bool | None = None
    is_near_cavity: bool | None = None
    comment: Annotated[str, Field(max_length=LONGEST_COMMENT)] = ""
    answer: Literal["yes", "no"] | None = None
    """What a reviewer or an arbitrator says of a candidate: whether to agree, or that it is one."""
    call: Call | None = None
    """What a reader of an observer study calls a place."""
    discussed_with: Annotated[tuple[Colleague, ...], Field(max_length=20)] = ()

    @model_validator(mode="after")
    def _one_outline_a_slice(self) -> Self:
        numbers = [one.slice_index for one in self.slices]
        if len(set(numbers)) < len(numbers):
            raise ValueError("a slice has two outlines")
        return self

    @property
    def last_slice(self) -> int:
        """The highest slice that it lies on; -1: none."""
        told = [one.slice_index for one in self.slices]
        return max([*told, *([self.ruler.slice_index] if self.ruler else [])], default=-1)
