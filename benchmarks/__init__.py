"""Measurements, as ratios within one run; machines are noisy, so no test depends on them."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))  # builders
