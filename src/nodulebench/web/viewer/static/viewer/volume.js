// The voxels of a scan, slice by slice from the server: those nearest to the view come first.
import { askVoxels } from "./server.js";

const AT_ONCE = 2, LARGEST_BATCH = 6;

export class Volume {
  constructor(number, grid, onSlices) {
    const [columns, rows, slices] = grid.size;
    this.number = number;
    this.grid = grid;
    this.voxels = new Int16Array(columns * rows * slices);
    this.isThere = new Uint8Array(slices); // 1 asked for, 2 there
    this.missing = slices;
    this.onSlices = onSlices;
    this.stop = new AbortController();
    this.isFirst = true;
  }

  has(k) {
    return this.isThere[k] === 2;
  }

  get isComplete() {
    return this.missing === 0;
  }

  hu([i, j, k]) {
    const [columns, rows] = this.grid.size;
    const at = [i, j, k].map(Math.round);
    const isInside = at.every((value, axis) => value >= 0 && value < this.grid.size[axis]);
    return isInside && this.has(at[2]) ? this.voxels[(at[2] * rows + at[1]) * columns + at[0]] : null;
  }

  // Load all slices, always next to where the reader looks; ends when all are there or on close().
  async load(middle) {
    const one = async () => {
      for (let batch = this.next(middle()); batch; batch = this.next(middle())) {
        await this.fetched(...batch);
      }
    };
    await this.fetched(...this.next(middle())); // the first picture waits for nothing else
    await Promise.all(Array.from({ length: AT_ONCE }, one));
  }

  next(middle) {
    const slices = this.isThere.length;
    const most = this.isFirst ? 1 : LARGEST_BATCH;
    this.isFirst = false;
    for (let away = 0; away < slices; away++) {
      for (const k of [middle + away, middle - away]) {
        if (k < 0 || k >= slices || this.isThere[k]) continue;
        const way = k < middle ? -1 : 1;
        let last = k;
        while (Math.abs(last - k) + 1 < most && this.isThere[last + way] === 0) last += way;
        return [Math.min(k, last), Math.abs(last - k) + 1];
      }
    }
    return null;
  }

  async fetched(first, count) {
    this.isThere.fill(1, first, first + count);
    const area = this.grid.size[0] * this.grid.size[1];
    try {
      const path = `scans/${this.number}/slices/${first}/${count}`;
      const voxels = await askVoxels(path, this.stop.signal);
      this.voxels.set(voxels, first * area);
      this.isThere.fill(2, first, first + count);
      this.missing -= count;
      this.onSlices(first, count);
    } catch (error) {
      this.isThere.fill(0, first, first + count);
      if (this.stop.signal.aborted) throw error;
      await new Promise((resolve) => setTimeout(resolve, 1000)); // the connection is away: again
    }
  }

  close() {
    this.stop.abort();
    this.voxels.buffer.transfer?.(0); // given back at once, not when the browser comes to it
    this.voxels = new Int16Array(0);
    this.onSlices = () => {};
  }
}
