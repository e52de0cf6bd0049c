// Voxels of a plane -> grey pixels. One table turns HU into grey; a slab shows its largest value.
import { PLANES } from "./grid.js";

const BEHIND = 32768; // int16 -> place in the table
const UNSEEN = 0xff2a2420; // where slices have not come yet (ABGR)

export class Painter {
  constructor() {
    this.grey = new Uint32Array(65536);
    this.picture = document.createElement("canvas");
    this.maximum = new Int16Array(0);
    this.windows = 0; // how often the window was changed
    this.painted = ""; // what the picture shows: it is painted again when that changes
    this.volume = null;
  }

  // DICOM PS3.3 C.11.2.1.2: linear from level - width / 2 to level + width / 2.
  setWindow({ level, width }, isInverted) {
    this.windows += 1;
    const low = level - 0.5 - (width - 1) / 2, factor = 255 / Math.max(1, width - 1);
    for (let at = 0; at < 65536; at++) {
      const shade = Math.max(0, Math.min(255, Math.round((at - BEHIND - low) * factor)));
      const grey = isInverted ? 255 - shade : shade;
      this.grey[at] = 0xff000000 | (grey << 16) | (grey << 8) | grey;
    }
  }

  // The picture of a plane at an index, a pixel a voxel, on a canvas of its own.
  paint(volume, plane, index, slabMm) {
    const wanted = [index, slabMm, this.windows, volume.missing].join();
    if (volume === this.volume && wanted === this.painted) return this.picture;
    this.volume = volume;
    this.painted = wanted;
    const { size, spacing } = volume.grid;
    const { across, down, through } = PLANES[plane];
    const width = size[across], height = size[down];
    if (this.picture.width !== width || this.picture.height !== height) {
      this.picture.width = width;
      this.picture.height = height;
      this.image = this.picture.getContext("2d").createImageData(width, height);
      this.pixels = new Uint32Array(this.image.data.buffer);
    }
    const half = slabMm ? Math.max(0, Math.round(slabMm / spacing[through] / 2 - 0.5)) : 0;
    const first = Math.max(0, index - half), last = Math.min(size[through] - 1, index + half);
    const fill = { axial, coronal, sagittal }[plane];
    if (first === last) fill(volume, index, this.pixels, this.grey);
    else this.slab(volume, plane, first, last);
    this.picture.getContext("2d").putImageData(this.image, 0, 0);
    return this.picture;
  }

  slab(volume, plane, first, last) {
    const count = this.pixels.length;
    if (this.maximum.length !== count) this.maximum = new Int16Array(count);
    this.maximum.fill(-BEHIND);
    const raise = { axial: axialMost, coronal: coronalMost, sagittal: sagittalMost }[plane];
    for (let at = first; at <= last; at++) raise(volume, at, this.maximum);
    for (let at = 0; at < count; at++) {
      this.pixels[at] = this.maximum[at] === -BEHIND ? UNSEEN : this.grey[this.maximum[at] + BEHIND];
    }
  }
}

function axial({ voxels, grid, isThere }, k, pixels, grey) {
  const area = grid.size[0] * grid.size[1], from = k * area;
  if (isThere[k] !== 2) pixels.fill(UNSEEN);
  else for (let at = 0; at < area; at++) pixels[at] = grey[voxels[from + at] + BEHIND];
}

function coronal({ voxels, grid, isThere }, j, pixels, grey) {
  const [columns, rows, slices] = grid.size;
  for (let k = 0; k < slices; k++) {
    const to = (slices - 1 - k) * columns, from = (k * rows + j) * columns;
    if (isThere[k] !== 2) pixels.fill(UNSEEN, to, to + columns);
    else for (let i = 0; i < columns; i++) pixels[to + i] = grey[voxels[from + i] + BEHIND];
  }
}

function sagittal({ voxels, grid, isThere }, i, pixels, grey) {
  const [columns, rows, slices] = grid.size;
  for (let k = 0; k < slices; k++) {
    const to = (slices - 1 - k) * rows;
    if (isThere[k] !== 2) {
      pixels.fill(UNSEEN, to, to + rows);
      continue;
    }
    for (let j = 0, from = k * rows * columns + i; j < rows; j++, from += columns) {
      pixels[to + j] = grey[voxels[from] + BEHIND];
    }
  }
}

function axialMost({ voxels, grid, isThere }, k, most) {
  if (isThere[k] !== 2) return;
  const area = grid.size[0] * grid.size[1], from = k * area;
  for (let at = 0; at < area; at++) if (voxels[from + at] > most[at]) most[at] = voxels[from + at];
}

function coronalMost({ voxels, grid, isThere }, j, most) {
  const [columns, rows, slices] = grid.size;
  for (let k = 0; k < slices; k++) {
    if (isThere[k] !== 2) continue;
    const to = (slices - 1 - k) * columns, from = (k * rows + j) * columns;
    for (let i = 0; i < columns; i++) {
      if (voxels[from + i] > most[to + i]) most[to + i] = voxels[from + i];
    }
  }
}

function sagittalMost({ voxels, grid, isThere }, i, most) {
  const [columns, rows, slices] = grid.size;
  for (let k = 0; k < slices; k++) {
    if (isThere[k] !== 2) continue;
    const to = (slices - 1 - k) * rows;
    for (let j = 0, from = k * rows * columns + i; j < rows; j++, from += columns) {
      if (voxels[from] > most[to + j]) most[to + j] = voxels[from];
    }
  }
}
