import numpy as np
import polars as pl
import pytest

torch = pytest.importorskip("torch", reason="the extra 'networks' is not installed")
pytestmark = pytest.mark.slow


from builders.commands import run
from nodulebench.core.errors import InputError
from nodulebench.detection.catalogue import system_parts
from nodulebench.detection.held_out import digests_by_fold, series_digest
from nodulebench.detection.networks import NETWORKS
from nodulebench.detection.networks.cards import ModelCard
from nodulebench.detection.networks.weights import read_weights, write_weights
from nodulebench.detection.systems import system_names
from nodulebench.detection.trained_networks import ClassifierPanel, average_scores, read_panel
from nodulebench.imaging.volume import make_volume
from nodulebench.io.dicom import volumes as dicom_volume
from nodulebench.io.dicom.header import SeriesHeader, uid_from
from nodulebench.io.formats import read_submission
from nodulebench.io.images import metaimage, nifti

PLACES = ((12.0, 10.0, 8.0), (20.5, 15.0, 9.0))
SERIES = digests_by_fold((series_digest(f"scan-{fold}"), fold) for fold in range(3))


@pytest.fixture(scope="module")
def volume():
    hu = np.random.default_rng(0).normal(-700, 150, (20, 40, 44)).astype(np.int16)
    return make_volume(hu, spacing_mm=(0.7, 0.7, 1.0), origin_mm=(0, 0, 0))


@pytest.fixture(scope="module")
def weights(tmp_path_factory):
    """Weights without fold 0, without fold 1, and of all."""
    folder = tmp_path_factory.mktemp("weights")
    for seed, folds in enumerate([(1, 2), (0, 2), (0, 1, 2)]):
        torch.manual_seed(seed)
        card = ModelCard("m5lcad", seed, 1, "noise", "", folds, series=SERIES)
        write_weights(folder / f"w{seed}.safetensors", NETWORKS["m5lcad"].build(), card)
    return folder


def candidates_of(folder, *names):
    rows = [f"{name},{x},{y},{z},0" for name in names for x, y, z in PLACES]
    path = folder / "candidates.csv"
    path.write_text("\n".join(["seriesuid,coordX,coordY,coordZ,class", *rows]) + "\n")
    return path


def test_each_scan_is_scored_by_weights_that_never_saw_it(volume, weights, tmp_path, capsys):
    names = [f"scan-{fold}" for fold in range(3)] + ["elsewhere"]
    for name in names:
        metaimage.write_volume(volume, tmp_path / f"{name}.mhd")
    given = ["rescore", "m5lcad", candidates_of(tmp_path, *names), "--images", tmp_path]
    assert run(*given, "--weights", weights, "--out", tmp_path / "marks.csv") == 0
    captured = capsys.readouterr()
    assert "wrote" in captured.out
    assert "8 candidates of 4 scans" in captured.out
    assert "1 of 4 scans was scored by weights that were trained on it: 'scan-2'" in captured.err
    rescored = pl.read_csv(tmp_path / "marks.csv")
    assert rescored["seriesuid"].to_list() == [name for name in names for _ in PLACES]
    scores = rescored["probability"].to_numpy().reshape(4, 2)
    expected = []
    for number in range(3):
        panel = read_panel("m5lcad", [weights / f"w{number}.safetensors"])
        expected.append(panel.score(volume, "scan", np.array(PLACES), ["?"]).score)
    assert np.allclose(scores, [expected[0], expected[1], expected[2], expected[2]], atol=1e-6)


def test_images_of_every_kind_give_the_same_probabilities(volume, weights, tmp_path):
    series = uid_from("rescore", "series")
    header = SeriesHeader(
        series,
        uid_from("rescore", "study"),
        uid_from("rescore", "frame"),
        "rescore",
        slice_thickness_mm=1.0,
        rescale_intercept=-2000,
    )
    scores = []
    for kind in ("metaimage", "nifti", "dicom"):
        folder = tmp_path / kind
        folder.mkdir()
        if kind == "dicom":
            dicom_volume.write_volume(volume, folder / "any", header)
        elif kind == "nifti":
            nifti.write_volume(volume, folder / f"{series}.nii.gz")
        else:
            metaimage.write_volume(volume, folder / f"{series}.mhd")
        given = ["rescore", "m5lcad", candidates_of(tmp_path, series), "--images", folder]
        assert run(*given, "--weights", weights, "--out", tmp_path / f"{kind}-marks") == 0
        scores.append(read_submission(tmp_path / f"{kind}-marks").marks["score"].to_numpy())
    assert np.allclose(scores[1], scores[0], atol=1e-6)
    assert np.allclose(scores[2], scores[0], atol=1e-6)


