from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="the extra 'networks' is not installed")
pytestmark = pytest.mark.slow

from nodulebench.core.errors import InputError, UnknownNameError
from nodulebench.detection import systems as system_module
from nodulebench.detection import weights as classifiers
from nodulebench.detection.classifiers.weights import TRAINED, classifier_of
from nodulebench.detection.classifiers.weights import (
    write_weights as write_classifier,
)
from nodulebench.detection.detect import (
    LUNA16,
    TrainingProvenance,
    require_known_fold,
    training_provenance,
)
from nodulebench.detection.held_out import Fold, series_digest
from nodulebench.detection.networks import DETECTION_NETWORKS, NETWORKS
from nodulebench.detection.networks.cards import ModelCard
from nodulebench.detection.networks.weights import write_weights
from nodulebench.detection.scan import Candidates, Chest, prepare_scan
from nodulebench.detection.systems import (
    NOT_PROPOSED,
    System,
    candidates_in,
    combine_probabilities,
    detect_each,
    read_system,
    system_names,
    with_network_positions,
)
from nodulebench.imaging.lungs import Lungs
from nodulebench.imaging.volume import Volume, make_volume

BALL_MM = np.array([31.0, 27.0, 24.0])


class Bright(torch.nn.Module):
    """A heat map that is hot where it is bright."""

    def __init__(self) -> None:
        super().__init__()
        self.scale = torch.nn.Parameter(torch.tensor([20.0]))

    def forward(self, seen: "torch.Tensor") -> "torch.Tensor":
        means = torch.nn.functional.avg_pool3d(seen[:, None], 2)
        smooth = torch.nn.functional.avg_pool3d(means, 3, 1, 1)
        size = torch.full_like(smooth, float(np.log(8.0)))
        return torch.cat([(smooth - 0.5) * self.scale, size], dim=1)


