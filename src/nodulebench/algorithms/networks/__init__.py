"""Networks that tell nodules from false positives, one file each, and how they are trained."""

from typing import TYPE_CHECKING

from nodulebench.registry import Registry

if TYPE_CHECKING:
    from nodulebench.algorithms.networks.network import Network

NAMES = (
    "cumedvis_a",
    "cumedvis_b",
    "cumedvis_c",
    "jackfpr",
    "diag_convnet",
    "znet",
    "cadimi",
    "m5lcad",
    "twoscale",
)

_MODULES = {name: name.removesuffix(name[-2:]) if name[-2] == "_" else name for name in NAMES}

NETWORKS: "Registry[Network]" = Registry(
    "network", "networks", {name: f"{__name__}.{_MODULES[name]}:{name.upper()}" for name in NAMES}
)
"""Needs PyTorch (the extra ``networks``) as soon as one is asked for."""
