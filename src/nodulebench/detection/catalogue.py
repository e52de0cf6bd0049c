"""The detectors and networks there are, without loading any."""

from nodulebench.detection.candidates import DETECTORS
from nodulebench.detection.networks import DETECTION_NETWORKS, NETWORKS

SYSTEMS = {
    "nodulebench": "isicad+subsolidcad+largecad+etrocad+m5l+heatmap+twoscale",
    "znet": "znet_unet+znet",
}
"""Complete systems that have their own name."""
FUSIONS = {"cumedvis": "cumedvis_a+cumedvis_b+cumedvis_c"}
"""Names of several scoring networks that are used together."""


def system_parts(text: str) -> tuple[str, ...]:
    """The parts of ``a+b+c``; a name of several scoring networks gives all of them."""
    names = (name.strip() for name in text.split("+"))
    return tuple(part for name in names for part in FUSIONS.get(name, name).split("+"))


def known_detectors() -> list[str]:
    return [*SYSTEMS, *DETECTORS, *DETECTION_NETWORKS]


def scoring_networks() -> list[str]:
    """The names of all networks that score candidates, and of several of them as one."""
    return [*NETWORKS, *FUSIONS]


def known_networks() -> list[str]:
    return [*NETWORKS, *DETECTION_NETWORKS]
