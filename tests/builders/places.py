"""Where tests find the repository and real data."""

import os
from pathlib import Path

ROOT = Path(__file__).parents[2]
TEST_DATA = Path(os.environ.get("NODULEBENCH_TEST_DATA", ROOT.parent / "shared"))
