"""CUMedVis (Dou 2016): three 3-D networks that see more and more around a candidate.

Voxel size, rates, dropout and the weights of their fusion are not in LUNA16's paper: 1 mm in plane
and 1.5 mm across, so that the largest is about a cube; the middle one counts a little more.
"""

from functools import partial

from torch import Tensor, nn

from nodulebench.detection.networks.looks import cube
from nodulebench.detection.networks.network import Augment, Network, Recipe, begin_evenly

STEP_MM = (1.5, 1.0, 1.0)
MAPS = 64
SIZES = {"a": (6, 20, 20), "b": (10, 30, 30), "c": (26, 40, 40)}
FUSION = {"a": 0.3, "b": 0.4, "c": 0.3}
"""Weights of their probabilities where all three judge."""
AUGMENT = Augment(shift_mm=1.0, is_quarter_turned=True)
RECIPE = Recipe("sgd", rate=0.01, schedule=((0.0, 1.0), (0.6, 0.1), (0.85, 0.01)), augment=AUGMENT)


def features(kind: str, unit: type[nn.Module] = nn.ReLU) -> nn.Sequential:
    """Everything before the last layer; the output has 150 or 250 numbers."""
    deep, wide, last, count = (3, 5, 5), (1, 5, 5), (8, 5, 5), 250
    first = [nn.Conv3d(1, MAPS, deep), unit()]
    then = [nn.Conv3d(MAPS, MAPS, deep), unit()]
    if kind == "a":
        parts, last, count = [*first, *then, nn.Conv3d(MAPS, MAPS, wide), unit()], (2, 8, 8), 150
    else:
        pool = (1, 2, 2) if kind == "b" else (2, 2, 2)
        again = [nn.Conv3d(MAPS, MAPS, deep), unit()]
        parts = [*first, nn.MaxPool3d(pool), *then, *again]
        last = (4, 5, 5) if kind == "b" else (8, 10, 10)
    full = nn.Linear(MAPS * last[0] * last[1] * last[2], count)
    return nn.Sequential(*parts, nn.Flatten(), full, unit(), nn.Dropout(0.5))


class CUMedVis(nn.Module):
    """One of the three."""

    def __init__(self, kind: str) -> None:
        super().__init__()
        self.features = features(kind)
        self.judge = nn.Linear(150 if kind == "a" else 250, 2)
        begin_evenly(self, nn.init.kaiming_normal_)

    def forward(self, patches: Tensor) -> Tensor:
        """Patches -> no nodule, nodule."""
        found: Tensor = self.judge(self.features(patches[:, None]))
        return found


def _network(kind: str) -> Network:
    build = partial(CUMedVis, kind)
    look = cube(SIZES[kind], STEP_MM)
    return Network(f"cumedvis_{kind}", look, build, RECIPE, family="cumedvis", share=FUSION[kind])


CUMEDVIS_A, CUMEDVIS_B, CUMEDVIS_C = (_network(kind) for kind in SIZES)
