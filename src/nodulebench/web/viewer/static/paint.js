// Voxels of a plane -> grey pixels. A table turns HU into grey; a slab shows its maximum.
import { PLANES } from "./grid.js";
import { LOADED } from "./volume.js";

const OFFSET = 32768; // int16 -> index in the table
const MISSING = 0xff2a2420; // colour of slices that are not loaded (ABGR)

export class Painter {
  constructor() {
    this.grey = new Uint32Array(65536);
    this.image = document.createElement("canvas");
    this.maximum = new Int16Array(0);
    this.windows = 0; // how often the window was changed
    this.painted = ""; // what the image shows; it is painted again when that changes
    this.volume = null;
  }

  // DICOM PS3.3 C.11.2.1.2: linear from level - width / 2 to level + width / 2.
  setWindow({ level, width }, isInverted) {
    this.windows += 1;
    const low = level - 0.5 - (width - 1) / 2, factor = 255 / Math.max(1, width - 1);
    for (let at = 0; at < 65536; at++) {
      const shade = Math.max(0, Math.min(255, Math.round((at - OFFSET - low) * factor)));
      const grey = isInverted ? 255 - shade : shade;
      this.grey[at] = 0xff000000 | (grey << 16) | (grey << 8) | grey;
    }
  }

  // The image of a plane at an index, one pixel per voxel, on a separate canvas.
  paint(volume, plane, index, slabMm) {
    const wanted = [index, slabMm, this.windows, volume.missing].join();
    if (volume === this.volume && wanted === this.painted) return this.image;
    this.volume = volume;
    this.painted = wanted;
    const { size, spacing } = volume.grid;
    const { across, down, through } = PLANES[plane];
    const width = size[across], height = size[down];
    if (this.image.width !== width || this.image.height !== height) {
      this.image.width = width;
      this.image.height = height;
      this.data = this.image.getContext("2d").createImageData(width, height);
      this.pixels = new Uint32Array(this.data.data.buffer);
    }
    const half = slabMm ? Math.max(0, Math.round(slabMm / spacing[through] / 2 - 0.5)) : 0;
    const first = Math.max(0, index - half), last = Math.min(size[through] - 1, index + half);
    const fill = { axial, coronal, sagittal }[plane];
    if (first === last) fill(volume, index, this.pixels, this.grey);
    else this.slab(volume, plane, first, last);
    this.image.getContext("2d").putImageData(this.data, 0, 0);
    return this.image;
  }

  slab(volume, plane, first, last) {
    const count = this.pixels.length;
    if (this.maximum.length !== count) this.maximum = new Int16Array(count);
    this.maximum.fill(-OFFSET);
    const raise = { axial: axialMaximum, coronal: coronalMaximum, sagittal: sagittalMaximum }[plane];
    for (let at = first; at <= last; at++) raise(volume, at, this.maximum);
    for (let at = 0; at < count; at++) {
      this.pixels[at] = this.maximum[at] === -OFFSET ? MISSING : this.grey[this.maximum[at] + OFFSET];
    }
  }
}

function axial({ voxels, grid, status }, k, pixels, grey) {
  const area = grid.size[0] * grid.size[1], from = k * area;
  if (status[k] !== LOADED) pixels.fill(MISSING);
  else for (let at = 0; at < area; at++) pixels[at] = grey[voxels[from + at] + OFFSET];
}

function coronal({ voxels, grid, status }, j, pixels, grey) {
  const [columns, rows, slices] = grid.size;
  for (let k = 0; k < slices; k++) {
    const to = (slices - 1 - k) * columns, from = (k * rows + j) * columns;
    if (status[k] !== LOADED) pixels.fill(MISSING, to, to + columns);
    else for (let i = 0; i < columns; i++) pixels[to + i] = grey[voxels[from + i] + OFFSET];
  }
}

function sagittal({ voxels, grid, status }, i, pixels, grey) {
  const [columns, rows, slices] = grid.size;
  for (let k = 0; k < slices; k++) {
    const to = (slices - 1 - k) * rows;
    if (status[k] !== LOADED) {
      pixels.fill(MISSING, to, to + rows);
      continue;
    }
    for (let j = 0, from = k * rows * columns + i; j < rows; j++, from += columns) {
      pixels[to + j] = grey[voxels[from] + OFFSET];
    }
  }
}

function axialMaximum({ voxels, grid, status }, k, maximum) {
  if (status[k] !== LOADED) return;
  const area = grid.size[0] * grid.size[1], from = k * area;
  for (let at = 0; at < area; at++) if (voxels[from + at] > maximum[at]) maximum[at] = voxels[from + at];
}

function coronalMaximum({ voxels, grid, status }, j, maximum) {
  const [columns, rows, slices] = grid.size;
  for (let k = 0; k < slices; k++) {
    if (status[k] !== LOADED) continue;
    const to = (slices - 1 - k) * columns, from = (k * rows + j) * columns;
    for (let i = 0; i < columns; i++) {
      if (voxels[from + i] > maximum[to + i]) maximum[to + i] = voxels[from + i];
    }
  }
}

function sagittalMaximum({ voxels, grid, status }, i, maximum) {
  const [columns, rows, slices] = grid.size;
  for (let k = 0; k < slices; k++) {
    if (status[k] !== LOADED) continue;
    const to = (slices - 1 - k) * rows;
    for (let j = 0, from = k * rows * columns + i; j < rows; j++, from += columns) {
      if (voxels[from] > maximum[to + j]) maximum[to + j] = voxels[from];
    }
  }
}
