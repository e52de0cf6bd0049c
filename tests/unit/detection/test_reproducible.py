"""What the documentation promises of probabilities: equal bits here, the last digits elsewhere."""

import json
import subprocess
import sys

import numpy as np
import pytest

from builders.machines import older_processor, with_threads

pytest.importorskip("torch", reason="the extra 'networks' is not installed")
pytestmark = pytest.mark.slow

PROGRAM = """
import json
import numpy as np
from nodulebench.detection.block_grid import BlockVoxels
from nodulebench.detection.classifiers.weights import TRAINED
from nodulebench.detection.classifiers.weights import classifier_of
from nodulebench.detection.networks import DETECTION_NETWORKS
from nodulebench.detection.networks.inference import best_device
from nodulebench.detection.networks.detection_network import search
from nodulebench.detection.networks.cards import packaged_weights
from nodulebench.detection.networks.patches import scans_of
from nodulebench.imaging.volume import make_volume
from nodulebench.detection.trained_networks import trained_network

random, scores = np.random.default_rng(0), {}
for name in TRAINED:
    classifier = classifier_of(name, None, TRAINED[name].names, None)
    features = random.normal(classifier.mean, classifier.spread, (50, len(classifier.mean)))
    scores[name] = classifier.score(features)

voxels = random.integers(0, 90, (32, 40, 40)).astype(np.uint8)
for center in random.uniform(8, 24, (6, 3)):
    voxels[((np.indices(voxels.shape) - center[:, None, None, None]) ** 2).sum(axis=0) < 16] = 68
geometry = make_volume(np.zeros(voxels.shape, dtype=np.int16), spacing_mm=(1, 1, 1)).geometry
places = random.uniform(8, 24, (8, 3))
classifier = trained_network("twoscale", (packaged_weights("twoscale"),))
block = BlockVoxels(voxels, geometry)
scores["twoscale"] = classifier.score(block, places, classifier.choose(["scan"]), 1)

network = trained_network("heatmap", (packaged_weights("heatmap"),))
scans = scans_of([voxels], [[1.0, 1.0, 1.0]], step_hu=16.0, lowest_hu=-1024.0).to(best_device())
corners = [scans.shape.new_tensor(corner) for corner in ([0, 0, 0], [31, 39, 39])]
module = network.module(network.choose(["scan"]))
result = search(module, DETECTION_NETWORKS["heatmap"], scans, 0, *corners)
scores["heatmap"] = result.score.cpu().numpy()
print(json.dumps({name: score.tolist() for name, score in scores.items()}))
"""


def scores_of(environment: dict[str, str]) -> str:
    command = [sys.executable, "-c", PROGRAM]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def scores() -> str:
    return scores_of(with_threads(1))


def test_the_same_machine_and_threads_give_equal_bits(scores: str) -> None:
    assert scores_of(with_threads(1)) == scores


@pytest.mark.parametrize("machine", [with_threads(2), older_processor()], ids=["threads", "old"])
def test_elsewhere_probabilities_are_equal_within_a_millionth(
    scores: str, machine: dict[str, str]
) -> None:
    here, elsewhere = json.loads(scores), json.loads(scores_of(machine))
    assert here.keys() == elsewhere.keys()
    for name, score in here.items():
        assert len(score) >= 8
        assert np.ptp(score) > 0.01, name
        np.testing.assert_allclose(elsewhere[name], score, rtol=0, atol=1e-6, err_msg=name)