def test_several_networks_are_averaged(volume, weights, tmp_path):
    torch.manual_seed(7)
    module = NETWORKS["cadimi"].build()
    write_weights(tmp_path / "c.safetensors", module, ModelCard("cadimi", 0, 1, "", "", ()))
    both = read_panel("m5lcad+cadimi", [weights, tmp_path / "c.safetensors"])
    each = [
        read_panel("m5lcad", [weights]),
        read_panel("cadimi", [tmp_path / "c.safetensors"]),
    ]
    place = np.array(PLACES)
    mean = np.mean([panel.score(volume, "scan", place, ["?"]).score for panel in each], axis=0)
    assert both.name == "m5lcad+cadimi"
    assert np.allclose(both.score(volume, "scan", place, ["?"]).score, mean)


def test_no_candidates_have_no_probabilities(volume, weights):
    panel = read_panel("m5lcad", [weights])
    assert panel.score(volume, "scan", np.empty((0, 3)), ["?"]).score.tolist() == []


def test_wrong_candidates_are_reported(volume, weights, tmp_path, capsys):
    metaimage.write_volume(volume, tmp_path / "a.mhd")
    path = candidates_of(tmp_path, "a", "b")
    given = ["--images", tmp_path, "--weights", weights, "--out", tmp_path / "marks"]
    assert run("rescore", "m5lcad", path, *given) == 1
    assert "has no image of case 'b'" in capsys.readouterr().err
    path.write_text("seriesuid,coordX,coordY,coordZ,class\na,500,0,0,0\n")
    assert run("rescore", "m5lcad", path, *given) == 1
    assert "candidate 1 of case 'a': (500, 0, 0) is outside the image" in capsys.readouterr().err
    with pytest.raises(
        InputError, match=r"no weights of the network 'znet'\. There are weights of"
    ):
        read_panel("znet", [weights])


def test_nothing_is_scored_if_an_image_is_missing(volume, weights, tmp_path, capsys, monkeypatch):
    metaimage.write_volume(volume, tmp_path / "a.mhd")
    asked = []
    monkeypatch.setattr(ClassifierPanel, "score", lambda *given: asked.append(given))
    given = ["rescore", "m5lcad", candidates_of(tmp_path, "a", "b", "c"), "--images", tmp_path]
    assert run(*given, "--weights", weights, "--out", tmp_path / "marks.csv") == 1
    errors = capsys.readouterr().err
    assert "has no image of case 'b'" in errors
    assert "has no image of case 'c'" in errors
    assert asked == []


def test_a_detection_network_is_refused(tmp_path, capsys):
    given = ["rescore", "heatmap", candidates_of(tmp_path, "a"), "--images", tmp_path]
    assert run(*given, "--out", tmp_path / "marks.csv") == 1
    errors = capsys.readouterr().err
    assert "network 'heatmap': finds nodules itself, and does not score candidates" in errors
    assert "nodulebench detect heatmap" in errors


def test_weights_are_read_as_they_were_written(weights):
    module, card = read_weights(weights / "w0.safetensors")
    assert card.folds == (1, 2)
    assert not module.training


def test_networks_of_one_paper_count_as_one_by_their_shares() -> None:
    a, b, c = (np.array([score]) for score in (0.2, 0.6, 0.9))
    # 0.3 x 0.2 + 0.4 x 0.6 + 0.3 x 0.9
    fused = average_scores({"cumedvis_a": a, "cumedvis_b": b, "cumedvis_c": c})
    assert fused == pytest.approx([0.57])
    # two of them: (0.3 x 0.2 + 0.4 x 0.6) / 0.7
    assert average_scores({"cumedvis_a": a, "cumedvis_b": b}) == pytest.approx([0.3 / 0.7])
    # together with another network they count as one
    with_other = {"cumedvis_a": a, "twoscale": c, "cumedvis_b": b, "cumedvis_c": c}
    assert average_scores(with_other) == pytest.approx([(0.57 + 0.9) / 2])
    assert average_scores({"znet": a, "twoscale": b}) == pytest.approx([0.4])


def test_cumedvis_is_its_three_networks() -> None:
    assert system_parts("cumedvis") == ("cumedvis_a", "cumedvis_b", "cumedvis_c")
    assert system_parts("etrocad + cumedvis")[0] == "etrocad"
    assert system_names("etrocad+cumedvis")[1:] == system_parts("cumedvis")
    assert system_parts("znet") == ("znet",), "rescore means only the network"
