"""The detectors there are, without loading any."""

from nodulebench.algorithms.candidates import DETECTORS


def known_detectors() -> list[str]:
    """The names of all detectors, those of other packages last."""
    return list(DETECTORS)
