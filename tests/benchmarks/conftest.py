"""Benchmarks are run from the root of the repository; tests of them import them from there."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))
