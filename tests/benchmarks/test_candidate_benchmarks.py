import lzma

import numpy as np
import polars as pl
import pytest
from benchmarks.candidate_blocks import nodule_groups
from benchmarks.candidate_findings import (
    Case,
    find_candidates,
    joined_findings,
    mark_centre,
    restricted,
    stored_findings,
)
from benchmarks.candidate_tables import (
    nodules_to_find,
    print_table,
    score_all_members,
    score_members,
)
from benchmarks.fold_weights import examples_from
from benchmarks.lidc_character import with_character
from benchmarks.proposals import findings_of, scored, stored_proposals

from builders.lung_scenes import ball, lung_with, world
from builders.tables import case, nodule, reference
from nodulebench.detection.candidates import NAMES
from nodulebench.detection.classifiers.weights import TRAINED
from nodulebench.detection.detectors import candidates_of
from nodulebench.detection.scan import Candidates, Chest, no_candidates
from nodulebench.imaging.lungs import Lungs
from nodulebench.imaging.volume import make_volume


def lung_case(name, *nodules):
    """A cube of lung, 40 mm wide, from the origin."""
    volume = make_volume(np.full((40, 40, 40), -850, np.int16), spacing_mm=(1, 1, 1))
    chest = Chest(volume, Lungs(np.ones(volume.shape, np.uint8), volume.geometry), volume.geometry)
    return Case(name, chest, reference(case(name, *nodules)).nodules)


def at(*places):
    """A detector that says the same of every case."""
    places = np.array(places, dtype=np.float64).reshape(-1, 3)
    candidates = Candidates(places, np.ones(len(places)), np.full(len(places), 5.0))
    return lambda chest: candidates  # noqa: ARG005


CASES = (
    lung_case("a", nodule(8, at=(10, 10, 10)), nodule(6, at=(30, 30, 30))),
    lung_case("b", nodule(4, at=(30, 10, 10)), nodule(None, at=(5, 30, 5), is_ignored=True)),
)


def test_a_nodule_is_found_by_a_candidate_within_its_radius():
    # (13, 10, 10) is 3 mm from a's first nodule; (5, 30, 5) is on b's ignored finding
    detect = at((13, 10, 10), (5, 30, 5))
    findings = find_candidates(CASES, {"isicad": detect})
    candidates = score_members(findings.reference, findings.submissions["isicad"], ("isicad",))
    assert candidates.is_hit.tolist() == [True, False, False]
    assert candidates.candidates == 4
    # in a the second candidate is off, in b the first one
    assert candidates.off_nodules == 2


def test_chance_is_that_of_as_many_points_anywhere_in_the_searched_region():
    findings = find_candidates(CASES, {"isicad": at((13, 10, 10), (5, 30, 5))})
    voxels = 40**3
    grid = np.indices((40, 40, 40)).reshape(3, -1).T
    shares = [
        np.count_nonzero(((grid - place) ** 2).sum(axis=1) < radius**2) / voxels
        for place, radius in ((10, 4), (30, 3), ((10, 10, 30), 2))
    ]
    expected = np.mean([1 - (1 - share) ** 2 for share in shares])
    candidates = score_members(findings.reference, findings.submissions["isicad"], ("isicad",))
    assert candidates.chance == pytest.approx(expected, rel=1e-12)


def test_candidates_far_from_the_lungs_are_dropped():
    findings = find_candidates(CASES[:1], {"isicad": at((-15, 10, 10), (-5, 10, 10))})
    assert findings.submissions["isicad"].marks["x_mm"].to_list() == [-5]


def test_a_combination_finds_what_its_members_find(capsys):
    chosen = {
        "isicad": at((10, 10, 10)),
        "subsolidcad": at((30, 30, 30)),
        "largecad": lambda chest: no_candidates(),  # noqa: ARG005
        "m5l": at((20, 20, 20)),
        "etrocad": at((10, 10, 11)),
        "centre": mark_centre,
    }
    findings = find_candidates(CASES, chosen)
    results = {result.members: result for result in score_all_members(findings)}
    assert len(results) == 1 + 5 + 26
    both = results["isicad", "subsolidcad"]
    assert both.is_hit.tolist() == [True, True, False]
    assert both.candidates == 4
    # two candidates 1 mm apart are one
    assert results["isicad", "etrocad"].candidates == 2
    assert results["largecad",].candidates == 0
    print_table(findings, list(results.values()), "case")
    printed = capsys.readouterr().out
    # Wilson, 2 of 3: (0.208, 0.939)
    assert "| isicad+subsolidcad | 2 | 0.667 (0.208–0.939) | 0.333 | +0.333 | 2.0 |" in printed


def test_the_control_marks_the_middle_of_the_image():
    (place,) = mark_centre(CASES[0].chest).center_mm
    assert place.tolist() == [19.5, 19.5, 19.5]


def test_stored_findings_are_used_and_only_missing_detectors_run(tmp_path):
    ran = []

    def detector(name):
        def detect(chest):
            ran.append(name)
            return at((10, 10, 10))(chest)

        return {name: detect}

    first = stored_findings(lambda: CASES, detector("isicad"), tmp_path)
    again = stored_findings(lambda: CASES, detector("isicad") | detector("m5l"), tmp_path)
    assert ran == ["isicad", "isicad", "m5l", "m5l"]
    assert again.reference.nodules.equals(first.reference.nodules)
    assert again.submissions["isicad"].marks.equals(first.submissions["isicad"].marks)
    assert stored_findings(list, detector("m5l"), tmp_path).submissions.keys() == {"m5l"}


