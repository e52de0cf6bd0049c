"""Networks that find nodules or score candidates: their input, training and output."""

from typing import TYPE_CHECKING

from nodulebench.core.registry import Registry

if TYPE_CHECKING:
    from nodulebench.detection.networks.detection_network import DetectionNetwork
    from nodulebench.detection.networks.network import Network

NETWORKS: "Registry[Network]" = Registry(
    "network",
    "networks",
    {
        "cumedvis_a": "nodulebench.detection.networks.luna16:CUMEDVIS_A",
        "cumedvis_b": "nodulebench.detection.networks.luna16:CUMEDVIS_B",
        "cumedvis_c": "nodulebench.detection.networks.luna16:CUMEDVIS_C",
        "jackfpr": "nodulebench.detection.networks.luna16:JACKFPR",
        "diag_convnet": "nodulebench.detection.networks.luna16:DIAG_CONVNET",
        "znet": "nodulebench.detection.networks.znet:ZNET",
        "cadimi": "nodulebench.detection.networks.luna16:CADIMI",
        "m5lcad": "nodulebench.detection.networks.luna16:M5LCAD",
        "twoscale": "nodulebench.detection.networks.twoscale:TWOSCALE",
    },
)
"""Reading an entry needs PyTorch (the extra ``networks``)."""

DETECTION_NETWORKS: "Registry[DetectionNetwork]" = Registry(
    "detection network",
    "detection_networks",
    {
        "heatmap": "nodulebench.detection.networks.heatmap:HEATMAP",
        "znet_unet": "nodulebench.detection.networks.znet:ZNET_UNET",
    },
)
"""Those that look for nodules by themselves."""


def network_named(name: str) -> "Network | DetectionNetwork":
    return DETECTION_NETWORKS[name] if name in DETECTION_NETWORKS else NETWORKS[name]
