"""What a series must keep to be admitted: the ``[limits]`` of a design file, with defaults."""

import tomllib
from collections.abc import Iterable
from difflib import get_close_matches
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from nodulebench.errors import InputError, Problem


class Limits(BaseModel):
    """The limits of admission; lengths in mm, areas and volumes of lung in the image."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    smallest_matrix: int = Field(512, ge=1)
    """Rows and columns that a slice must have at least (ITU FG-AI4H)."""
    largest_thickness_mm: float = Field(3.0, gt=0)
    """Slices may be this thick (LUNA16 leaves out scans above 3 mm)."""
    fewest_slices: int = Field(20, ge=2)
    """Slices that a scan of a chest must have at least."""
    spacing_tolerance_mm: float = Field(0.05, ge=0)
    """How far a slice may be from its place: headers round positions to a hundredth or so."""
    largest_tilt_degrees: float = Field(1.0, ge=0)
    """How far slices may be tilted against the table."""
    largest_obliquity_degrees: float = Field(20.0, ge=0)
    """How far from axial slices may be turned."""
    smallest_lung_ml: float = Field(500.0, ge=0)
    """Lung that a chest must show at least; one lung is enough."""
    largest_end_share: float = Field(0.1, ge=0, le=1)
    """How much of its widest cross-section the lung may still have on the first or last slice."""
    largest_cut_mm: float = Field(10.0, ge=0)
    """Along how much of the body the field of view may cut the lungs."""
    near_duplicate_similarity: float = Field(0.84, gt=0.5, le=1)
    """From this share of equal bits on, two perceptual hashes are those of one scan."""
    waived: tuple[str, ...] = ()
    """Codes that do not exclude a series; they are still told."""

    @field_validator("waived")
    @classmethod
    def _codes_are_known(cls, waived: tuple[str, ...]) -> tuple[str, ...]:
        from nodulebench.curate.checks import CHECKS  # here: they look at limits themselves
        from nodulebench.curate.duplicates import DUPLICATE_CODES

        known = [*CHECKS, *DUPLICATE_CODES]
        strange = [one for one in waived if one not in known]
        wrong = [f"there is no code '{one}'{_near(one, known)}" for one in strange]
        if wrong:
            raise ValueError("; ".join(wrong))
        return waived


def read_limits(path: Path | None) -> Limits:
    """The limits of a design file; what it does not say keeps its default.

    Raises:
        InputError: if the file is no TOML, a part of it is unknown to designs, or a limit is
            unknown or out of range.
    """
    if path is None:
        return Limits()
    try:
        design = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise InputError(Problem(str(path), f"cannot be read as TOML ({error}).")) from error
    from nodulebench.curate.design import DesignInput  # here: a design has limits

    known = list(DesignInput.model_fields)
    problems = [
        Problem(f"{path.name} {one}", f"is no part of a design{_near(one, known)}.")
        for one in design
        if one not in known
    ]
    try:
        limits = Limits.model_validate(design.get("limits", {}))
    except ValidationError as error:
        problems += [
            Problem(
                f"{path.name} {'.'.join(map(str, ('limits', *one['loc'])))}",
                f"{one['msg'].removeprefix('Value error, ')}.",
                f"Known: {', '.join(Limits.model_fields)}.",
            )
            for one in error.errors()
        ]
    if problems:
        raise InputError(problems)
    return limits


def _near(name: str, known: Iterable[str]) -> str:
    near = get_close_matches(name, list(known), n=1)
    return f" (did you mean '{near[0]}'?)" if near else ""
