"""Parts of the body in coarse voxels, as curation sees them: chests of many kinds, and no chests.

Axes are slice (from the feet), row (to the back) and column (to the left); millimetres from the
middle of the image.
"""

import numpy as np
from scipy import ndimage

STEP_MM = np.array([5.0, 3.5, 3.5])
SHAPE = (60, 110, 110)
AIR, FAT, MUSCLE, WATER, BONE, PLASTIC = -1000.0, -90.0, 50.0, 10.0, 700.0, 120.0
LUNG = -860.0


class Body:
    """A canvas of HU, air at first."""

    def __init__(self, seed=0, step_mm=STEP_MM, shape=SHAPE):
        self.hu = np.full(shape, AIR, np.float32)
        self.step_mm = np.asarray(step_mm, dtype=float)
        self.random = np.random.default_rng(seed)
        middle = (np.array(shape) - 1) / 2
        z, y, x = np.indices(shape, dtype=np.float32)
        self.z, self.y, self.x = (
            (a - m) * s for a, m, s in zip((z, y, x), middle, step_mm, strict=True)
        )

    def ellipse(self, x, y, half_x, half_y):
        """A column all along the body."""
        return ((self.x - x) / half_x) ** 2 + ((self.y - y) / half_y) ** 2 <= 1

    def ellipsoid(self, x, y, z, half_x, half_y, half_z):
        return self.ellipse(x, y, half_x, half_y) & (
            ((self.x - x) / half_x) ** 2
            + ((self.y - y) / half_y) ** 2
            + ((self.z - z) / half_z) ** 2
            <= 1
        )

    def box(self, x, y, half_x, half_y):
        return (np.abs(self.x - x) <= half_x) & (np.abs(self.y - y) <= half_y)

    def fill(self, where, hu):
        self.hu[where] = hu
        return self

    def lung(self, where, hu=LUNG):
        """Parenchyma with vessels: an eighth of it is up to 250 HU brighter, in strands."""
        strands = ndimage.gaussian_filter(self.random.normal(size=self.hu.shape), (2.0, 0.8, 0.8))
        bright = strands > np.quantile(strands, 0.875)
        self.hu[where] = hu
        self.hu[where & bright] = hu + 200
        return self

    def table(self, foam=-930.0):
        """A table top: foam in a thin shell."""
        self.fill(self.box(0, 150, 170, 22), PLASTIC)
        return self.fill(self.box(0, 150, 166, 18), foam)

    def seen(self, noise=15.0):
        """The image and the size of its voxels."""
        return (
            self.hu + self.random.normal(0, noise, self.hu.shape).astype(np.float32),
            self.step_mm,
        )


def trunk(seed=0, *grid):
    """A trunk with its spine, without organs."""
    body = Body(seed, *grid).table()
    body.fill(body.ellipse(0, 0, 170, 118), FAT).fill(body.ellipse(0, 0, 155, 103), MUSCLE)
    return body.fill(body.ellipse(0, 78, 20, 20), BONE)


def lungs_of(body):
    """Where the right and the left lung are."""
    return tuple(body.ellipsoid(side * 78, -5, 0, 58, 80, 125) for side in (-1, 1))


def chest(hu=LUNG, seed=0, *grid):
    body = trunk(seed, *grid)
    for lung in lungs_of(body):
        body.lung(lung, hu)
    return body.fill(body.ellipse(0, 20, 9, 9) & (body.z > 0), AIR)


def one_lung():
    """The left lung is white."""
    body = trunk()
    return body.lung(lungs_of(body)[0])


def pneumonectomy():
    """One lung reaches over to the side whose own was taken out."""
    body = trunk()
    body.fill(lungs_of(body)[1], WATER)
    return body.lung(body.ellipsoid(-45, -10, 0, 95, 82, 128))


def prone():
    body = chest()
    body.hu = np.flip(body.hu, axis=1).copy()
    return body


def cut_chest():
    """The field of view ends within the left lung."""
    body = chest()
    body.hu[:, :, 78:] = -2048.0
    return body


