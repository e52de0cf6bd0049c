"""The programs that make the documentation's pages and pictures can be imported."""

import sys

from builders.places import ROOT

sys.path[:0] = [str(ROOT / "docs"), str(ROOT / "docs" / "draw")]
