// Cine: the slices of the active plane one after another, back and forth.
import { PLANES } from "./grid.js";

const SLICES_PER_SECOND = 12;

export class Cine {
  constructor(state) {
    this.state = state;
    this.timer = 0;
    this.direction = 1;
  }

  get isOn() {
    return this.timer !== 0;
  }

  toggle() {
    if (this.isOn) this.stop();
    else this.timer = setInterval(() => this.step(), 1000 / SLICES_PER_SECOND);
    this.state.changed();
  }

  stop() {
    clearInterval(this.timer);
    this.timer = 0;
  }

  step() {
    const { state } = this;
    if (!state.volume) return this.stop();
    const { through } = PLANES[state.active], last = state.volume.grid.size[through] - 1;
    const index = state.cursor.map(Math.round);
    if (index[through] + this.direction < 0 || index[through] + this.direction > last) this.direction = -this.direction;
    index[through] += this.direction;
    return state.moveTo(index);
  }
}
