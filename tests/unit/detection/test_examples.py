import json
import lzma

import numpy as np
import polars as pl
import pytest

pytest.importorskip("torch", reason="the extra 'networks' is not installed")
pytestmark = pytest.mark.slow


from builders.blocks import PLACE, block_voxels, write_blocks
from builders.commands import run
from nodulebench.core.errors import InputError
from nodulebench.detection.examples import CandidateSource, block_examples, scan_examples
from nodulebench.detection.held_out import series_digest
from nodulebench.detection.networks.examples import read_examples
from nodulebench.imaging.volume import make_volume
from nodulebench.io.images import metaimage
from nodulebench.io.marks.luna16 import read_reference


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return write_blocks(tmp_path_factory.mktemp("data"))


@pytest.fixture(scope="module")
def scans(tmp_path_factory):
    """Scans s0 to s2 as images, and a list of candidates: the nodule and a place on the vessel."""
    folder = tmp_path_factory.mktemp("scans")
    rows = ["seriesuid,coordX,coordY,coordZ,class"]
    for fold in range(3):
        hu = block_voxels(fold).astype(np.int16) * 16 - 1024
        metaimage.write_volume(make_volume(hu, spacing_mm=(1, 1, 1)), folder / f"s{fold}.mhd")
        rows += [f"s{fold},14,18,20,1", f"s{fold},30,18,5,0"]
    (folder / "candidates.csv").write_text("\n".join(rows) + "\n")
    return folder


@pytest.fixture(scope="module")
def of_blocks(data, tmp_path_factory):
    blocks, truth = data
    out = tmp_path_factory.mktemp("examples") / "blocks"
    made = block_examples(
        out, blocks, truth, CandidateSource(detectors="etrocad+largecad"), folds=[0, 1]
    )
    return out, made


def test_blocks_become_examples_with_their_own_reference_folds_and_candidates(of_blocks):
    out, made = of_blocks
    examples = read_examples(out)
    assert examples.fold.tolist() == [0, 1]
    assert examples.series == (series_digest("s0"), series_digest("s1"))
    assert (made.cases, made.candidates) == (2, len(examples.which))
    assert made.nodules == int(examples.is_nodule.sum()) >= 4, "both nodules, found and as they are"
    listed = pl.read_csv(out / "candidates.csv")
    assert listed.height == made.scored == int(examples.is_scored.sum())
    place = examples.place[examples.is_scored].numpy()
    assert np.allclose(listed.select("coordZ", "coordY", "coordX").to_numpy(), place, atol=1e-3)
    assert pl.read_csv(out / "folds.csv").rows() == [("b0", 0), ("b1", 1)]
    own = read_reference(out / "reference")
    assert own.cases["case_id"].to_list() == ["b0", "b1"]
    assert own.nodules["case_id"].to_list() == ["b0", "b1"]
    with lzma.open(out / "voxels.npy.xz") as file:
        voxels = np.load(file)
    assert np.array_equal(voxels[: 40**3].reshape(40, 40, 40), block_voxels(0))


def test_of_a_block_only_the_part_where_candidates_were_sought_is_scored(of_blocks):
    out, _ = of_blocks
    examples = read_examples(out)
    for scan in range(2):
        low, high = examples.seen[scan].numpy()
        assert (low <= np.array(PLACE) - 6).all()
        assert (high >= np.array(PLACE) + 6).all()
        scored = examples.place[(examples.which == scan) & examples.is_scored].numpy()
        assert (scored >= low - 0.5).all()
        assert (scored <= high + 0.5).all()


def test_scans_with_a_list_of_candidates_become_examples(data, scans, tmp_path):
    _, truth = data
    folds = tmp_path / "folds.csv"
    folds.write_text("seriesuid,fold\ns0,0\ns1,4\n")
    made = scan_examples(
        tmp_path / "out",
        scans,
        truth,
        CandidateSource(candidates=[scans / "candidates.csv"]),
        folds=folds,
    )
    examples = read_examples(tmp_path / "out")
    assert (made.cases, made.candidates, made.scored, made.nodules) == (3, 9, 6, 6)
    assert examples.fold.tolist() == [0, 4, -1], "a scan of no fold is never trained on"
    assert examples.is_nodule.tolist() == [True, False, True] * 3
    assert examples.training_candidates([0, 4]).tolist() == [0, 1, 2, 3, 4, 5]
    assert json.loads((tmp_path / "out" / "examples.json").read_text())["step_hu"] == 16


