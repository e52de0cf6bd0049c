import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders.hashes import similarity
from nodulebench.curation.perceptual_hash import BITS, STACKED, HashList, PerceptualHash


def random_hash(levels, seed):
    return PerceptualHash(np.random.default_rng(seed).integers(0, 2, (levels, BITS), np.uint8))


def plainly(first, other):
    """The share of equal bits, shift by shift and level by level."""
    best = 0.0
    fewest = max(24, 0.6 * min(len(first.bits), len(other.bits)))
    for shift in range(-len(first.bits) + 1, len(other.bits)):
        pairs = [
            (first.bits[level], other.bits[level + shift])
            for level in range(len(first.bits))
            if 0 <= level + shift < len(other.bits)
        ]
        if len(pairs) >= fewest:
            best = max(best, float(np.mean([a == b for a, b in pairs])))
    return best


@given(levels=st.lists(st.integers(5, 60), min_size=1, max_size=5), own=st.integers(5, 60))
@settings(max_examples=25, deadline=None)
def test_many_at_once_are_as_alike_as_each_shift_by_shift(levels, own):
    hashes, first = HashList(), random_hash(own, 99)
    others = [random_hash(count, seed) for seed, count in enumerate(levels)]
    # one that shares a part with it, at another height
    others.append(PerceptualHash(np.concatenate([random_hash(3, 7).bits, first.bits[1:]])))
    for other in others:
        hashes.add(other)
    expected = [plainly(first, other) for other in others]
    assert hashes.similarities(first).tolist() == pytest.approx(expected, abs=1e-12)
    assert similarity(first, others[-1]) == pytest.approx(expected[-1], abs=1e-12)


def test_a_list_may_be_longer_than_what_is_compared_at_once():
    hashes = HashList()
    others = [random_hash(30 + number % 9, number) for number in range(2 * STACKED + 3)]
    assert hashes.similarities(others[0]).tolist() == []
    for other in others:
        hashes.add(other)
    for number in (0, STACKED - 1, STACKED, 2 * STACKED + 2):
        alike = hashes.similarities(others[number])
        assert int(alike.argmax()) == number
        assert alike[number] == 1.0
        assert np.delete(alike, number).max() < 0.6
