"""Weights of networks + a CT volume + places -> the probability that each is a nodule.

A scan that a fold of the data left out is scored by the weights that never saw it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from nodulebench.core.arrays import FloatArray
from nodulebench.core.errors import InputError
from nodulebench.core.notices import Notice
from nodulebench.core.optional_packages import needs
from nodulebench.detection.block_grid import BlockVoxels, block_voxels
from nodulebench.detection.catalogue import system_parts
from nodulebench.detection.detectors import near_lungs
from nodulebench.detection.held_out import Choice, Fold, choose_held_out, choose_without, left_out
from nodulebench.detection.networks import DETECTION_NETWORKS, NETWORKS
from nodulebench.detection.networks.cards import packaged_weights
from nodulebench.detection.scan import Candidates, Chest
from nodulebench.imaging.volume import Volume
from nodulebench.io.lidc_blocks import HU_PER_STEP, LOWEST_HU

if TYPE_CHECKING:
    from nodulebench.detection.networks.cards import ModelCard


SUFFIX = ".safetensors"
PURPOSE = "scoring with a network"
SAW_SCANS = "weights_saw_scans"


@dataclass(frozen=True, eq=False)
class NetworkScores:
    """The networks' scores of the candidates of one scan."""

    score: FloatArray
    choices: tuple[Choice, ...]
    """Of each network, which weights scored."""

    @property
    def is_unseen(self) -> bool:
        return all(choice.is_unseen for choice in self.choices)


@dataclass(frozen=True, eq=False)
class TrainedNetwork:
    """One network with weights of one or several folds."""

    name: str
    paths: tuple[Path, ...]
    cards: "tuple[ModelCard, ...]"
    _modules: dict[int, Any] = field(default_factory=dict, repr=False)

    def choose(self, names: Sequence[str], fold: Fold = "auto") -> Choice:
        """The weights that score a scan; ``auto``: those for the fold that its names imply."""
        if fold == "auto":
            return choose_held_out(names[0], self.cards, names[1:])
        choice = choose_without(fold, names, self.cards)
        if choice is None:
            what = "was trained on all folds" if fold is None else f"left fold {fold} out"
            known = sorted({out for card in self.cards for out in left_out(card)})
            there = f"There are weights without: {', '.join(map(str, known)) or 'no fold'}."
            remedy = f"{there} Give others with --weights, or let --fold be auto."
            raise InputError.at(f"network '{self.name}'", f"none of its weights {what}.", remedy)
        return choice

    def module(self, choice: Choice) -> Any:
        from nodulebench.detection.networks.inference import best_device, fold_layers
        from nodulebench.detection.networks.weights import read_weights

        if choice.number not in self._modules:
            module, _ = read_weights(self.paths[choice.number])
            self._modules[choice.number] = fold_layers(module).to(best_device())
        return self._modules[choice.number]

    def score(
        self, seen: BlockVoxels, place_mm: FloatArray, choice: Choice, tries: int
    ) -> FloatArray:
        from nodulebench.detection.networks.examples import ExampleArrays, make_examples
        from nodulebench.detection.networks.inference import best_device, score_candidates
        from nodulebench.detection.networks.patches import scans_of

        count = len(place_mm)
        units = {"step_hu": HU_PER_STEP, "lowest_hu": LOWEST_HU}
        scans = scans_of([seen.voxels], [seen.spacing_mm], **units)
        places = seen.to_index(place_mm)
        arrays = ExampleArrays(
            fold=[0], which=np.zeros(count), place=places, is_nodule=np.zeros(count)
        )
        examples = make_examples(scans, arrays)
        here = examples.to(best_device())
        network = NETWORKS[self.name]
        scores = score_candidates(
            self.module(choice), network, here, here.scored_candidates([0]), tries=tries
        )
        return np.asarray(scores.cpu().numpy(), dtype=np.float64)


@dataclass(frozen=True, eq=False)
class ClassifierPanel:
    """Networks whose probabilities are averaged."""

    networks: tuple[TrainedNetwork, ...]
    tries: int = 1
    """Patches of a candidate that are averaged."""

    @cached_property
    def name(self) -> str:
        return "+".join(network.name for network in self.networks)

    def score(
        self,
        volume: Volume,
        where: str,
        place_mm: FloatArray,
        names: Sequence[str],
        fold: Fold = "auto",
    ) -> NetworkScores:
        """Score positions in a scan; ``names``: its series UID and its case, as in the data."""
        choices = tuple(network.choose(names, fold) for network in self.networks)
        if not len(place_mm):
            return NetworkScores(np.empty(0), choices)
        seen = block_voxels(volume, where, place_mm)
        scores = {
            network.name: network.score(seen, place_mm, choice, self.tries)
            for network, choice in zip(self.networks, choices, strict=True)
        }
        return NetworkScores(average_scores(scores), choices)


