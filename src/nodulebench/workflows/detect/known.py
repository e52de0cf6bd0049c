"""The detectors and networks there are, without loading any."""

from nodulebench.algorithms.candidates import DETECTORS
from nodulebench.algorithms.networks import NETWORKS


def known_detectors() -> list[str]:
    """The names of all detectors, those of other packages last."""
    return list(DETECTORS)


def known_networks() -> list[str]:
    """The names of all networks, those of other packages last."""
    return list(NETWORKS)
