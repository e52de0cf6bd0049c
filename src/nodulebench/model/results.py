"""What we compute: Estimate, Curve, Evaluation. Frozen; nothing is cached on them."""

from dataclasses import dataclass, field
from typing import Any

import polars as pl

from nodulebench.model.arrays import FloatArray


@dataclass(frozen=True, slots=True)
class Estimate:
    """A figure of merit with its interval; undefined is ``None`` with the reason, never 0."""

    value: float | None
    low: float | None = None
    high: float | None = None
    level: float | None = None
    method: str = ""
    reason: str = ""
    mean: float | None = None
    """Mean of the bootstrap replicates, where there are any."""
    others: dict[str, tuple[float, float]] = field(default_factory=dict)
    """Intervals by other methods: their name -> (low, high)."""

    def to_json(self) -> dict[str, Any]:
        """The estimate as it stands in evaluation.json: what is empty is left out."""
        if self.value is None:
            return {"value": None, "reason": self.reason}
        shown: dict[str, Any] = {"value": self.value}
        for name in ("low", "high", "mean", "level"):
            number = getattr(self, name)
            if number is not None:
                shown[name] = number
        if self.method:
            shown["method"] = self.method
        if self.others:
            shown["others"] = {name: list(bounds) for name, bounds in self.others.items()}
        if self.reason:
            shown["reason"] = self.reason
        return shown


@dataclass(frozen=True, slots=True)
class Curve:
    """A curve by its points: what lies on each axis, and the score threshold of each point."""

    name: str
    x_name: str
    y_name: str
    x: FloatArray
    y: FloatArray
    threshold: FloatArray

    def table(self, algorithm: str, rule: str) -> pl.DataFrame:
        """The curve as rows of curves.parquet."""
        return pl.DataFrame({"x": self.x, "y": self.y, "threshold": self.threshold}).select(
            pl.lit(algorithm).alias("algorithm"),
            pl.lit(rule).alias("rule"),
            pl.lit(self.name).alias("curve"),
            "x",
            "y",
            "threshold",
        )