def test_findings_that_are_neither_are_scored_and_not_trained_on(data, scans, tmp_path):
    _, truth = data
    luna16 = tmp_path / "luna16"
    luna16.mkdir()
    for file in truth.iterdir():
        (luna16 / file.name).write_bytes(file.read_bytes())
    (luna16 / "annotations_excluded.csv").write_text(
        "seriesuid,coordX,coordY,coordZ,diameter_mm\ns0,30,18,6,-1\n"
    )
    scan_examples(
        tmp_path / "out", scans, luna16, CandidateSource(candidates=[scans / "candidates.csv"])
    )
    examples = read_examples(tmp_path / "out")
    assert examples.is_trained_on.tolist() == [True, False, True] + [True] * 6
    assert examples.is_scored.tolist() == [True, True, False] * 3
    assert examples.fold.tolist() == [0, 0, 0], "without a table all are of one fold"


def test_blocks_take_lists_of_candidates_of_which_the_first_is_scored(data, tmp_path):
    blocks, truth = data
    header = "seriesuid,coordX,coordY,coordZ,probability\n"
    (tmp_path / "first.csv").write_text(header + "b2,14,18,20,0.9\n")
    (tmp_path / "more.csv").write_text(header + "b2,14,18,20,0.7\nb2,30,18,12,0.4\n")
    lists = [tmp_path / "first.csv", tmp_path / "more.csv"]
    block_examples(tmp_path / "out", blocks, truth, CandidateSource(candidates=lists), folds=[2])
    examples = read_examples(tmp_path / "out")
    # the nodule as it was listed, the place on the vessel, and the nodule itself
    assert examples.place.tolist() == [[20, 18, 14], [12, 18, 30], [20, 18, 14]]
    assert examples.is_scored.tolist() == [True, False, False]
    assert examples.is_nodule.tolist() == [True, False, True]


def test_wrong_folds_and_missing_images_are_reported(data, scans, tmp_path):
    _, truth = data
    folds = tmp_path / "folds.csv"
    folds.write_text("seriesuid,fold\ns0,first\n")
    with pytest.raises(InputError, match=r"folds\.csv: fold 'first' is not a number"):
        scan_examples(
            tmp_path / "out", scans, truth, CandidateSource(detectors="largecad"), folds=folds
        )
    empty = tmp_path / "empty"
    empty.mkdir()
    with pytest.raises(InputError, match="has no image of case"):
        scan_examples(tmp_path / "out", empty, truth, CandidateSource(detectors="largecad"))


def test_the_command_says_what_it_made(data, tmp_path, capsys):
    blocks, truth = data
    given = [
        "--reference",
        truth,
        "--blocks",
        blocks,
        "--detectors",
        "etrocad",
        "--block-folds",
        "3",
    ]
    assert run("examples", tmp_path / "out", *given) == 0
    assert " candidates in 1 images, 2 of them on nodules, " in capsys.readouterr().out
    assert run("examples", tmp_path / "out", "--reference", truth, "--blocks", blocks) == 2


@pytest.mark.slow
def test_a_network_that_finds_gives_candidates_and_its_own_list_is_scored(data, tmp_path):
    blocks, truth = data
    made = block_examples(
        tmp_path / "out", blocks, truth, CandidateSource(detectors="heatmap"), folds=[0]
    )
    listed = pl.read_csv(tmp_path / "out" / "candidates.csv")
    assert listed.height == made.scored > 0
    assert (
        np.isclose(
            listed.select("coordX", "coordY", "coordZ").to_numpy(), np.array(PLACE[::-1]), atol=2
        )
        .all(axis=1)
        .any()
    ), "the nodule is found"
    assert listed["probability"].is_between(0, 1).all()


@pytest.mark.slow
def test_detectors_and_a_network_give_one_merged_list(data, tmp_path):
    blocks, truth = data
    made = block_examples(
        tmp_path / "out", blocks, truth, CandidateSource(detectors="largecad+heatmap"), folds=[0]
    )
    place = pl.read_csv(tmp_path / "out" / "candidates.csv").select("coordX", "coordY", "coordZ")
    apart = np.linalg.norm(place.to_numpy()[:, None] - place.to_numpy()[None], axis=2)
    assert apart[~np.eye(len(apart), dtype=bool)].min() >= 5
    assert 0 < made.scored < made.candidates, "merged candidates are trained on, too"


@pytest.mark.parametrize("names", ["largecad+twoscale", "nodulebench"])
def test_a_scoring_network_is_refused(names, data, tmp_path):
    with pytest.raises(InputError, match="twoscale scores candidates of others"):
        block_examples(tmp_path / "out", *data, CandidateSource(detectors=names))
