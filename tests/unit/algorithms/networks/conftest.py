import sys

import pytest


@pytest.fixture(autouse=True, scope="session")
def _one_thread() -> None:
    """Tests run side by side already."""
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(1)
