"""Networks, each fold judged by one that never saw it; needs numpy, torch and safetensors alone.

``python benchmarks/network_folds.py EXAMPLES OUT --networks twoscale,cumedvis_b --folds 0,1`` runs
on any machine that has ``src/`` beside it, with or without a GPU. Weights and the probabilities of
all candidates lie in OUT afterwards; a run that was interrupted is taken up again.
"""

import argparse
import hashlib
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch

sys.path.insert(0, str(Path(__file__).parents[1] / "src"))

from nodulebench.algorithms.networks import NETWORKS
from nodulebench.algorithms.networks.examples import Examples, read_examples
from nodulebench.algorithms.networks.network import parameter_count
from nodulebench.algorithms.networks.training import area_under_roc, judge, train
from nodulebench.algorithms.networks.weights import Card, read_card, write_weights

FOLDS = range(10)


def train_fold(
    name: str, fold: int, examples: Examples, digest: str, steps: int | None, out: Path
) -> None:
    """Train on the nine other folds, judge this one, keep weights and probabilities."""
    network = NETWORKS[name]
    how = replace(network.recipe, steps=steps or network.recipe.steps)
    others = [other for other in FOLDS if other != fold]
    begin = time.perf_counter()
    keep = out / f"{name}-{fold}.state"
    module = train(network, examples, others, recipe=how, keep=keep)
    seconds = time.perf_counter() - begin
    chosen = examples.of_folds([fold])
    score = judge(module, network, examples, chosen, tries=how.tries)
    area = area_under_roc(score, examples.is_nodule[chosen])
    card = Card(name, 0, how.steps, str(examples.about.get("data")), digest, tuple(others))
    write_weights(out / f"{name}-{fold}.safetensors", module, replace(card, figures={"area": area}))
    np.save(out / f"{name}-{fold}.npy", score.cpu().numpy())
    rate = how.steps * how.batch / seconds
    print(
        f"| {name} | {parameter_count(module):,} | {fold} | {area:.4f} | {rate:.0f} |", flush=True
    )


def main() -> None:
    """Print areas under the ROC curve of candidates, network by network and fold by fold."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("examples", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--networks", default=",".join(NETWORKS))
    parser.add_argument("--folds", default=",".join(map(str, FOLDS)))
    parser.add_argument("--steps", type=int)
    given = parser.parse_args()
    examples = read_examples(given.examples).to("cuda" if torch.cuda.is_available() else "cpu")
    whole = hashlib.sha256()
    for path in sorted(given.examples.iterdir()):
        whole.update(path.read_bytes())
    print("| network | parameters | fold | area | patches a second |\n|---|---|---|---|---|")
    given.out.mkdir(parents=True, exist_ok=True)
    for name in given.networks.split(","):
        for fold in map(int, given.folds.split(",")):
            path = given.out / f"{name}-{fold}.safetensors"
            if path.is_file():
                print(f"| {name} | | {fold} | {read_card(path).figures['area']:.4f} | kept |")
                continue
            train_fold(name, fold, examples, f"sha256:{whole.hexdigest()}", given.steps, given.out)


if __name__ == "__main__":
    main()