@pytest.fixture
def weights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Weights of a heat map and of a scoring network, which were trained on the scan ``known``."""
    monkeypatch.setitem(
        DETECTION_NETWORKS._loaded, "heatmap", replace(DETECTION_NETWORKS["heatmap"], build=Bright)
    )
    series = {0: (series_digest("known"),)}
    torch.manual_seed(0)
    for name, module in (("heatmap", Bright()), ("m5lcad", NETWORKS["m5lcad"].build())):
        card = ModelCard(name, 0, 1, "", "", (0,), series=series)
        write_weights(tmp_path / f"{name}-all.safetensors", module, card)
    return tmp_path


@pytest.fixture(scope="module")
def scan() -> tuple[Chest, Volume]:
    """A ball in a lung, and another outside of it."""
    grid = np.stack(np.meshgrid(*map(np.arange, (60, 72, 80)), indexing="ij"), axis=-1) * 0.8
    hu = np.full(grid.shape[:3], -850, dtype=np.int16)
    for center in (BALL_MM[::-1], np.array([24.0, 27.0, 4.0])):
        hu[np.linalg.norm(grid - center, axis=-1) < 4] = 30
    volume = make_volume(hu, spacing_mm=(0.8, 0.8, 0.8))
    label = np.zeros(hu.shape, dtype=np.uint8)
    label[10:50, 12:60, 24:70] = 1
    return prepare_scan(volume, "scan", Lungs(label, volume.geometry)), volume


def test_names_give_detectors_and_scoring_networks() -> None:
    assert system_names("isicad + twoscale") == ("isicad", "twoscale")
    assert system_names("nodulebench")[-1] == "twoscale"
    # ZNET is both of its halves, next to others only the second
    assert system_names("znet") == ("znet_unet", "znet")
    assert system_names("isicad+znet") == ("isicad", "znet")
    with pytest.raises(InputError, match="scores candidates and finds none"):
        system_names("twoscale")
    with pytest.raises(InputError, match="names isicad twice"):
        system_names("isicad+isicad")
    with pytest.raises(UnknownNameError, match="'isicat' is not a candidate detector"):
        system_names("isicat+twoscale")


def test_given_weights_join_a_system_and_a_network_without_any_is_refused(weights: Path) -> None:
    system = read_system("isicad", [weights])

    assert system.names == ("isicad", "heatmap", "m5lcad")
    assert (system.detectors, system.detection_networks) == (("isicad",), ("heatmap",))
    assert system.scoring_networks == ("m5lcad",)
    with pytest.raises(InputError, match="network 'znet': has no weights in the package"):
        read_system("isicad+znet")


def test_a_named_system_submits_under_its_name_unless_weights_change_its_parts(
    weights: Path,
) -> None:
    assert read_system("nodulebench").name == "nodulebench"
    own = read_system("nodulebench", [weights / "heatmap-all.safetensors"])
    assert own.name == "nodulebench"
    assert weights / "heatmap-all.safetensors" in own.weights
    more = read_system("nodulebench", [weights])
    assert more.name == "+".join((*system_names("nodulebench"), "m5lcad"))
    assert read_system("isicad + etrocad").name == "isicad+etrocad"


def test_a_detection_network_finds_nodules_in_the_lungs(
    weights: Path, scan: tuple[Chest, Volume]
) -> None:
    system = read_system("heatmap", [weights / "heatmap-all.safetensors"])

    candidates, notices = candidates_in(system, *scan, series=("other",))

    assert len(candidates) == 1
    assert np.linalg.norm(candidates.center_mm[0] - BALL_MM) < 1.0
    assert candidates.diameter_mm[0] == pytest.approx(8.0, rel=0.01)
    assert notices == ()
    _, notices = candidates_in(system, *scan, series=("known",))
    assert [notice.code for notice in notices] == ["weights_saw_scans"]


def test_candidates_of_a_detection_network_are_scored_by_another(
    weights: Path, scan: tuple[Chest, Volume]
) -> None:
    separate, _ = candidates_in(
        read_system("heatmap", [weights / "heatmap-all.safetensors"]), *scan, series=("x",)
    )
    scored, _ = candidates_in(read_system("heatmap+m5lcad", [weights]), *scan, series=("x",))

    assert np.array_equal(scored.center_mm, separate.center_mm)
    assert scored.score[0] != separate.score[0]


def test_a_detection_network_with_detectors_adds_places_and_scores_theirs(
    weights: Path, scan: tuple[Chest, Volume], monkeypatch: pytest.MonkeyPatch
) -> None:
    own = Candidates(
        np.array([BALL_MM + 1.0, [40.0, 40.0, 20.0]]), np.array([0.5, 0.5]), np.full(2, 5.0)
    )
    monkeypatch.setattr(system_module, "propose_each", lambda *_, **__: {"isicad": own})
    monkeypatch.setattr(system_module, "candidates_to_score", lambda candidates, *_: candidates)
    system = read_system("isicad", [weights / "heatmap-all.safetensors"])

    candidates, _ = candidates_in(system, *scan, series=("x",))

    # the ball was proposed, and is where the heat map has it; elsewhere the heat map sees nothing
    assert len(candidates) == 2
    assert np.linalg.norm(candidates.center_mm[0] - BALL_MM) < 1.0
    assert np.array_equal(candidates.center_mm[1], own.center_mm[1])
    assert candidates.score[0] > 0.5 > candidates.score[1]
    less = {"isicad": own.chosen([False, True])}
    monkeypatch.setattr(system_module, "propose_each", lambda *_, **__: less)
    separate, _ = candidates_in(system, *scan, series=("x",))
    assert len(separate) == 2
    place = separate.center_mm[np.linalg.norm(separate.center_mm - BALL_MM, axis=1).argmin()]
    assert np.linalg.norm(place - BALL_MM) < 1.0


@pytest.fixture
def folded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A heat map and a scoring network, without fold 3 and of all folds; both saw ``known``."""
    monkeypatch.setitem(
        DETECTION_NETWORKS._loaded, "heatmap", replace(DETECTION_NETWORKS["heatmap"], build=Bright)
    )
    series = {0: ("x",), 3: (series_digest("known"),)}
    for number, folds in enumerate([(0,), (0, 3)]):
        torch.manual_seed(number)
        for name, module in (("heatmap", Bright()), ("m5lcad", NETWORKS["m5lcad"].build())):
            card = ModelCard(name, 0, 1, f"{name} data", "", folds, series=series)
            write_weights(tmp_path / f"{name}-{number}.safetensors", module, card)
    return tmp_path


def scores(system: System, scan: tuple[Chest, Volume], fold: Fold, name: str) -> list[float]:
    candidates, _ = candidates_in(system, *scan, fold=fold, series=(name,))
    return [float(score) for score in candidates.score]


def test_a_fold_that_is_named_reaches_the_networks(
    folded: Path, scan: tuple[Chest, Volume]
) -> None:
    both = read_system("heatmap+m5lcad", [folded])
    without = read_system(
        "heatmap+m5lcad", [folded / f"{name}-0.safetensors" for name in ("heatmap", "m5lcad")]
    )
    whole = read_system(
        "heatmap+m5lcad", [folded / f"{name}-1.safetensors" for name in ("heatmap", "m5lcad")]
    )
    apart, together_ = (scores(weights_, scan, "auto", "renamed") for weights_ in (without, whole))
    assert apart != together_
    # under any name of the scan
    assert scores(both, scan, 3, "renamed") == apart
    assert scores(both, scan, None, "renamed") == together_
    assert scores(both, scan, None, "known") == together_
    # by itself it is scored as its name implies
    assert scores(both, scan, "auto", "renamed") == together_
    assert scores(both, scan, "auto", "known") == apart
    _, notices = candidates_in(both, *scan, fold=None, series=("known",))
    assert [weights_.code for weights_ in notices] == ["weights_saw_scans"]


