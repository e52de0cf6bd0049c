"""One classifier for the candidates of all detectors, which never saw the scan that it scores."""

import json
from dataclasses import replace

import numpy as np
import pytest

from builders.lung_scenes import ball, lung_with, rod
from nodulebench.detection.classifiers import false_positive_reduction as reduction
from nodulebench.detection.classifiers import weights as weight_files
from nodulebench.detection.classifiers.false_positive_reduction import (
    candidates_to_score,
    proposals,
)
from nodulebench.detection.classifiers.weights import (
    TRAINED,
    classifier_of,
    fold_of_series,
    write_seen,
)
from nodulebench.detection.held_out import series_digest
from nodulebench.detection.scan import Candidates, no_candidates

MIDDLE = (32.0, 32.0, 32.0)


def at(chest, *places, score=1.0):
    center = chest.to_world(np.array(places))
    return Candidates(center, np.full(len(places), score), np.full(len(places), 8.0))


def test_a_ball_is_likelier_than_a_vessel_and_the_score_is_a_probability():
    both = lung_with(np.maximum(ball((32.0, 32.0, 20.0), 4.0), rod((0, 32, 46), 2.0)))
    candidates = at(both, (32.0, 32.0, 46.0), (32.0, 32.0, 20.0), score=7.0)
    scored = candidates_to_score({"a": candidates}, both)["a"]
    assert np.array_equal(scored.center_mm[0], candidates.center_mm[1]), (
        "the most likely comes first"
    )
    assert 0.3 < scored.score[0] <= 1.0
    assert len(scored) == 1 or scored.score[1] < 0.1 * scored.score[0]


def test_the_probability_does_not_depend_on_the_proposing_detector():
    chest = lung_with(ball(MIDDLE, 4.0))
    first, two = at(chest, MIDDLE, score=0.1), at(chest, MIDDLE, (10.0, 10.0, 10.0), score=99.0)
    scored = candidates_to_score({"a": first, "b": no_candidates(), "c": two}, chest)
    assert scored["a"].score[0] == pytest.approx(scored["c"].score[0], rel=1e-6)
    assert list(scored) == ["a", "b", "c"]
    assert len(scored["b"]) == 0


def test_what_is_less_likely_than_the_least_is_dropped(monkeypatch):
    chest = lung_with(ball(MIDDLE, 4.0))
    candidates = at(chest, MIDDLE, (12.0, 12.0, 12.0))
    monkeypatch.setattr(reduction, "LEAST_PROBABILITY", 0.2)
    assert len(candidates_to_score({"a": candidates}, chest)["a"]) == 1
    monkeypatch.setattr(reduction, "LEAST_PROBABILITY", 0.0)
    assert len(candidates_to_score({"a": candidates}, chest)["a"]) == 2


def test_of_what_decides_eleven_sets_of_weights_are_packaged_and_each_is_another():
    folds = (None, *range(10))
    for name in ("m5l", "mot_m5lv1", "second_look"):
        names = TRAINED[name].names
        row = np.ones((1, len(names)))
        scores = {float(classifier_of(name, None, names, fold).score(row)[0]) for fold in folds}
        assert len(scores) == 11, name


def test_the_fold_of_a_scan_is_known_from_its_series_by_a_digest(tmp_path, monkeypatch):
    write_seen(tmp_path / weight_files.SEEN, {"1.2.3": 4, "1.2.4": 0, "1.2.5": 4})
    listed = json.loads((tmp_path / weight_files.SEEN).read_text())
    assert listed == {
        "0": [series_digest("1.2.4")],
        "4": sorted(map(series_digest, ("1.2.3", "1.2.5"))),
    }
    monkeypatch.setattr(weight_files, "_PACKAGED", tmp_path)
    weight_files._seen.cache_clear()
    try:
        assert fold_of_series("1.2.5") == 4
        assert fold_of_series("scan", "1.2.4") == 0
        assert fold_of_series("1.2.6", "") is None
    finally:
        weight_files._seen.cache_clear()


def test_packaged_weights_know_luna16s_folds():
    # LIDC-IDRI-0001, 0003 and 0407, of which blocks were used
    prefix = "1.3.6.1.4.1.14519.5.2.1.6279.6001."
    of = {
        "179049373636438705059720603192": 1,
        "170706757615202213033480003264": 9,
        "269075535958871753309238331179": 3,
    }
    assert {series: fold_of_series(prefix + series) for series in of} == of
    assert fold_of_series("1.2.840.1") is None


def test_a_detector_with_a_classifier_proposes_by_weights_that_never_saw_the_fold(monkeypatch):
    chest = lung_with(ball(MIDDLE, 4.0))
    asked = []
    own = weight_files.classifier_of

    def fail(name, path, features, fold=None):
        asked.append((name, fold))
        return own(name, path, features, fold)

    monkeypatch.setattr("nodulebench.detection.classifiers.weights.classifier_of", fail)
    assert len(proposals("mot_m5lv1", chest, 3)) > 0
    assert asked == [("mot_m5lv1", 3)]
    assert len(proposals("isicad", chest, 3)) > 0
    assert asked == [("mot_m5lv1", 3)]


def test_where_all_is_reported_features_are_not_needed(monkeypatch):
    chest = lung_with(ball(MIDDLE, 4.0))
    etrocad = TRAINED["etrocad"]
    candidates = etrocad.find(chest).candidates
    assert len(candidates) > 0
    for own in (etrocad, replace(etrocad, propose=None)):
        monkeypatch.setattr(reduction, "WITH_CLASSIFIER", {"mine": own})
        proposed = proposals("mine", chest)
        assert np.array_equal(proposed.center_mm, candidates.center_mm)
        assert np.array_equal(proposed.diameter_mm, candidates.diameter_mm)
