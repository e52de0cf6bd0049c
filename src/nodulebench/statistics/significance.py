"""Significance: what a test of a hypothesis says, and the marks that figures print for it."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Significance:
    """The answer of one test."""

    method: str
    """The test by its full name, with its variant."""
    statistic: float
    p_value: float
    degrees_of_freedom: tuple[float, ...] = ()

    @property
    def mark(self) -> str:
        """``**`` for P <= 0.01, ``*`` for P <= 0.05, else ``ns``."""
        return significance_mark(self.p_value)


def significance_mark(p_value: float) -> str:
    """The mark that the NIFDC box plots print beside a P value."""
    if p_value <= 0.01:
        return "**"
    return "*" if p_value <= 0.05 else "ns"
