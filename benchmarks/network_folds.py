"""Networks, each fold scored by one that never saw it; needs only numpy, torch and safetensors.

``python benchmarks/network_folds.py OUT EXAMPLES... --networks twoscale --folds 0,1,all`` runs on
any machine that has ``src/`` next to it, with or without a GPU. OUT holds weights, learning curves
and probabilities afterwards; a run that was interrupted is taken up again.
"""

import argparse
import sys
import time
from dataclasses import replace
from pathlib import Path
from statistics import median

import torch

sys.path.insert(0, str(Path(__file__).parents[1] / "src"))

from nodulebench.detection.networks import NETWORKS, network_named
from nodulebench.detection.networks.cross_validation import Course, train_without
from nodulebench.detection.networks.examples import Examples, join_examples, read_examples
from nodulebench.detection.networks.inference import fold_layers, score_candidates
from nodulebench.detection.networks.network import parameter_count
from nodulebench.detection.networks.recipe import Recipe
from nodulebench.detection.networks.training import patches_a_second
from nodulebench.detection.networks.weights import read_weights

CHECKS = 20
"""In a training."""
SCORED = 1000
ROUNDS = 3
"""In which a network's speed is measured, with and without patches to cut, by turns."""


def recipe_of(name: str, steps: int | None, average: float | None) -> Recipe:
    """A network's own recipe, with as many steps as wanted."""
    own = network_named(name).recipe
    count = steps or own.steps
    share = own.average if average is None else average
    return replace(own, steps=count, average=share, check_every=max(1, count // CHECKS))


def print_fold(name: str, fold: int | None, course: Course) -> None:
    """Train without a fold, and print how well and how fast that went."""
    done = train_without(name, fold, course)
    how = course.recipe or network_named(name).recipe
    module, _ = read_weights(done.path)
    rate = how.steps * how.batch / done.seconds if done.seconds else 0.0
    cells = (
        name,
        f"{parameter_count(module):,}",
        "all" if fold is None else fold,
        ", ".join(f"{key} {value:.4f}" for key, value in done.card.metrics.items()),
        f"{done.curve[-1].loss:.4f}" if done.curve else "",
        f"{done.seconds:.1f}",
        f"{rate:.0f}",
    )
    print(f"| {' | '.join(map(str, cells))} |", flush=True)


def print_share(name: str, examples: Examples, course: Course) -> None:
    """Print how fast the network learns, and the same steps on patches that are ready."""
    network = network_named(name)
    how = course.recipe or network.recipe
    rates: dict[bool, list[float]] = {True: [], False: []}
    for is_cut in (True, False) * ROUNDS:
        rates[is_cut].append(patches_a_second(network, examples, how, is_cut=is_cut))
    cut, ready = median(rates[True]), median(rates[False])
    cells = (name, f"{cut:,.0f}", f"{ready:,.0f}", f"{100 * cut / ready:.0f} %")
    print(f"share | {' | '.join(cells)} |", flush=True)


def print_scoring(name: str, examples: Examples, course: Course) -> None:
    """Print how long it takes to score candidates of one scan, the second time."""
    network = NETWORKS[name]
    which = int(examples.which.bincount().argmax())
    chosen = torch.nonzero(examples.which == which)[:SCORED, 0]
    weights = sorted(course.out.glob(f"{name}-*.safetensors"))
    module = fold_layers(read_weights(weights[0])[0])
    for _ in range(3):
        begin = time.perf_counter()
        score_candidates(module, network, examples, chosen).cpu()
        seconds = time.perf_counter() - begin
    print(f"\n{name}: {len(chosen)} candidates of a scan in {seconds:.3f} s\n", flush=True)


def main() -> None:
    """Print areas under the ROC curve of candidates, network by network and fold by fold."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("examples", type=Path, nargs="+")
    parser.add_argument("--networks", default=",".join(NETWORKS))
    parser.add_argument(
        "--folds", default="0,1,2,3,4,5,6,7,8,9", help="left out; all: none is; empty: no training"
    )
    parser.add_argument("--steps", type=int)
    parser.add_argument("--average", type=float, help="share of the old in the moving average")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, help="begin no training that would end later")
    parser.add_argument("--scoring", action="store_true", help="measure how fast it scores too")
    parser.add_argument(
        "--learning", action="store_true", help="measure how fast it learns, with patches ready too"
    )
    given = parser.parse_args()
    begin = time.perf_counter()
    torch.backends.cudnn.benchmark = True
    torch.set_float32_matmul_precision("high")
    whole = join_examples([read_examples(folder) for folder in given.examples])
    examples = whole.to("cuda" if torch.cuda.is_available() else "cpu")
    print("| network | parameters | fold | metrics | loss | seconds | patches a second |")
    print("|---|---|---|---|---|---|---|")
    for name in given.networks.split(","):
        recipe = recipe_of(name, given.steps, given.average)
        course = Course(examples, given.out, recipe, given.seed)
        if given.learning:
            print_share(name, examples, course)
        longest = 0.0
        for text in filter(None, given.folds.split(",")):
            start = time.perf_counter()
            if given.seconds and start - begin + longest > given.seconds:
                print(f"{name} fold {text}: no time left", flush=True)
                continue
            print_fold(name, None if text == "all" else int(text), course)
            longest = max(longest, time.perf_counter() - start)
        if given.scoring:
            print_scoring(name, examples, course)


if __name__ == "__main__":
    main()
