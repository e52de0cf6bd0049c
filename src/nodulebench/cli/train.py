"""nodulebench train: the classifier of a detector, or a network, from images of known nodules."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from nodulebench.cli.options import COUNT, EXISTING, EXISTING_FOLDER, WHOLE, call_with, option
from nodulebench.cli.terminal import ProgressLine, print_done

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nodulebench.detection.train_network import Check, Training

METRICS = {
    "area": "area under the ROC curve",
    "sensitivity": "sensitivity",
    "places": "places in a scan",
}


class _Folds(click.ParamType[Any]):
    """Numbers of folds, separated by commas; with ``has_all`` also 'all' (None), or only 'each'."""

    name = "text"

    def __init__(self, *, has_all: bool) -> None:
        self.has_all = has_all

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[int | None, ...] | str:
        if not isinstance(value, str):
            return tuple(value)
        if self.has_all and value == "each":
            return value
        try:
            return tuple(dict.fromkeys(self._number(part) for part in value.split(",")))
        except ValueError:
            known = "numbers or 'all'" if self.has_all else "numbers"
            self.fail(f"folds are {known}, not '{value}'.", param, ctx)

    def _number(self, part: str) -> int | None:
        return None if self.has_all and part == "all" else int(part)


class _ListsNetworks(click.Command):
    """Its help ends with all networks."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        from nodulebench.detection.catalogue import known_networks

        with formatter.section("Networks"):
            formatter.write_text(", ".join(known_networks()))


@click.command("train", cls=_ListsNetworks)
@click.argument("name")
@click.option(
    "--blocks", type=EXISTING_FOLDER, help="Folder of image blocks: blocks.csv and foldN.npz.xz."
)
@click.option("--reference", type=EXISTING_FOLDER, help="Test set: a LUNA16 folder.")
@click.option(
    "--images", "scans", type=EXISTING_FOLDER, help="Folder of scans, to train a detector on too."
)
@click.option(
    "--examples",
    multiple=True,
    type=EXISTING_FOLDER,
    help="Folder that `examples` wrote; may be repeated.",
)
@click.option(
    "--out",
    required=True,
    type=click.Path(path_type=Path),
    help="File for the weights; a folder for a network.",
)
@click.option(
    "--without-fold", type=click.IntRange(0, 9), help="Fold to leave out of a detector's training."
)
@option(
    "--without-folds",
    _Folds(has_all=True),
    (None,),
    "Folds to leave out in turn, such as 0,1,all, or each.",
    to="folds",
    show_default=False,
)
@option("--seed", WHOLE, 0, "Random seed.")
@click.option("--steps", type=COUNT, help="Number of training steps of a network.")
@option(
    "--schedule",
    ["scaled", "printed"],
    "scaled",
    "Schedule: scaled to your data, or as printed in the paper.",
)
@option(
    "--stop-by",
    _Folds(has_all=False),
    (),
    "Folds that are not trained on, and decide when to stop.",
    to="held_back",
    show_default=False,
)
@click.option(
    "--patience", type=COUNT, help="Number of checks without improvement before training stops."
)
@click.option("--start-from", "start", type=EXISTING, help="Weights to start from.")
def command(name: str, out: Path, **given: object) -> None:
    r"""Train the classifier or network NAME.

    A classifier is that of the detector NAME (etrocad, m5l, mot_m5lv1), or second_look, the
    false-positive reduction for the candidates of all detectors.

    The same data and seed give the same weights. A classifier needs scikit-learn
    (pip install 'nodulebench[algorithms]'), a network PyTorch ('nodulebench[networks]').

    A network is trained on folders that `nodulebench examples` wrote. For every fold that is left
    out, the folder of --out gets its weights and their marks on the fold. Give the command again
    to continue an interrupted training.

    \b
    nodulebench train mot_m5lv1 --blocks nodule_blocks/ --reference luna16/ --out mot.npz
    nodulebench train twoscale --examples blocks/ --without-folds each --out twoscale/
    """
    from nodulebench.detection.catalogue import known_networks
    from nodulebench.detection.train_network import TrainOptions

    options = call_with(TrainOptions, given)
    if options.patience is not None and not options.held_back:
        raise click.UsageError("--patience takes --stop-by too, the folds that decide.")
    if options.without_fold is not None and options.folds != (None,):
        raise click.UsageError(
            "--without-fold and --without-folds mean the same: give one of them."
        )
    if name in known_networks():
        from nodulebench.detection.train_network import prepare_training

        if not options.examples:
            raise click.UsageError(f"The network '{name}' takes --examples.")
        with ProgressLine("reading examples"):
            training = prepare_training(name, out, options)
        _train(training, options.folds_left_out(training.folds))
        return
    from nodulebench.detection.train_classifier import train_classifier

    if options.blocks is None or options.reference is None:
        raise click.UsageError(f"'{name}' takes --blocks and --reference.")
    with ProgressLine("training") as line:
        examples = train_classifier(
            name,
            options.blocks,
            options.reference,
            out,
            scans=options.scans,
            without_fold=options.without_fold,
            seed=options.seed,
            progress=line.tell,
        )
    click.echo(
        f"trained on {len(examples)} candidates, {int(examples.is_nodule.sum())} of them "
        f"nodules, of {len(set(examples.case))} blocks and scans; wrote {out}"
    )


def _train(training: "Training", folds: "list[int] | list[int | None]") -> None:
    from nodulebench.detection.train_network import draw_learning_curve, train_fold

    candidates, nodules = training.candidates
    steps = training.steps
    click.echo(
        f"{candidates} candidates to train on, {nodules} of them nodules; "
        f"{_outlook(training, folds)}"
    )
    done = []
    for fold in folds:
        called = "all folds" if fold is None else f"without fold {fold}"
        with ProgressLine(called) as line:
            tell = partial(_tell, line, called, steps)
            trained = train_fold(training, fold, tell)
        done.append(trained)
        metrics = "".join(
            f"{METRICS.get(name, name)} {value:.4f}; "
            for name, value in trained.card.metrics.items()
        )
        how = "was done before;" if trained.was_done else f"{_duration(trained.seconds)}; wrote"
        click.echo(f"{called}: {metrics}{how} {trained.path}")
        if trained.is_stuck:
            click.echo(
                f"warning: trained {'on ' if fold is None else ''}{called}, it learned nothing: "
                f"its loss never fell below that of its first steps, {trained.curve[0].loss:.3f}. "
                "Train it again with another --seed, into another folder.",
                err=True,
            )
    print_done(f"wrote {draw_learning_curve(training, done)}")


def _outlook(training: "Training", folds: "Sequence[int | None]") -> str:
    """What is still to do, and about how long it takes."""
    before = training.count_done(folds)
    with ProgressLine("trying a few steps"):
        seconds = training.seconds_left(folds)
    if seconds is None:
        return "all was done before"
    at_most = "at most " if training.course.held_back else ""
    outlook = f"{at_most}about {_duration(seconds)} for {_trainings(len(folds) - before)}"
    done = f"; {_trainings(before)} done before" if before else ""
    return f"{outlook} on this machine{done}"


def _trainings(count: int) -> str:
    return "1 training" if count == 1 else f"{count} trainings"


def _tell(line: ProgressLine, called: str, steps: int, check: "Check") -> None:
    line.tell(f"{called}: loss {check.loss:.3f}", check.step, steps)


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h" if seconds < 172_800 else f"{seconds / 86_400:.1f} days"
