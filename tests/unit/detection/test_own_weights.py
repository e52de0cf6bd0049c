"""Files of weights are recognised by their content: a network, or a detector's classifier."""

from pathlib import Path

import numpy as np
import pytest

from builders.commands import run
from nodulebench.core.errors import InputError
from nodulebench.detection.classifiers.weights import TRAINED, classifier_of, write_weights
from nodulebench.detection.detect import require_known_fold
from nodulebench.detection.systems import read_system
from nodulebench.detection.weights import given_weights, own_classifiers

ALL = tuple(range(10))


def classifier(path: Path, of: str, name: str = "", folds: tuple[int, ...] = ()) -> Path:
    """The packaged classifier of a detector as a separate file."""
    features = TRAINED[of].names
    write_weights(path, classifier_of(of, None, features), features, name, folds)
    return path


def test_a_file_says_whose_classifier_it_holds_an_older_one_by_its_name(tmp_path: Path) -> None:
    mine = classifier(tmp_path / "mine", "m5l", "m5l", (0, 1))
    (file,) = given_weights([mine])
    assert (file.part, file.is_classifier, file.folds) == ("m5l", True, (0, 1))
    (older,) = given_weights([classifier(tmp_path / "mot_m5lv1.npz", "mot_m5lv1")])
    assert (older.part, older.folds) == ("mot_m5lv1", ())
    with pytest.raises(InputError, match=r"without the name of its detector\. Name the file"):
        given_weights([classifier(tmp_path / "mot.npz", "mot_m5lv1")])
    with pytest.raises(InputError, match="was trained on the features"):
        given_weights([classifier(tmp_path / "m5l.npz", "mot_m5lv1")])
    (tmp_path / "w.npz").write_bytes(b"nothing")
    with pytest.raises(InputError, match="is not a file of weights"):
        given_weights([tmp_path / "w.npz"])


def test_of_a_folder_only_weights_are_taken(tmp_path: Path) -> None:
    np.savez(tmp_path / "marks.npz", place=np.zeros(3))
    with pytest.raises(InputError, match="holds no weights"):
        given_weights([tmp_path])
    classifier(tmp_path / "mot.npz", "mot_m5lv1", "mot_m5lv1")
    assert [file.path.name for file in given_weights([tmp_path])] == ["mot.npz"]


def test_a_classifier_that_would_change_nothing_is_refused(tmp_path: Path) -> None:
    reduction = classifier(tmp_path / "look.npz", "second_look", "second_look")
    mot = classifier(tmp_path / "mot.npz", "mot_m5lv1", "mot_m5lv1")
    system = read_system("isicad+mot_m5lv1", [reduction, mot])
    assert system.names == ("isicad", "mot_m5lv1")
    assert [file.part for file in system.classifiers] == ["second_look", "mot_m5lv1"]
    with pytest.raises(InputError, match="classifier of mot_m5lv1, which isicad does not have"):
        read_system("isicad", [mot])
    etrocad = classifier(tmp_path / "e.npz", "etrocad", "etrocad")
    with pytest.raises(InputError, match=r"reports all that it finds.*Train second_look"):
        read_system("etrocad", [etrocad])


def test_of_several_folds_the_file_without_the_scans_scores(tmp_path: Path) -> None:
    paths = [
        classifier(tmp_path / f"{left}.npz", "m5l", "m5l", tuple(set(ALL) - {left}))
        for left in (3, 10)
    ]
    system = read_system("m5l", paths)
    chosen = [own_classifiers(system.classifiers, fold)["m5l"].path.stem for fold in (3, 5, None)]
    assert chosen == ["3", "10", "10"]
    require_known_fold(system, 3)
    require_known_fold(system, None)
    with pytest.raises(
        InputError, match=r"m5l was trained on fold 5\. Train it with --without-fold"
    ):
        require_known_fold(system, 5)


@pytest.mark.slow
@pytest.mark.parametrize("what", ["list", "show", "verify"])
def test_what_shows_networks_says_what_a_classifier_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], what: str
) -> None:
    pytest.importorskip("torch", reason="the extra 'networks' is not installed")
    assert run("weights", what, classifier(tmp_path / "w.npz", "m5l", "m5l")) == 1
    errors = capsys.readouterr().err
    assert "w.npz: holds the classifier of a detector (m5l), not a network. `detect` and" in errors
