// The slices of the active plane one after another, to and fro.
import { PLANES } from "./grid.js";

const A_SECOND = 12;

export class Cine {
  constructor(state) {
    this.state = state;
    this.timer = 0;
    this.way = 1;
  }

  get isOn() {
    return this.timer !== 0;
  }

  toggle() {
    if (this.isOn) this.stop();
    else this.timer = setInterval(() => this.step(), 1000 / A_SECOND);
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
    if (index[through] + this.way < 0 || index[through] + this.way > last) this.way = -this.way;
    index[through] += this.way;
    return state.moveTo(index);
  }
}
