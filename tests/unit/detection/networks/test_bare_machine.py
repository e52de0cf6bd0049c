"""Training runs where there is nothing but Python, numpy, torch and safetensors."""

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")

SOURCE = Path(__file__).parents[4] / "src"
PROGRAM = """
import sys

ABSENT = {"polars", "click", "scipy", "pydantic", "filelock", "sklearn", "jinja2"}

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ABSENT:
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, Absent())
from nodulebench.detection.networks import NETWORKS
from nodulebench.detection.networks import cross_validation, training, weights

print(len([NETWORKS[name] for name in NETWORKS]))
"""


def test_networks_need_no_other_package() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env={"PYTHONPATH": str(SOURCE)},
        capture_output=True,
        text=True,
        check=False,
    )

    assert (done.returncode, done.stderr) == (0, "")
    assert int(done.stdout) >= 9
