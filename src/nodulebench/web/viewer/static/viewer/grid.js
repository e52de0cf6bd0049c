// Where voxels are. A continuous index is that of voxel centres: i = 0 is the centre of the first.
// Millimetres are LPS; the axes 0, 1, 2 run to the left, to the back and to the head.
export const PLANES = {
  axial: { word: "plane.axial", across: 0, down: 1, through: 2, turns: false,
    letters: ["R", "L", "A", "P"] },
  coronal: { word: "plane.coronal", across: 0, down: 2, through: 1, turns: true,
    letters: ["R", "L", "H", "F"] },
  sagittal: { word: "plane.sagittal", across: 1, down: 2, through: 0, turns: true,
    letters: ["A", "P", "H", "F"] },
};

export class Grid {
  constructor({ size, spacing_mm, origin_mm, direction }) {
    this.size = size;
    this.spacing = spacing_mm;
    this.origin = origin_mm;
    this.step = direction.map((row) => row.map((cosine, axis) => cosine * spacing_mm[axis]));
  }

  toWorld(index) {
    return this.step.map((row, axis) =>
      this.origin[axis] + row[0] * index[0] + row[1] * index[1] + row[2] * index[2]);
  }

  // Column and row of a point x, y on slice k, as outlines have it.
  onSlice([x, y], k) {
    const [[a, b, c], [d, e, f]] = this.step;
    const p = x - this.origin[0] - c * k, q = y - this.origin[1] - f * k;
    const whole = a * e - b * d;
    return [(e * p - b * q) / whole, (a * q - d * p) / whole];
  }

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

  // Millimetres on a plane's picture, from its upper left corner: pixel i fills i to i + 1.
  toPicture(plane, index) {
    const { across, down, turns } = PLANES[plane];
    const v = turns ? this.size[down] - 1 - index[down] : index[down];
    return [(index[across] + 0.5) * this.spacing[across], (v + 0.5) * this.spacing[down]];
  }

  // The index under a place of the picture; through the plane it stays what it was.
  fromPicture(plane, [x, y], index) {
    const { across, down, turns } = PLANES[plane];
    const v = y / this.spacing[down] - 0.5;
    const found = [...index];
    found[across] = x / this.spacing[across] - 0.5;
    found[down] = turns ? this.size[down] - 1 - v : v;
    return found;
  }

  pictureSize(plane) {
    const { across, down } = PLANES[plane];
    return [this.size[across] * this.spacing[across], this.size[down] * this.spacing[down]];
  }

  clamped(index) {
    return index.map((value, axis) => Math.min(this.size[axis] - 1, Math.max(0, value)));
  }
}
