"""Networks that tell nodules from false positives: what they see, how they learn and judge."""

from typing import TYPE_CHECKING

from nodulebench.registry import Registry

if TYPE_CHECKING:
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
    "twoscale_small": "twoscale",
}
"""Each network's file."""

NETWORKS: "Registry[Network]" = Registry(
    "network",
    "networks",
    {name: f"{__name__}.architectures.{file}:{name.upper()}" for name, file in NAMES.items()},
)
"""Needs PyTorch (the extra ``networks``) as soon as one is asked for."""
