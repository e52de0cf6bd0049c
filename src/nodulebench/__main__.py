"""``python -m nodulebench`` is the command line."""

from nodulebench.cli import run

run()
