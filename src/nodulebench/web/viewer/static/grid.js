// The grid of the voxels. A continuous index refers to voxel centres: i = 0 is the first centre.
// Millimetres are LPS; the axes 0, 1, 2 run to the left, to the back and to the head.
/**
 * @typedef {"axial" | "coronal" | "sagittal"} Plane
 * @typedef {import("./state.js").Triple} Triple
 *
 * @typedef {object} PlaneAxes
 * @property {string} text the key of its name.
 * @property {number} across the axis from left to right of the image.
 * @property {number} down the axis from top to bottom.
 * @property {number} through the axis along the line of sight.
 * @property {boolean} turns whether the index falls from top to bottom.
 * @property {string[]} letters at the left, right, top and bottom of the image.
 */

/** @type {Record<Plane, PlaneAxes>} */
export const PLANES = {
  axial: { text: "plane.axial", across: 0, down: 1, through: 2, turns: false,
    letters: ["R", "L", "A", "P"] },
  coronal: { text: "plane.coronal", across: 0, down: 2, through: 1, turns: true,
    letters: ["R", "L", "H", "F"] },
  sagittal: { text: "plane.sagittal", across: 1, down: 2, through: 0, turns: true,
    letters: ["A", "P", "H", "F"] },
};

export class Grid {
  /** @param {{ size: Triple, spacing_mm: Triple, origin_mm: Triple, direction: number[][] }} grid */
  constructor({ size, spacing_mm, origin_mm, direction }) {
    this.size = size;
    this.spacing = spacing_mm;
    this.origin = origin_mm;
    this.step = direction.map((row) => row.map((cosine, axis) => cosine * spacing_mm[axis]));
  }

  /**
   * The position of an index in mm.
   * @param {Triple} index
   * @returns {Triple}
   */
  toWorld(index) {
    return this.step.map((row, axis) =>
      this.origin[axis] + row[0] * index[0] + row[1] * index[1] + row[2] * index[2]);
  }

  /**
   * Column and row of a point of an outline on slice k.
   * @param {import("./state.js").Point} point x and y in mm.
   * @param {number} k
   * @returns {import("./state.js").Point}
   */
  onSlice([x, y], k) {
    const [[a, b, c], [d, e, f]] = this.step;
    const p = x - this.origin[0] - c * k, q = y - this.origin[1] - f * k;
    const det = a * e - b * d;
    return [(e * p - b * q) / det, (a * q - d * p) / det];
  }

  /**
   * The continuous index of a position in mm.
   * @param {Triple} point
   * @returns {Triple}
   */
  toIndex(point) {
    const [r0, r1, r2] = this.step;
    const [p, q, r] = point.map((value, axis) => value - this.origin[axis]);
    const minor = (m, n, i, j) => m[i] * n[j] - m[j] * n[i];
    const det = r0[0] * minor(r1, r2, 1, 2) - r0[1] * minor(r1, r2, 0, 2) + r0[2] * minor(r1, r2, 0, 1);
    return [
      (p * minor(r1, r2, 1, 2) - q * minor(r0, r2, 1, 2) + r * minor(r0, r1, 1, 2)) / det,
      (-p * minor(r1, r2, 0, 2) + q * minor(r0, r2, 0, 2) - r * minor(r0, r1, 0, 2)) / det,
      (p * minor(r1, r2, 0, 1) - q * minor(r0, r2, 0, 1) + r * minor(r0, r1, 0, 1)) / det,
    ];
  }

  /**
   * The position of an index on the image of a plane, in mm from the upper left corner. Pixel i
   * covers i to i + 1.
   * @param {Plane} plane
   * @param {Triple} index
   * @returns {import("./state.js").Point}
   */
  toImage(plane, index) {
    const { across, down, turns } = PLANES[plane];
    const v = turns ? this.size[down] - 1 - index[down] : index[down];
    return [(index[across] + 0.5) * this.spacing[across], (v + 0.5) * this.spacing[down]];
  }

  /**
   * The index at a position on the image of a plane; along the line of sight it is that of `index`.
   * @param {Plane} plane
   * @param {import("./state.js").Point} position
   * @param {Triple} index
   * @returns {Triple}
   */
  fromImage(plane, [x, y], index) {
    const { across, down, turns } = PLANES[plane];
    const v = y / this.spacing[down] - 0.5;
    const result = [...index];
    result[across] = x / this.spacing[across] - 0.5;
    result[down] = turns ? this.size[down] - 1 - v : v;
    return result;
  }

  /**
   * Width and height of a plane in mm.
   * @param {Plane} plane
   * @returns {import("./state.js").Point}
   */
  imageSize(plane) {
    const { across, down } = PLANES[plane];
    return [this.size[across] * this.spacing[across], this.size[down] * this.spacing[down]];
  }

  /** @param {Triple} index */
  clamped(index) {
    return index.map((value, axis) => Math.min(this.size[axis] - 1, Math.max(0, value)));
  }
}