def test_the_cards_state_what_was_trained_on(folded: Path) -> None:
    own = read_system("isicad+twoscale", [folded])
    assert training_provenance(own, "auto", ("known",)) == (
        TrainingProvenance(LUNA16, ()),
        TrainingProvenance("heatmap (heatmap data)", (3,)),
        TrainingProvenance("m5lcad (m5lcad data)", (3,)),
    )
    assert training_provenance(own, None, ("known",))[1] == TrainingProvenance(
        "heatmap (heatmap data)", (), True
    )
    assert training_provenance(own, 3, ("renamed",))[0] == TrainingProvenance(LUNA16, (3,))
    assert training_provenance(read_system("nodulebench"), "auto", ("any",)) == (
        TrainingProvenance(LUNA16, ()),
    )
    # the packaged U-Net left fold 0 or 1 out, in every system
    assert training_provenance(read_system("znet_unet"), "auto", ("any",)) == (
        TrainingProvenance(LUNA16, (0,)),
    )


def test_a_fold_that_no_weights_left_out_is_refused_before_a_scan_is_read(folded: Path) -> None:
    system = read_system("heatmap+m5lcad", [folded])
    for fold in ("auto", None, 3):
        require_known_fold(system, fold)
    with pytest.raises(
        InputError, match=r"network 'heatmap': none of its weights left fold 5 out.*without: 3"
    ):
        require_known_fold(system, 5)
    some = read_system("heatmap", [folded / "heatmap-0.safetensors"])
    with pytest.raises(InputError, match="'heatmap': none of its weights was trained on all folds"):
        require_known_fold(some, None)
    require_known_fold(read_system("nodulebench"), 9)
    require_known_fold(read_system("nodulebench"), None)


def test_given_classifiers_decide_in_place_of_the_packages(
    tmp_path: Path, scan: tuple[Chest, Volume], monkeypatch: pytest.MonkeyPatch
) -> None:
    files = []
    for name in ("mot_m5lv1", "second_look"):
        features = TRAINED[name].names
        whole = classifier_of(name, None, features)
        files.append(tmp_path / f"{name}.npz")
        no_nodule = replace(whole, output_bias=whole.output_bias - 100)
        write_classifier(files[-1], no_nodule, features, name, (0,))

    usual, _ = candidates_in(read_system("mot_m5lv1"), *scan)
    dropped, notices = candidates_in(read_system("mot_m5lv1", files[:1]), *scan)
    unlikely, _ = candidates_in(read_system("largecad", files[1:]), *scan)
    separate, _ = candidates_in(read_system("largecad"), *scan)

    assert (len(usual) > 0, len(dropped), notices) == (True, 0, ())
    assert len(separate) > len(unlikely)
    monkeypatch.setattr(classifiers, "fold_of_series", lambda *_: 0)
    _, notices = candidates_in(read_system("mot_m5lv1", files[:1]), *scan, series=("known",))
    assert [notice.code for notice in notices] == ["weights_saw_scans"]


def along_x(*rows: tuple[float, float]) -> Candidates:
    """Candidates at places on the x axis, with their scores; 6 mm wide."""
    x, score = np.array(rows).reshape(-1, 2).T
    return Candidates(x[:, None] * [1.0, 0.0, 0.0], score, np.full(len(x), 6.0))


def test_likely_places_are_where_the_network_has_them_with_the_scores_there() -> None:
    detectors = along_x((0.0, 0.7), (3.0, 0.9), (20.0, 0.4), (40.0, 0.2))
    network = along_x((1.5, 0.8), (16.0, 0.049), (60.0, 0.05))

    combined = with_network_positions(detectors, network)

    # 0 and 3 mm are within 5 mm of 1.5; a candidate less likely than 0.05 moves no other
    assert combined.center_mm[:, 0].tolist() == [1.5, 60.0, 20.0, 40.0]
    assert combined.score.tolist() == [0.9, NOT_PROPOSED, 0.4, 0.2]


def test_without_places_or_without_detectors_nothing_is_lost() -> None:
    some = along_x((0.0, 0.7), (9.0, 0.9))

    assert with_network_positions(some, along_x()).center_mm.tolist() == some.center_mm.tolist()
    assert with_network_positions(along_x(), some).score.tolist() == [NOT_PROPOSED, NOT_PROPOSED]
    assert len(with_network_positions(along_x(), along_x())) == 0


def test_probabilities_agree_on_the_mean_of_their_log_odds() -> None:
    probability = combine_probabilities([np.array([0.5, 0.9, 0.2]), np.array([0.5, 0.1, 0.2])])

    assert probability == pytest.approx([0.5, 0.5, 0.2])
    # odds of 9 and 1 / 4: the mean of their logarithms is that of 1.5
    assert combine_probabilities([np.array([0.9]), np.array([0.2])]) == pytest.approx([0.6])
    assert 0 < combine_probabilities([np.array([0.0]), np.array([0.5])])[0] < 0.01


def test_each_detects_for_itself_and_a_network_not_in_its_training_data(
    weights: Path, scan: tuple[Chest, Volume], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(system_module, "packaged_weights", lambda _: weights)
    chest, _ = scan
    detected = detect_each(("heatmap", "largecad"), chest, None, "unknown")
    assert list(detected) == ["heatmap", "largecad"]
    assert np.linalg.norm(detected["heatmap"].center_mm[0] - BALL_MM) < 2
    with pytest.raises(InputError, match="were trained on 'known'") as raised:
        detect_each(("heatmap",), chest, None, "known")
    assert "weights show" in str(raised.value)
