"""Weights that ``network_folds`` wrote -> those of the package: eight bits instead of sixteen.

``python -m benchmarks.packed_weights OUT WEIGHTS...``; cards stay, but for the digest of numbers.
"""

import sys
from pathlib import Path

from nodulebench.detection.networks.weights import read_weights, write_weights


def main() -> None:
    """Write the small files."""
    out = Path(sys.argv[1])
    out.mkdir(parents=True, exist_ok=True)
    for path in map(Path, sys.argv[2:]):
        module, card = read_weights(path)
        write_weights(out / path.name, module, card, is_small=True)
        sizes = [file.stat().st_size / 1e6 for file in (path, out / path.name)]
        print(f"{path.name}: {sizes[0]:.2f} MB, now {sizes[1]:.2f} MB")


if __name__ == "__main__":
    main()
