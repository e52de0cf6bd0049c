"""``python -m nodulebench`` is the command line."""

from nodulebench.cli import run

if __name__ == "__main__":  # processes that a command starts import this module too
    run()
