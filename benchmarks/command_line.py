"""``nodulebench --help`` against a bare interpreter."""

from benchmarks.measure import cpu_of_command


def main() -> None:
    """Print CPU seconds of both."""
    bare = cpu_of_command("-c", "pass")
    shown = cpu_of_command("-m", "nodulebench", "--help")
    print(f"bare interpreter {bare:.3f} s, --help {shown:.3f} s: {shown - bare:.3f} s more")
