"""nodulebench train: the classifier of a detector, or a network, from images of known nodules."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from nodulebench.cli.options import COUNT, WHOLE, option
from nodulebench.cli.terminal import ProgressLine

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nodulebench.detection.train_network import Check, Training

METRICS = {
    "area": "area under the ROC curve",
    "sensitivity": "sensitivity",
    "places": "places in a scan",
}
FOLDER = click.Path(path_type=Path, exists=True, file_okay=False)


class _ListsNetworks(click.Command):
    """Its help ends with all networks."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        from nodulebench.detection.catalogue import known_networks

        with formatter.section("Networks"):
            formatter.write_text(", ".join(known_networks()))


@click.command("train", cls=_ListsNetworks)
@click.argument("name")
@click.option("--blocks", type=FOLDER, help="Of a detector: blocks.csv and foldN.npz.xz.")
@click.option("--reference", type=FOLDER, help="LUNA16 folder with the scans' nodules.")
@click.option("--scans", type=FOLDER, help="Of a detector: whole scans too, each as for detect.")
@click.option("--examples", multiple=True, type=FOLDER, help="Of a network: what `examples` wrote.")
@click.option(
    "--out", required=True, type=click.Path(path_type=Path), help="Weights; of a network a folder."
)
@click.option(
    "--without-fold", type=click.IntRange(0, 9), help="Leave this fold out, to test on it."
)
@click.option(
    "--folds", help="Of a network: train without each of these, such as 0,1,all; or each."
)
@option("--seed", WHOLE, 0)
@click.option("--steps", type=COUNT, help="Of a network, in place of its own number.")
@option("--schedule", ["scaled", "printed"], "scaled", "Scaled to fewer data, or the paper's.")
@click.option("--stop-by", help="Folds that are not learnt from but decide when it stops.")
@click.option("--patience", type=COUNT, help="Checks without a better one before it stops.")
@click.option(
    "--from", "start", type=click.Path(path_type=Path, exists=True), help="Weights to begin with."
)
def command(
    name: str,
    blocks: Path | None,
    reference: Path | None,
    scans: Path | None,
    examples: tuple[Path, ...],
    out: Path,
    without_fold: int | None,
    folds: str | None,
    seed: int,
    steps: int | None,
    schedule: str,
    stop_by: str | None,
    patience: int | None,
    start: Path | None,
) -> None:
    r"""Train a classifier or the network NAME.

    A classifier is that of the detector NAME (etrocad, m5l, mot_m5lv1), or second_look, which
    judges the candidates of all detectors.

    The same data and seed give the same weights. A classifier needs scikit-learn
    (pip install 'nodulebench[algorithms]'), a network PyTorch ('nodulebench[networks]').

    A network learns from folders that `nodulebench examples` wrote. For every fold that is left
    out, the folder of --out gets its weights, and the marks that they give to the fold. What was
    stopped goes on when the command is given again.

    \b
    nodulebench train mot_m5lv1 --blocks nodule_blocks/ --reference luna16/ --out mot.npz
    nodulebench train twoscale --examples blocks/ --examples scans/ --folds each --out twoscale/
    """
    from nodulebench.detection.catalogue import known_networks

    if patience is not None and stop_by is None:
        raise click.UsageError("--patience takes --stop-by too, the folds that decide.")
    if without_fold is not None and folds is not None:
        raise click.UsageError("--without-fold and --folds say the same: give one of them.")
    if name in known_networks():
        from nodulebench.detection.train_network import Wanted, prepare_training

        if not examples:
            raise click.UsageError(f"The network '{name}' takes --examples.")
        wanted = Wanted(
            steps,
            seed,
            "printed" if schedule == "printed" else "scaled",
            patience,
            _fold_numbers(stop_by),
            start,
        )
        with ProgressLine("reading examples"):
            training = prepare_training(name, examples, out, wanted)
        left_out = str(without_fold) if without_fold is not None else folds or "all"
        _train(training, training.folds if left_out == "each" else _folds(left_out))
        return
    from nodulebench.detection.train_classifier import train_classifier

    if blocks is None or reference is None:
        raise click.UsageError(f"'{name}' takes --blocks and --reference.")
    with ProgressLine("training") as line:
        given = (name, blocks, reference, out)
        found = train_classifier(
            *given, scans=scans, without_fold=without_fold, seed=seed, progress=line.tell
        )
    click.echo(
        f"trained on {len(found)} candidates, {int(found.is_nodule.sum())} of them "
        f"nodules, of {len(set(found.case))} blocks and scans; wrote {out}"
    )


def _train(training: "Training", folds: "list[int] | list[int | None]") -> None:
    from nodulebench.detection.train_network import draw_learning, train_fold

    learnt, nodules = training.candidates
    steps = training.steps
    click.echo(
        f"{learnt} candidates to learn from, {nodules} of them nodules; {_outlook(training, folds)}"
    )
    done = []
    for fold in folds:
        called = "all folds" if fold is None else f"without fold {fold}"
        with ProgressLine(called) as line:
            tell = partial(_tell, line, called, steps)
            one = train_fold(training, fold, tell)
        done.append(one)
        told = "".join(
            f"{METRICS.get(name, name)} {value:.4f}; " for name, value in one.card.metrics.items()
        )
        how = "was done before;" if one.was_done else f"{_duration(one.seconds)}; wrote"
        click.echo(f"{called}: {told}{how} {one.path}")
        if one.is_stuck:
            click.echo(
                f"warning: trained {'on ' if fold is None else ''}{called}, it has learnt nothing: "
                f"its loss never fell below that of its first steps, {one.curve[0].loss:.3f}. "
                "Train it anew with another --seed, into another folder.",
                err=True,
            )
    click.echo(f"wrote {draw_learning(training, done)}")


def _outlook(training: "Training", folds: "Sequence[int | None]") -> str:
    """What is still to do, and about how long it takes."""
    before = training.count_done(folds)
    with ProgressLine("trying a few steps"):
        seconds = training.seconds_left(folds)
    if seconds is None:
        return "all was done before"
    at_most = "at most " if training.course.held_back else ""
    told = f"{at_most}about {_duration(seconds)} for {_trainings(len(folds) - before)}"
    done = f"; {_trainings(before)} done before" if before else ""
    return f"{told} on this machine{done}"


def _trainings(count: int) -> str:
    return "1 training" if count == 1 else f"{count} trainings"


def _tell(line: ProgressLine, called: str, steps: int, check: "Check") -> None:
    line.tell(f"{called}: loss {check.loss:.3f}", check.step, steps)


def _folds(text: str | None) -> list[int | None]:
    try:
        parts = text.split(",") if text else []
        return list(dict.fromkeys(None if part == "all" else int(part) for part in parts))
    except ValueError as error:
        raise click.UsageError(f"folds are numbers or 'all', not '{text}'.") from error


def _fold_numbers(text: str | None) -> tuple[int, ...]:
    found = _folds(text)
    if None in found:
        raise click.UsageError(f"--stop-by takes numbers of folds, not '{text}'.")
    return tuple(one for one in found if one is not None)


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h" if seconds < 172_800 else f"{seconds / 86_400:.1f} days"
