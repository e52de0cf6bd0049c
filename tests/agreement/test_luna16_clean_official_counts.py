"""luna16_clean differs from the official program only where a mark is inside two nodules.

Expected values come from running the program as distributed with the challenge on two public
submissions, in neither of which a mark does; see the data folder's SOURCES.md.
"""

import json
from pathlib import Path

import numpy as np
import pytest

from nodulebench.core.cohort import DUPLICATE, FALSE_POSITIVE, HIT, IGNORED
from nodulebench.core.protocol import RuleChoice, load_protocol
from nodulebench.io.marks import luna16 as luna16_csv
from nodulebench.matching import label_marks

COUNTS = {
    "True positives": HIT,
    "False positives": FALSE_POSITIVE,
    "Ignored candidates on excluded nodules": IGNORED,
    "Ignored candidates which were double detections on a nodule": DUPLICATE,
}


@pytest.mark.parametrize(
    ("name", "marks", "series"),
    [
        ("deeplung_dpn26_888", "deeplung_dpn26_888.csv.gz", "seriesuids.csv"),
        ("res18_focal_fold9", "res18_focal_fold9.csv", "fold9_seriesuids.csv"),
    ],
)
def test_counts_and_hits_equal_the_official_ones(
    luna16_data: Path, name: str, marks: str, series: str
) -> None:
    expected = json.loads((luna16_data / "expected" / f"{name}.json").read_text())
    assert expected["marks_hitting_two_nodules"] == 0
    listed = luna16_csv.read_series(luna16_data / series)
    reference = luna16_csv.read_reference(luna16_data).restricted(listed, series)
    submission = luna16_csv.read_marks(luna16_data / "submissions" / marks, reference.cases)
    protocol = load_protocol("luna16")
    clean, official = (
        label_marks(reference, submission, protocol, RuleChoice(name=rule))
        for rule in ("luna16_clean", "luna16")
    )
    assert {theirs: clean.count(ours) for theirs, ours in COUNTS.items()} == {
        theirs: expected["counts"][theirs] for theirs in COUNTS
    }
    hits, official_hits = (
        np.sort(labels.nodule[labels.label == HIT]) for labels in (clean, official)
    )
    assert np.array_equal(hits, official_hits)
