"""Image -> how its surfaces of equal density curve: shape index and curvedness of each voxel.

The principal curvatures k1 >= k2 follow in closed form from the first and second derivatives of
the image, no eigenvectors needed. Bright objects curve positively: a ball has the shape index +1,
a tube +0.5, a plane or saddle 0, a dark ball -1.
"""

from dataclasses import dataclass

import numpy as np

from nodulebench.core.arrays import BoolArray, Float32Array, FloatArray

REACH_SIGMAS = 4.0
"""Where Gaussians are cut off."""


@dataclass(frozen=True, eq=False)
class Curvature:
    """One value per selected voxel."""

    shape_index: Float32Array
    """-1 to 1."""
    curvedness: Float32Array
    """sqrt(k1^2 + k2^2), per voxel."""


def curvature(image: Float32Array, sigma: float, where: BoolArray) -> Curvature:
    """Curvatures at the voxels of ``where``, derivatives taken at the scale ``sigma`` (voxels).

    Where the image is flat nothing curves: both values are 0.
    """
    z, y, x, zz, yy, xx, zy, zx, yx = _derivatives(image, sigma, where)
    squared = z * z + y * y + x * x
    # half the sum of the principal curvatures of the surface of equal density
    bent = z * z * (yy + xx) + y * y * (zz + xx) + x * x * (zz + yy)
    bent -= 2.0 * (z * y * zy + z * x * zx + y * x * yx)
    mean = _divided(-bent, 2.0 * squared * np.sqrt(squared))
    # their product: gradient x adjoint of the Hessian x gradient
    bent = z * z * (yy * xx - yx * yx)
    bent += y * y * (zz * xx - zx * zx)
    bent += x * x * (zz * yy - zy * zy)
    bent += 2.0 * (
        z * y * (zx * yx - zy * xx) + z * x * (zy * yx - zx * yy) + y * x * (zy * zx - yx * zz)
    )
    gauss = _divided(bent, squared * squared)
    # k1, k2 = mean +- spread; rounding must not make the spread of a ball imaginary
    spread = np.sqrt(np.maximum(mean * mean - gauss, 0.0))
    # (k1 + k2) / (k1 - k2) = mean / spread; arctan2 keeps k1 = k2 defined
    shape_index = (2.0 / np.pi) * np.arctan2(mean, spread)
    curvedness = np.sqrt(2.0 * (mean * mean + spread * spread))
    return Curvature(shape_index.astype(np.float32), curvedness.astype(np.float32))


def _divided(over: Float32Array, under: Float32Array) -> Float32Array:
    return np.divide(over, under, out=np.zeros_like(over), where=under > 0)


def _derivatives(image: Float32Array, sigma: float, where: BoolArray) -> tuple[Float32Array, ...]:
    """Gaussian derivatives z, y, x, zz, yy, xx, zy, zx, yx; axes that need the same share it."""
    from scipy import ndimage

    kernels = _kernels(sigma)

    def filtered(values: Float32Array, axis: int, order: int) -> Float32Array:
        return ndimage.correlate1d(values, kernels[order], axis=axis)

    def there(values: Float32Array, order: int) -> Float32Array:
        return filtered(values, 2, order)[where]

    flat_z = filtered(image, 0, 0)
    flat_y, once_y = filtered(flat_z, 1, 0), filtered(flat_z, 1, 1)
    y, yx = there(once_y, 0), there(once_y, 1)
    x, xx = there(flat_y, 1), there(flat_y, 2)
    yy = there(filtered(flat_z, 1, 2), 0)
    once_z = filtered(image, 0, 1)
    z_flat = filtered(once_z, 1, 0)
    z, zx = there(z_flat, 0), there(z_flat, 1)
    zy = there(filtered(once_z, 1, 1), 0)
    zz = there(filtered(filtered(image, 0, 2), 1, 0), 0)
    return z, y, x, zz, yy, xx, zy, zx, yx


def _kernels(sigma: float) -> tuple[FloatArray, FloatArray, FloatArray]:
    """A sampled Gaussian and its two derivatives, exact for constants, ramps and parabolas.

    Without the correction the cut-off would leave a trace of the image's level (-850 HU in a lung)
    in its second derivative.
    """
    along = np.arange(-int(REACH_SIGMAS * sigma + 0.5), int(REACH_SIGMAS * sigma + 0.5) + 1.0)
    smooth = np.exp(-0.5 * (along / sigma) ** 2)
    smooth /= smooth.sum()
    first = along * smooth
    first /= first @ along
    second = (along**2 - along**2 @ smooth) * smooth
    second *= 2.0 / (second @ along**2)
    return smooth, first, second
