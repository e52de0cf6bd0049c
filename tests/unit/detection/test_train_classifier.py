import numpy as np
import polars as pl
import pytest

from builders.blocks import block_voxels, write_blocks
from nodulebench.cli import main
from nodulebench.core.errors import InputError, UnknownNameError
from nodulebench.detection import train_classifier as train_module
from nodulebench.detection.classifiers.models import Examples
from nodulebench.detection.classifiers.weights import TRAINED, read_weights
from nodulebench.detection.train_classifier import (
    block_examples,
    collect_examples,
    hits,
    nodules_hit,
    scan_examples,
    train_classifier,
    train_on,
)
from nodulebench.imaging.volume import make_volume
from nodulebench.io.images import metaimage
from nodulebench.io.marks.luna16 import read_reference


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """Ten folds with a block each, and their nodules as LUNA16 gives them."""
    return write_blocks(tmp_path_factory.mktemp("data"))


def test_candidates_of_nodules_and_others_are_labelled(data):
    blocks, truth = data
    lessons = block_examples(blocks, read_reference(truth), range(4))
    examples = collect_examples("etrocad", lessons)
    assert set(examples.case) == set(examples.fold) == {0, 1, 2, 3}
    assert sorted(examples.nodule[examples.is_nodule]) == [0, 1, 2, 3], "numbered through"
    assert not examples.is_whole.any()
    assert examples.is_nodule.sum() == 4, "each nodule has its one candidate"
    assert (~examples.is_nodule).sum() >= 4
    assert examples.features.shape[1] == len(TRAINED["etrocad"].names)


def test_a_candidate_hits_within_the_radius_and_an_ignored_finding_without_size_within_five():
    inside = pl.DataFrame(
        {
            "x_mm": [0.0, 100.0],
            "y_mm": [0.0, 0.0],
            "z_mm": [0.0, 0.0],
            "diameter_mm": [6.0, None],
            "is_ignored": [False, True],
        }
    )
    place = np.array([[2.9, 0, 0], [3.0, 0, 0], [104.9, 0, 0], [105.1, 0, 0]])
    on_nodule, on_ignored = hits(place, inside)
    assert on_nodule.tolist() == [True, False, False, False]
    assert on_ignored.tolist() == [False, False, True, False]
    assert nodules_hit(place, inside).tolist() == [0, -1, -1, -1]
    assert nodules_hit(place, inside.clear()).tolist() == [-1] * 4


def test_each_fold_is_tested_by_a_classifier_of_the_others():
    from sklearn.metrics import roc_auc_score

    random = np.random.default_rng(0)
    is_nodule = random.random(400) < 0.3
    features = random.standard_normal((400, 15))
    fold = np.arange(400) % 4
    # the sign of the first feature tells nodules, but in fold 3 the other way round
    features[:, 0] = np.where(is_nodule, 2.0, -2.0) * np.where(fold == 3, -1.0, 1.0)
    nodule = np.where(is_nodule, np.arange(400), -1)
    examples = Examples(features, nodule, np.arange(400), fold, np.zeros(400, bool))
    tested = examples.of_folds([3])
    score = train_on("mot_m5lv1", examples, [0, 1, 2]).score(tested.features)
    area = roc_auc_score(tested.is_nodule, score)
    assert area < 0.3, "a classifier that had seen fold 3 would do better"


@pytest.mark.slow
def test_the_command_trains_writes_weights_and_repeats_them(data, tmp_path, capsys):
    blocks, truth = data
    written = []
    for name in ("first.npz", "again.npz"):
        arguments = ["train", "etrocad", "--blocks", blocks, "--reference", truth]
        with pytest.raises(SystemExit) as stopped:
            main([*map(str, arguments), "--out", str(tmp_path / name), "--without-fold", "9"])
        assert stopped.value.code == 0
        written.append((tmp_path / name).read_bytes())
    assert written[0] == written[1]
    last_line = capsys.readouterr().out.splitlines()[-1]
    assert "9 of them nodules, of 9 blocks and scans; wrote " in last_line
    classifier = read_weights(tmp_path / "first.npz", TRAINED["etrocad"].names)
    unseen = collect_examples("etrocad", block_examples(blocks, read_reference(truth), [9]))
    score = classifier.score(unseen.features)
    assert score[unseen.is_nodule].min() > score[~unseen.is_nodule].max()


def test_a_detector_without_a_classifier_is_refused(data, tmp_path):
    blocks, truth = data
    with pytest.raises(UnknownNameError, match="there is no trained detector 'isicad'"):
        train_classifier("isicad", blocks, truth, tmp_path / "w.npz")


def test_nothing_to_learn_from_is_refused():
    with pytest.raises(InputError, match="no blocks of these folds and no scans"):
        collect_examples("etrocad", [])


def test_images_of_two_files_as_luna16_has_them_are_one_scan_each(data, tmp_path, monkeypatch):
    _, truth = data
    hu = block_voxels(0).astype(np.int16) * 16 - 1024
    metaimage.write_volume(make_volume(hu, spacing_mm=(1, 1, 1)), tmp_path / "s0.mhd")
    assert len(list(tmp_path.iterdir())) == 2
    monkeypatch.setattr(train_module, "prepare_scan", lambda volume, _: volume)
    examples = list(scan_examples(tmp_path, read_reference(truth), {"s0": 3}))
    assert [(example.name, example.fold, example.is_whole) for example in examples] == [
        ("s0", 3, True)
    ]
