"""Folders of examples + the name of a network -> weights, marks and curves, fold by fold."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np
import polars as pl

from nodulebench.core.errors import InputError, map_collecting_problems
from nodulebench.core.optional_packages import needs
from nodulebench.core.tables import PLACE
from nodulebench.detection.examples import CANDIDATES
from nodulebench.detection.held_out import NO_FOLD
from nodulebench.detection.networks import DETECTION_NETWORKS, NETWORKS, network_named
from nodulebench.detection.rescore import read_positions
from nodulebench.i18n.translator import translator
from nodulebench.io.atomic import replace_whole
from nodulebench.io.csv_files import write_csv
from nodulebench.report.charts.lines import learning_chart

if TYPE_CHECKING:
    from nodulebench.detection.networks.cross_validation import Course, Trained
    from nodulebench.detection.networks.recipe import Recipe
    from nodulebench.detection.networks.training import Check as Check

Schedule = Literal["scaled", "printed"]
PURPOSE = "training a network"
FEWEST_CHECKS = 20
"""In a training, for its curve and for what is kept of it."""


@dataclass(frozen=True)
class Wanted:
    """How a network shall be trained; None: as its recipe says."""

    steps: int | None = None
    seed: int = 0
    schedule: Schedule = "scaled"
    """Scaled to a few hundred nodules, or as the network's paper prints it."""
    patience: int | None = None
    """Checks without a better one before it stops."""
    held_back: tuple[int, ...] = ()
    """Folds that decide when it stops."""
    start: Path | None = None
    """Weights that it begins with."""


@dataclass(frozen=True, eq=False)
class Training:
    """A network and its examples, ready to be trained."""

    name: str
    course: "Course"
    places: pl.DataFrame
    """The candidates that are judged, in their order."""

    @property
    def folds(self) -> list[int]:
        """The folds that there are."""
        return sorted(set(self.course.examples.fold.tolist()) - {NO_FOLD})

    @property
    def steps(self) -> int:
        """Of one training."""
        recipe = self.course.recipe or network_named(self.name).recipe
        return recipe.steps

    @property
    def candidates(self) -> tuple[int, int]:
        """How many are learnt from, and how many of them are nodules."""
        examples = self.course.examples
        chosen = examples.learnt(self.folds)
        return len(chosen), int(examples.is_nodule[chosen].sum())

    def count_done(self, folds: Sequence[int | None]) -> int:
        """How many trainings were done before.

        Raises:
            InputError: with everything that stands against any of them.
        """
        from nodulebench.detection.networks.cross_validation import (
            planned_card,
            stem_of,
            steps_left,
        )

        def is_done(fold: int | None) -> bool:
            card = planned_card(self.name, fold, self.course)
            return steps_left(card, stem_of(self.name, fold, self.course)) is None

        return sum(map_collecting_problems(folds, is_done))

    def seconds_left(self, folds: Sequence[int | None]) -> float | None:
        """About how long the trainings that are not done will take here; None: all are done."""
        from nodulebench.detection.networks.cross_validation import seconds_left

        return seconds_left(self.name, folds, self.course)


def prepare_training(
    name: str, examples: Sequence[Path], out: Path, wanted: Wanted | None = None
) -> Training:
    """Read examples and see how a network shall learn from them.

    Args:
        name: of the network.
        examples: folders that ``examples`` wrote.
        out: folder for weights, marks and curves.
        wanted: how.

    Raises:
        InputError: if PyTorch is missing, or examples or weights cannot be used.
    """
    how = wanted or Wanted()
    with needs("networks", PURPOSE):
        from nodulebench.detection.networks.cross_validation import Course
        from nodulebench.detection.networks.examples import join_examples, read_examples
        from nodulebench.detection.networks.inference import best_device
        from nodulebench.detection.networks.weights import read_weights
    start, card = (None, None) if how.start is None else read_weights(how.start)
    if card is not None and card.network != name:
        raise InputError.at(str(how.start), f"holds weights of '{card.network}', not of '{name}'.")
    whole = join_examples([read_examples(folder) for folder in examples])
    places = pl.concat([read_positions(folder / CANDIDATES) for folder in examples])
    if places.height != int(whole.is_judged.sum()):
        raise InputError.at(CANDIDATES, "does not fit the examples.", "Make them anew.")
    course = Course(
        whole.to(best_device()),
        out,
        recipe_of(name, how),
        how.seed,
        start,
        card,
        how.held_back,
    )
    return Training(name, course, places)


def recipe_of(name: str, wanted: Wanted) -> "Recipe":
    """How a network shall learn.

    Raises:
        InputError: if its paper prints no schedule, or no fold can decide when it stops.
    """
    network = network_named(name)
    if wanted.held_back and name in DETECTION_NETWORKS:
        raise InputError.at(
            f"network '{name}'", "finds nodules itself, so that no fold can decide when it stops."
        )
    if wanted.schedule == "printed" and network.printed is None:
        printed = [one for one in NETWORKS if NETWORKS[one].printed is not None]
        raise InputError.at(
            f"network '{name}'", "has no printed schedule.", f"These have: {', '.join(printed)}."
        )
    own = network.printed if wanted.schedule == "printed" else None
    recipe = own or network.recipe
    if wanted.steps is not None:
        recipe = replace(recipe, steps=wanted.steps)
    patience = recipe.patience if wanted.patience is None else wanted.patience
    return replace(
        recipe,
        patience=patience if wanted.held_back else 0,
        check_every=max(1, min(recipe.check_every, recipe.steps // FEWEST_CHECKS)),
    )


def train_fold(
    training: Training, fold: int | None, told: "Callable[[Check], None]" = lambda _: None
) -> "Trained":
    """Train without a fold (None: without none), and write the marks of what was not learnt from.

    A training that was interrupted goes on; one that is done is kept. A network that finds nodules
    gets no marks here: examples do not tell where in a patient their scans lie.
    """
    from nodulebench.detection.networks.cross_validation import train_without

    done = train_without(training.name, fold, training.course, told)
    if training.name in DETECTION_NETWORKS:
        return done
    stem = done.path.with_suffix("")
    examples = training.course.examples
    with np.load(stem.with_name(f"{stem.name}.npz"), allow_pickle=False) as kept:
        chosen, score = kept["chosen"], kept["score"]
    fold_of = examples.fold.cpu().numpy()[examples.which.cpu().numpy()[chosen]]
    own = fold_of == (NO_FOLD if fold is None else fold)
    row = np.cumsum(examples.is_judged.cpu().numpy())[chosen[own]] - 1
    x_mm, y_mm, z_mm = (pl.col(one) for one in PLACE)
    marks = training.places[row].select(seriesuid="case_id", coordX=x_mm, coordY=y_mm, coordZ=z_mm)
    write_csv(
        marks.with_columns(probability=pl.Series(score[own].astype(np.float64))),
        stem.with_name(f"{stem.name}.csv"),
    )
    return done


def draw_learning(training: Training, done: "Sequence[Trained]") -> Path:
    """A picture of how the loss fell in each training, and how the area rose of folds held back."""
    losses = {one.fold: [(check.step, check.loss) for check in one.curve] for one in done}
    areas = {
        one.fold: [(at.step, at.area) for at in one.curve if at.area is not None and at.area >= 0]
        for one in done
    }
    path = training.course.out / f"{training.name}.svg"
    replace_whole(path, learning_chart(training.name, losses, areas, translator()).encode())
    return path
