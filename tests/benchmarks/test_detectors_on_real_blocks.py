"""The packaged weights are the measured ones: counts of the documented table, on a few blocks."""

from itertools import islice

import pytest
from benchmarks.candidate_blocks import block_cases

from builders.places import TEST_DATA
from nodulebench.detection.detectors import candidates_of
from nodulebench.detection.train_classifier import hits

BLOCKS = 8
FOLD = 2
EXPECTED = {
    "m5l": [
        (10, True),
        (4, True),
        (1, True),
        (1, True),
        (5, True),
        (2, True),
        (2, True),
        (3, True),
    ],
    "etrocad": [
        (4, True),
        (3, True),
        (1, True),
        (5, True),
        (9, True),
        (1, True),
        (3, True),
        (5, True),
    ],
}
"""Candidates, and whether a nodule is hit, block by block, as when the table was printed."""


@pytest.fixture(scope="module")
def blocks():
    if not (TEST_DATA / "nodule_blocks" / "blocks.csv").is_file():
        pytest.skip(f"no blocks at {TEST_DATA}; set NODULEBENCH_TEST_DATA")
    return list(islice(block_cases([FOLD], data=TEST_DATA), BLOCKS))


@pytest.mark.parametrize("name", ["m5l", "etrocad"])
def test_a_detector_says_of_real_blocks_what_the_table_counts(blocks, name):
    detected = [candidates_of(name, case.chest, FOLD) for case in blocks]
    counts = [
        (len(candidates), bool(hits(candidates.center_mm, case.nodules)[0].any()))
        for candidates, case in zip(detected, blocks, strict=True)
    ]
    assert counts == EXPECTED[name]
