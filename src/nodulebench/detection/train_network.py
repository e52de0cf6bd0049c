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
from nodulebench.report.line_charts import learning_chart

if TYPE_CHECKING:
    from nodulebench.detection.networks.cross_validation import Course, Trained
    from nodulebench.detection.networks.recipe import Recipe
    from nodulebench.detection.networks.training import Check as Check


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


PURPOSE = "training a network"
FEWEST_CHECKS = 20
"""In a training, for its curve and for the choice of its result."""


@dataclass(frozen=True, eq=False)
class Training:
    """A network and its examples, ready to be trained."""

    name: str
    course: "Course"
    places: pl.DataFrame
    """The candidates to be scored, in their order."""

    @property
    def folds(self) -> list[int]:
        return sorted(set(self.course.examples.fold.tolist()) - {NO_FOLD})

    @property
    def steps(self) -> int:
        recipe = self.course.recipe or network_named(self.name).recipe
        return recipe.steps

    @property
    def candidates(self) -> tuple[int, int]:
        examples = self.course.examples
        chosen = examples.training_candidates(self.folds)
        return len(chosen), int(examples.is_nodule[chosen].sum())

    def count_done(self, folds: Sequence[int | None]) -> int:
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


def prepare_training(name: str, out: Path, options: TrainOptions) -> Training:
    with needs("networks", PURPOSE):
        from nodulebench.detection.networks.cross_validation import Course
        from nodulebench.detection.networks.examples import join_examples, read_examples
        from nodulebench.detection.networks.inference import best_device
        from nodulebench.detection.networks.weights import read_weights
    start, card = (None, None) if options.start is None else read_weights(options.start)
    if card is not None and card.network != name:
        raise InputError.at(
            str(options.start), f"holds weights of '{card.network}', not of '{name}'."
        )
    whole = join_examples([read_examples(folder) for folder in options.examples])
    places = pl.concat([read_positions(folder / CANDIDATES) for folder in options.examples])
    if places.height != int(whole.is_scored.sum()):
        raise InputError.at(CANDIDATES, "does not fit the examples.", "Make them again.")
    course = Course(
        whole.to(best_device()),
        out,
        recipe_of(name, options),
        options.seed,
        start,
        card,
        options.held_back,
    )
    return Training(name, course, places)


def recipe_of(name: str, options: TrainOptions) -> "Recipe":
    """How a network is trained; refused without the printed schedule asked for."""
    network = network_named(name)
    if options.held_back and name in DETECTION_NETWORKS:
        raise InputError.at(
            f"network '{name}'", "finds nodules itself, so that no fold can decide when it stops."
        )
    if options.schedule == "printed" and network.printed is None:
        known = [other for other in NETWORKS if NETWORKS[other].printed is not None]
        raise InputError.at(
            f"network '{name}'", "has no printed schedule.", f"These have: {', '.join(known)}."
        )
    own = network.printed if options.schedule == "printed" else None
    recipe = own or network.recipe
    if options.steps is not None:
        recipe = replace(recipe, steps=options.steps)
    patience = recipe.patience if options.patience is None else options.patience
    return replace(
        recipe,
        patience=patience if options.held_back else 0,
        check_every=max(1, min(recipe.check_every, recipe.steps // FEWEST_CHECKS)),
    )


def train_fold(
    training: Training, fold: int | None, progress: "Callable[[Check], None]" = lambda _: None
) -> "Trained":
    """Train without a fold (None: on all), and write the marks of the scans that were left out.

    An interrupted training is continued; a finished one is not repeated. A network that finds
    nodules gets no marks here: examples do not hold the positions of their scans in patients.
    """
    from nodulebench.detection.networks.cross_validation import train_without

    done = train_without(training.name, fold, training.course, progress)
    if training.name in DETECTION_NETWORKS:
        return done
    stem = done.path.with_suffix("")
    examples = training.course.examples
    with np.load(stem.with_name(f"{stem.name}.npz"), allow_pickle=False) as stored:
        chosen, score = stored["chosen"], stored["score"]
    fold_of = examples.fold.cpu().numpy()[examples.which.cpu().numpy()[chosen]]
    own = fold_of == (NO_FOLD if fold is None else fold)
    row = np.cumsum(examples.is_scored.cpu().numpy())[chosen[own]] - 1
    x_mm, y_mm, z_mm = (pl.col(axis) for axis in PLACE)
    marks = training.places[row].select(seriesuid="case_id", coordX=x_mm, coordY=y_mm, coordZ=z_mm)
    write_csv(
        marks.with_columns(probability=pl.Series(score[own].astype(np.float64))),
        stem.with_name(f"{stem.name}.csv"),
    )
    return done


def draw_learning_curve(training: Training, done: "Sequence[Trained]") -> Path:
    """Draw the loss of each training and the area under the ROC curve of held-back folds."""
    losses = {
        trained.fold: [(check.step, check.loss) for check in trained.curve] for trained in done
    }
    areas = {
        trained.fold: [
            (at.step, at.area) for at in trained.curve if at.area is not None and at.area >= 0
        ]
        for trained in done
    }
    path = training.course.out / f"{training.name}.svg"
    replace_whole(path, learning_chart(training.name, losses, areas, translator()).encode())
    return path
