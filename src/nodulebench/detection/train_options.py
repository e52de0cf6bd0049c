"""The options of training, for classifiers and networks."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

Schedule = Literal["scaled", "printed"]


@dataclass(frozen=True, kw_only=True)
class TrainOptions:
    """How a classifier or a network is trained."""

    blocks: Path | None = None
    """Of a classifier: folder with blocks.csv and the folds."""
    reference: Path | None = None
    """Of a classifier: LUNA16 folder with the nodules of the scans."""
    scans: Path | None = None
    """Of a classifier: folder of whole scans."""
    examples: tuple[Path, ...] = ()
    """Of a network: folders that ``examples`` wrote."""
    without_fold: int | None = None
    """A fold that is left out for testing."""
    folds: tuple[int | None, ...] | Literal["each"] = (None,)
    """Of a network: one training without each of these folds; None: on all folds."""
    seed: int = 0
    steps: int | None = None
    """None: as the network's recipe says."""
    schedule: Schedule = "scaled"
    """Scaled to a few hundred nodules, or as the network's paper prints it."""
    held_back: tuple[int, ...] = ()
    """Folds that decide when a network stops."""
    patience: int | None = None
    """Checks without a better one before it stops; None: as the network's recipe says."""
    start: Path | None = None
    """Weights that a network begins with."""

    def folds_left_out(self, known: Sequence[int]) -> list[int | None]:
        """The fold that each training of a network leaves out; None: none."""
        if self.without_fold is not None:
            return [self.without_fold]
        return list(known) if self.folds == "each" else list(self.folds)
