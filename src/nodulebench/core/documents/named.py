"""What a comparison names: algorithms of equal intended use, nodules that one of two missed."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class UseGroup:
    """Algorithms that are meant for the same."""

    use: str
    """What they are meant for, as the first of them says it; empty: not stated."""
    types: tuple[str, ...]
    """The nodule types that they are declared for; none: all."""
    algorithms: tuple[str, ...]
    """Their names."""


@dataclass(frozen=True, slots=True)
class MissedNodule:
    """A nodule by its names."""

    case_id: str
    nodule_id: str
    diameter_mm: float | None
    """Null where nobody measured it."""


@dataclass(frozen=True, slots=True)
class MissedAlone:
    """The nodules that one of two algorithms missed, the largest first."""

    algorithm: tuple[MissedNodule, ...]
    """Missed by the algorithm, found by the baseline."""
    baseline: tuple[MissedNodule, ...]
    """Missed by the baseline, found by the algorithm."""
