import sys
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture(autouse=True, scope="session")
def _one_thread() -> None:
    """Tests run side by side already."""
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(1)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Examples of balls (nodules) and tubes."""
    from builders.small_network import write_balls_and_tubes

    where = tmp_path_factory.mktemp("examples")
    write_balls_and_tubes(where)
    return where


@pytest.fixture(scope="module")
def examples(folder: Path) -> Any:
    """The same as they are read."""
    from nodulebench.detection.networks.examples import read_examples

    return read_examples(folder)