def test_parts_join_to_the_whole_and_can_be_taken_apart():
    detect = {"isicad": at((10, 10, 10))}
    whole = find_candidates(CASES, detect)
    joined = joined_findings([find_candidates([case], detect) for case in CASES])
    assert joined.lung_litres == pytest.approx(whole.lung_litres) == pytest.approx(0.128)
    assert joined.submissions["isicad"].marks.equals(whole.submissions["isicad"].marks)
    part = restricted(whole, pl.Series(["b"]))
    assert nodules_to_find(part.reference)["diameter_mm"].to_list() == [4]
    assert part.submissions["isicad"].marks["case_id"].to_list() == ["b"]


def test_groups_hold_every_nodule_once_by_size_and_by_density():
    nodules = pl.DataFrame(
        {
            "diameter_mm": [3.9, 4.0, 25.0],
            "density": ["solid", None, "ground_glass"],
            "agreement": [3, 4, 4],
        }
    )
    groups = nodule_groups(nodules)
    assert groups["0–4 mm"].tolist() == [True, False, False]
    assert groups["4–6 mm"].tolist() == [False, True, False]
    assert groups["20 mm and more"].tolist() == [False, False, True]
    assert groups["readers undecided"].tolist() == [False, True, False]
    assert groups["4 readers"].tolist() == [False, True, True]
    assert sum(inside.sum() for name, inside in groups.items() if "mm" in name) == 3


def test_density_and_agreement_come_from_the_nearest_nodule_of_three_marks(tmp_path):
    head = "seriesuid,session,category,x_world_mm,y_world_mm,z_world_mm,calcification,texture,"
    head += "merged_group\n"
    marks = "".join(
        f"s,{session},nodule_ge3,{x},0,0,{calcification},{texture},{group}\n"
        for session, x, calcification, texture, group in (
            (1, 0, 6, 1, 1),
            (2, 1, 6, 2, 1),
            (3, 2, 6, 5, 1),
            (1, 20, 6, 5, 2),
            (2, 20, 6, 5, 2),
            (1, 40, 3, 5, 3),
            (2, 40, 3, 5, 3),
            (3, 40, 6, 5, 3),
            (4, 40, 6, 5, 3),
        )
    )
    (tmp_path / "marks.csv.xz").write_bytes(lzma.compress((head + marks).encode()))
    nodules = reference(
        case(
            "s",
            nodule(6, at=(3, 0, 0)),
            nodule(6, at=(20, 0, 0)),
            nodule(6, at=(40, 0, 0)),
            nodule(6, at=(1, 0, 0), is_ignored=True),
        )
    ).nodules
    table = with_character(nodules, tmp_path / "marks.csv.xz")
    assert table["density"].to_list() == ["ground_glass", None, None, None]
    assert table["agreement"].to_list() == [3, None, 4, None]


@pytest.mark.parametrize("name", ["isicad", "etrocad", "m5l"])
def test_stored_proposals_give_the_detector_s_own_marks_with_the_weights_of_its_fold(
    tmp_path, name
):
    chest = lung_with(ball((32.0, 32.0, 32.0), 4.0), noise_hu=30.0)
    known = reference(case("a", nodule(8, at=world(32, 32, 32)))).nodules
    made = Case("a", chest, known, fold=3, is_whole=False)
    stored = stored_proposals(lambda: [made], tmp_path)
    (again,) = stored_proposals(list, tmp_path)
    assert (again.fold, again.is_whole, again.litres) == (3, False, stored[0].litres)
    expected = candidates_of(name, chest, fold=3)
    assert len(expected) > 0
    for proposals in (stored[0], again):
        candidates = scored(proposals, name)
        assert np.array_equal(candidates.center_mm, expected.center_mm)
        assert candidates.score == pytest.approx(expected.score, rel=1e-6)
    findings = findings_of(stored, [name, "centre"])
    assert score_members(
        findings.reference, findings.submissions[name], (name,)
    ).is_hit.tolist() == [True]
    assert findings.submissions["centre"].marks.height == 1


def test_classifiers_learn_from_every_proposal_but_those_on_ignored_findings(tmp_path):
    chest = lung_with(ball((32.0, 32.0, 20.0), 4.0), ball((32.0, 32.0, 44.0), 4.0))
    known = [nodule(8, at=world(32, 32, 20)), nodule(8, at=world(32, 32, 44), is_ignored=True)]
    made = [
        Case(name, chest, reference(case(name, *known)).nodules, fold, is_whole=fold == 1)
        for fold, name in enumerate("ab")
    ]
    stored = stored_proposals(lambda: made, tmp_path)
    examples = examples_from(stored, "second_look")
    assert set(examples.fold) == {0, 1}
    assert set(examples.nodule) >= {0, 2}, "numbered through, the ignored one between"
    assert np.array_equal(examples.is_whole, examples.fold == 1)
    places = np.concatenate([stored[0].described[name].candidates.center_mm for name in NAMES])
    on_ignored = np.linalg.norm(places - world(32, 32, 44), axis=1) < 4.0
    assert on_ignored.any()
    assert (examples.case == 0).sum() == len(places) - on_ignored.sum()
    own = examples_from(stored, "etrocad")
    assert own.features.shape[1] == len(TRAINED["etrocad"].names)
    for left_out, folds in ((0, {1}), (1, {0}), (None, {0, 1})):
        chosen = examples.of_folds(fold for fold in range(10) if fold != left_out)
        assert set(chosen.fold) == folds
