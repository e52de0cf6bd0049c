"""Networks that find nodules, or judge candidates: what they see, how they learn and answer."""

from typing import TYPE_CHECKING

from nodulebench.registry import Registry

if TYPE_CHECKING:
    from nodulebench.algorithms.networks.finders.finder import Finder
    from nodulebench.algorithms.networks.network import Network

NAMES = {
    "cumedvis_a": "cumedvis",
    "cumedvis_b": "cumedvis",
    "cumedvis_c": "cumedvis",
    "jackfpr": "jackfpr",
    "diag_convnet": "diag_convnet",
    "znet": "znet",
    "cadimi": "cadimi",
    "m5lcad": "m5lcad",
    "twoscale": "twoscale",
}
"""Each network's file."""

NETWORKS: "Registry[Network]" = Registry(
    "network",
    "networks",
    {name: f"{__name__}.architectures.{file}:{name.upper()}" for name, file in NAMES.items()},
)
"""Needs PyTorch (the extra ``networks``) as soon as one is asked for."""

FINDERS: "Registry[Finder]" = Registry(
    "finding network",
    "finders",
    {name: f"{__name__}.finders.{name}:{name.upper()}" for name in ("heatmap", "znet_unet")},
)
"""Those that look for nodules by themselves."""


def network_named(name: str) -> "Network | Finder":
    """A network that judges candidates, or one that finds them.

    Raises:
        UnknownNameError: if there is none of that name.
    """
    return FINDERS[name] if name in FINDERS else NETWORKS[name]
