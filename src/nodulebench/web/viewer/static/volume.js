// The voxels of a scan, loaded slice by slice: slices near the cross-hair first.
import { getVoxels } from "./server.js";

const PARALLEL = 2, LARGEST_BATCH = 6;

export const REQUESTED = 1, LOADED = 2;

/** The voxels of a scan in HU. */
export class Volume {
  /**
   * @param {number} number of the scan.
   * @param {import("./grid.js").Grid} grid
   * @param {(first: number, count: number) => void} onSlices called when slices have arrived.
   */
  constructor(number, grid, onSlices) {
    const [columns, rows, slices] = grid.size;
    this.number = number;
    this.grid = grid;
    this.voxels = new Int16Array(columns * rows * slices);
    this.status = new Uint8Array(slices); // of each slice: REQUESTED, LOADED or 0
    this.missing = slices;
    this.onSlices = onSlices;
    this.stop = new AbortController();
    this.isFirst = true;
  }

  has(k) {
    return this.status[k] === LOADED;
  }

  get isComplete() {
    return this.missing === 0;
  }

  /**
   * The voxel at an index in HU; null if it is outside or not loaded.
   * @param {import("./state.js").Triple} index
   */
  hu([i, j, k]) {
    const [columns, rows] = this.grid.size;
    const voxel = [i, j, k].map(Math.round);
    const isInside = voxel.every((value, axis) => value >= 0 && value < this.grid.size[axis]);
    return isInside && this.has(voxel[2]) ? this.voxels[(voxel[2] * rows + voxel[1]) * columns + voxel[0]] : null;
  }

  // Load all slices, always those nearest to middle() first; close() stops it.
  async load(middle) {
    const worker = async () => {
      for (let batch = this.next(middle()); batch; batch = this.next(middle())) {
        await this.fetch(...batch);
      }
    };
    await this.fetch(...this.next(middle())); // one slice first, so that the image appears at once
    await Promise.all(Array.from({ length: PARALLEL }, worker));
  }

  // The next slices to load, as [first, count]; null if all are requested.
  next(middle) {
    const slices = this.status.length;
    const most = this.isFirst ? 1 : LARGEST_BATCH;
    this.isFirst = false;
    for (let away = 0; away < slices; away++) {
      for (const k of [middle + away, middle - away]) {
        if (k < 0 || k >= slices || this.status[k]) continue;
        const step = k < middle ? -1 : 1;
        let last = k;
        while (Math.abs(last - k) + 1 < most && this.status[last + step] === 0) last += step;
        return [Math.min(k, last), Math.abs(last - k) + 1];
      }
    }
    return null;
  }

  async fetch(first, count) {
    this.status.fill(REQUESTED, first, first + count);
    const area = this.grid.size[0] * this.grid.size[1];
    try {
      const path = `scans/${this.number}/slices/${first}/${count}`;
      const voxels = await getVoxels(path, this.stop.signal);
      this.voxels.set(voxels, first * area);
      this.status.fill(LOADED, first, first + count);
      this.missing -= count;
      this.onSlices(first, count);
    } catch (error) {
      this.status.fill(0, first, first + count);
      if (this.stop.signal.aborted) throw error;
      await new Promise((resolve) => setTimeout(resolve, 1000)); // no connection: try again
    }
  }

  close() {
    this.stop.abort();
    /** @type {any} */ (this.voxels.buffer).transfer?.(0); // frees the memory at once
    this.voxels = new Int16Array(0);
    this.onSlices = () => {};
  }
}