def head(seed=0):
    """Skull, brain, sinuses, mastoid cells, pharynx and windpipe on a table."""
    body = Body(seed).table()
    body.fill(body.ellipsoid(0, 10, 20, 80, 98, 125), MUSCLE).fill(
        body.ellipse(0, 30, 55, 60), MUSCLE
    )
    body.fill(body.ellipsoid(0, 10, 20, 74, 92, 119), BONE)
    body.fill(body.ellipsoid(0, 10, 20, 67, 85, 112), 35.0)
    for side in (-1, 1):
        body.fill(body.ellipsoid(side * 28, -50, -20, 16, 20, 20), AIR)
        body.fill(body.ellipsoid(side * 58, 40, -30, 10, 14, 16), -600.0)
    return body.fill(body.ellipse(0, -10, 12, 10) & (body.z < -40), AIR)


def around(body, inner, outer):
    """The space between a dilated head and the head itself: where masks and cushions are."""
    solid = ndimage.binary_fill_holes((body.hu > -400) & ~body.box(0, 150, 175, 26))
    filled = np.stack([ndimage.binary_fill_holes(section) for section in solid])
    grow = ndimage.generate_binary_structure(3, 1)
    grow[[0, 2]] = False
    wide = ndimage.binary_dilation(filled, grow, iterations=outer)
    return wide & ~(ndimage.binary_dilation(filled, grow, iterations=inner) if inner else filled)


def masked_head():
    """A thermoplastic mask with air between it and the face, as for radiotherapy."""
    body = head()
    return body.fill(around(body, 7, 9), PLASTIC)


def cushioned_head(foam=-870.0):
    """A vacuum cushion around the head: foam of a lung's density in a thin cover."""
    body = head()
    inside, cover = around(body, 0, 12), around(body, 12, 13)
    return body.fill(inside, foam).fill(cover, PLASTIC)


def head_among_beads():
    """A cushion of beads, as uneven as lung, in a thin cover."""
    body = head()
    inside, cover = around(body, 0, 12), around(body, 12, 13)
    return body.lung(inside).fill(cover, PLASTIC)


def foam_in_a_thick_rest(foam=-870.0):
    """The same foam behind a wall as thick as a chest's."""
    body = head()
    inside, cover = around(body, 0, 12), around(body, 12, 17)
    return body.fill(inside, foam).fill(cover, PLASTIC)


def abdomen_with_gas():
    """Wide bowels full of gas, with folds."""
    body = trunk()
    for x, y in ((-90, -20), (90, -20), (0, -60)):
        body.lung(body.ellipse(x, y, 34, 34) & (np.abs(body.z) < 110), AIR)
    return body


def abdomen_with_stool():
    """A colon full of stool mixed with gas: as dark as lung and as uneven, in a thick wall."""
    body = trunk()
    return body.lung(body.ellipse(90, -30, 32, 32) & (np.abs(body.z) < 120), -700.0)


def legs():
    """Two legs below a blanket."""
    body = Body().table()
    body.fill(body.box(0, 20, 165, 105), PLASTIC).fill(body.box(0, 20, 160, 100), AIR)
    for side in (-1, 1):
        body.fill(body.ellipse(side * 75, 40, 68, 68), MUSCLE).fill(
            body.ellipse(side * 75, 40, 14, 14), BONE
        )
    return body


def water_phantom():
    """Water with a rod of lung substitute."""
    body = Body().table()
    return body.fill(body.ellipse(0, 0, 150, 110), WATER).fill(body.ellipse(0, 0, 60, 60), -800.0)


CHESTS = {
    "chest": chest,
    "emphysema": lambda: chest(-945.0),
    "breathed out": lambda: chest(-650.0),
    "one lung": one_lung,
    "pneumonectomy": pneumonectomy,
    "prone": prone,
}
NO_CHESTS = {
    "head": head,
    "head in a mask": masked_head,
    "head in a cushion": cushioned_head,
    "head in darker foam": lambda: cushioned_head(-940.0),
    "head among beads": head_among_beads,
    "head in a thick rest": foam_in_a_thick_rest,
    "abdomen with gas": abdomen_with_gas,
    "abdomen with stool": abdomen_with_stool,
    "legs": legs,
    "water phantom": water_phantom,
}
