"""STAPLE: a nodule is what k of n readers drew; its outline weights readers by their accuracy."""

from dataclasses import dataclass
from functools import partial

import numpy as np

from nodulebench.core.arrays import BoolArray, FloatArray, IntArray
from nodulebench.core.errors import UndefinedError
from nodulebench.reference.decision import Verdict, decide_groups, votes
from nodulebench.reference.panel import Panel
from nodulebench.reference.rules.votes import enough_readers

MOST_ROUNDS = 1000
_START = 0.99999
_SETTLED = 1e-8
_FALLIBLE = 2.0**-52
"""Keeps readers fallible, so that no pattern of decisions is impossible under both truths."""


@dataclass(frozen=True, slots=True)
class Staple:
    """The estimate after the last round."""

    probability: FloatArray
    """Of each voxel to be nodule."""
    sensitivity: FloatArray
    """Of each reader, per voxel."""
    specificity: FloatArray
    rounds: int


def estimate_truth(is_drawn: BoolArray) -> Staple:
    """Estimate truth and readers together by expectation-maximisation.

    The prior probability of nodule is the mean share that the readers drew. Voxels on which the
    readers decided alike are equivalent, so only the patterns of decisions are processed.
    ``is_drawn`` is readers x voxels, within a box around the nodule: all masks agree beyond it.
    """
    codes = np.left_shift(1, np.arange(len(is_drawn))) @ is_drawn.astype(np.int64)
    known, voxel_pattern, counts = np.unique(codes, return_inverse=True, return_counts=True)
    patterns = (known >> np.arange(len(is_drawn))[:, None]) % 2 == 1
    prior = float(is_drawn.mean())
    if not 0.0 < prior < 1.0:
        raise UndefinedError("staple_one_sided")
    sensitivity = np.full(len(is_drawn), _START)
    specificity = np.full(len(is_drawn), _START)
    probability = np.zeros(patterns.shape[1])
    rounds = 0
    for rounds in range(1, MOST_ROUNDS + 1):  # noqa: B007 - part of the result
        before = probability
        in_truth = np.where(patterns, sensitivity[:, None], 1 - sensitivity[:, None]).prod(axis=0)
        in_rest = np.where(patterns, 1 - specificity[:, None], specificity[:, None]).prod(axis=0)
        probability = prior * in_truth / (prior * in_truth + (1 - prior) * in_rest)
        weight, rest = probability * counts, (1 - probability) * counts
        sensitivity = np.clip(patterns @ weight / weight.sum(), _FALLIBLE, 1 - _FALLIBLE)
        specificity = np.clip(~patterns @ rest / rest.sum(), _FALLIBLE, 1 - _FALLIBLE)
        if np.abs(probability - before).max() < _SETTLED:
            break
    return Staple(probability[voxel_pattern], sensitivity, specificity, rounds)


def staple(
    panel: Panel,
    *,
    minimum_agreement: int = 0,
    grouping: str = "recursive",
    same_reader: bool = False,
    probability: float = 0.5,
    margin: int = 1,
) -> list[Verdict]:
    """Accept what enough readers drew; outline it where STAPLE estimates nodule as likely.

    Only readers who drew the nodule are weighted; the others do not influence its outline.

    Args:
        panel: the findings of all readers.
        minimum_agreement: how many readers it takes; 0: more than half of those who read the case.
        grouping: how findings are merged into nodules.
        same_reader: whether two findings of one reader can be one nodule by themselves.
        probability: how likely a voxel has to be nodule.
        margin: voxels around the union of the outlines that count as background.
    """
    return decide_groups(
        panel,
        grouping=grouping,
        same_reader=same_reader,
        is_accepted=enough_readers(panel, minimum_agreement),
        outline=partial(likely_voxels, panel, probability=probability, margin=margin),
    )


def likely_voxels(
    panel: Panel, members: IntArray, *, probability: float, margin: int
) -> IntArray | None:
    """The voxels that STAPLE estimates as nodule; the most likely ones where none reaches it.

    The outline of a single reader is used unchanged.
    """
    outlined = [row for row in members.tolist() if len(panel.regions.of(row))]
    if not outlined:
        return None
    readers = np.unique(panel.reader[outlined])
    if len(readers) == 1:
        return votes(panel, np.array(outlined))[0]
    every = np.concatenate([panel.regions.of(row) for row in outlined])
    low = every.min(axis=0) - margin
    shape = tuple((every.max(axis=0) + margin - low + 1).tolist())
    drawn = np.zeros((len(readers), *shape), dtype=np.bool_)
    for row in outlined:
        which = int(np.searchsorted(readers, panel.reader[row]))
        drawn[which, *(panel.regions.of(row) - low).T] = True
    likely = estimate_truth(drawn.reshape(len(readers), -1)).probability.reshape(shape)
    voxels: IntArray = np.argwhere(likely >= min(probability, float(likely.max()))) + low
    return voxels
