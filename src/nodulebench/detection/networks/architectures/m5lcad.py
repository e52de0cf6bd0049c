"""M5LCAD's second half: three layers on raw voxels, as VBNA judges candidates.

The paper gives neither the neighbourhood nor the hidden units: 11 mm around, 1 mm apart, 25 units
as LungCAM's classifier has them.
"""

from torch import Tensor, nn

from nodulebench.detection.networks.looks import cube
from nodulebench.detection.networks.network import Augment, Network, Recipe

SIZE, HIDDEN = 11, 25


class RawVoxels(nn.Module):
    """Voxels -> hidden units -> no nodule, nodule."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Flatten(), nn.Linear(SIZE**3, HIDDEN), nn.Sigmoid(), nn.Linear(HIDDEN, 2)
        )

    def forward(self, patches: Tensor) -> Tensor:
        """Patches -> no nodule, nodule."""
        found: Tensor = self.layers(patches)
        return found


M5LCAD = Network(
    "m5lcad",
    cube((SIZE, SIZE, SIZE), (1.0, 1.0, 1.0)),
    RawVoxels,
    Recipe(
        "sgd",
        rate=0.1,
        decay=1e-4,
        schedule=((0.0, 1.0), (0.7, 0.1)),
        augment=Augment(is_flipped=True, is_quarter_turned=True),
    ),
)