def read_panel(names: str, weights: Sequence[Path], *, tries: int = 1) -> ClassifierPanel:
    """Networks, joined by ``+``, with weights from files or folders; none: the package's."""
    for name in system_parts(names):
        if name in DETECTION_NETWORKS:
            what = "finds nodules itself, and does not score candidates of others."
            remedy = f"Use: nodulebench detect {name}; networks that score: {', '.join(NETWORKS)}."
            raise InputError.at(f"network '{name}'", what, remedy)
    known = [name for name in system_parts(names) if NETWORKS[name]]
    networks = [
        trained_network(name, tuple(weights) or (packaged_weights(name),)) for name in known
    ]
    return ClassifierPanel(tuple(networks), tries)


def average_scores(scores: Mapping[str, FloatArray]) -> FloatArray:
    """Scores of networks by name -> their mean; one family counts as one network, by share."""
    families: dict[str, list[str]] = {}
    for name in scores:
        families.setdefault(NETWORKS[name].family or name, []).append(name)
    family_means = [
        np.average(
            [scores[name] for name in members],
            axis=0,
            weights=[NETWORKS[name].share for name in members],
        )
        for members in families.values()
    ]
    mean: FloatArray = np.mean(family_means, axis=0)
    return mean


@lru_cache(maxsize=4)
def trained_network(name: str, weights: tuple[Path, ...]) -> TrainedNetwork:
    """A network with those of some weights that are its own; read once in a process."""
    with needs("networks", PURPOSE):
        from nodulebench.detection.networks.weights import read_card
    files = [path for given in weights for path in weight_files(given)]
    cards = [read_card(path) for path in files]
    own = [number for number, card in enumerate(cards) if card.network == name]
    if not own:
        known = ", ".join(sorted({card.network for card in cards}))
        raise InputError.at(
            ", ".join(map(str, weights)),
            f"holds no weights of the network '{name}'.",
            f"There are weights of {known}." if known else "Train it with `train`.",
        )
    of_network = tuple(cards[number] for number in own)
    return TrainedNetwork(name, tuple(files[number] for number in own), of_network)


def saw_scan(name: str) -> tuple[Notice, ...]:
    return (Notice(SAW_SCANS, {"count": 1, "cases": 1, "names": [name]}),)


def weight_files(path: Path) -> list[Path]:
    files = sorted(path.glob(f"*{SUFFIX}")) if path.is_dir() else [path]
    if not files:
        raise InputError.at(str(path), f"holds no weights (*{SUFFIX}).", "Train some with `train`.")
    return files


SLACK_MM = 10.0
"""How far from the lungs a candidate may lie."""


def network_candidates(
    name: str,
    chest: Chest,
    volume: Volume,
    weights: tuple[Path, ...],
    series: Sequence[str],
    fold: Fold = "auto",
) -> tuple[Candidates, tuple[Notice, ...]]:
    """The candidates of a network, best first, and a warning if it was trained on the scan."""
    from nodulebench.detection.networks.detection_network import search
    from nodulebench.detection.networks.inference import best_device
    from nodulebench.detection.networks.patches import scans_of

    network = trained_network(name, weights)
    choice = network.choose(series, fold)
    corners = _corners(chest)
    seen = block_voxels(volume, series[0], corners)
    scans = scans_of([seen.voxels], [seen.spacing_mm], step_hu=HU_PER_STEP, lowest_hu=LOWEST_HU).to(
        best_device()
    )
    index, last = seen.to_index(corners), np.array(seen.voxels.shape) - 1
    low = np.clip(np.floor(index.min(axis=0)), 0, last).astype(np.int64)
    high = np.clip(np.ceil(index.max(axis=0)), low, last).astype(np.int64)
    box = [scans.shape.new_tensor(corner.tolist()) for corner in (low, high)]
    detected = search(network.module(choice), DETECTION_NETWORKS[name], scans, 0, box[0], box[1])
    place = detected.place.cpu().numpy().astype(np.float64)
    columns = (detected.score.cpu().numpy(), detected.diameter_mm.cpu().numpy())
    candidates = Candidates(
        seen.geometry.to_world(place[:, ::-1]), *(column.astype(np.float64) for column in columns)
    )
    return near_lungs(candidates, chest), () if choice.is_unseen else saw_scan(series[-1])


def _corners(chest: Chest) -> FloatArray:
    ends = []
    for axis in range(3):
        others = tuple(other for other in range(3) if other != axis)
        inside = np.flatnonzero(chest.lungs.mask.any(axis=others))
        slack = SLACK_MM / chest.spacing_mm[axis]
        ends.append((inside[0] - slack, inside[-1] + slack))
    return chest.to_world(np.array(list(product(*ends))))
