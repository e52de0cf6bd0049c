// How the page hangs a scan: layout, window, slab and zoom, as its reader wants them; kept where
// the readings are.
import { ask, send } from "./server.js";
import { translate } from "./words.js";

const LAYOUTS = { three: "layout.three", one: "layout.one", prior: "layout.prior" };

export class Hanging {
  constructor(state, place) {
    this.state = state;
    this.place = place; // whose data-layout the style sheet knows
    this.kept = null;
    this.use("three");
  }

  get layout() {
    return this.place.dataset.layout;
  }

  get name() {
    return translate(LAYOUTS[this.layout]);
  }

  // In projects and studies nobody shall see which case is which: none lies beside another.
  get hasPriors() {
    return document.body.dataset.alone === undefined;
  }

  use(layout) {
    this.place.dataset.layout = layout === "prior" && !this.hasPriors ? "three" : layout;
    this.state.changed();
    this.state.redraw();
  }

  next() {
    const names = Object.keys(LAYOUTS).filter((one) => one !== "prior" || this.hasPriors);
    this.use(names[(names.indexOf(this.layout) + 1) % names.length]);
  }

  async begin() {
    this.kept = (await ask("hanging")).told;
    if (!this.kept) return;
    const { state } = this, { layout, preset, window, is_inverted, slab_mm, shows_cross } = this.kept;
    Object.assign(state, { isInverted: is_inverted, slabMm: slab_mm, showsCross: shows_cross });
    state.setWindow(window, preset);
    this.use(layout);
  }

  // A scan was opened: its views are as large as the reader keeps them.
  hang() {
    for (const view of this.state.views) view.zoom = this.kept?.zoom[view.plane] ?? 1;
  }

  async keep() {
    const { layout, state } = this;
    this.kept = {
      layout,
      preset: state.preset,
      window: state.window,
      is_inverted: state.isInverted,
      slab_mm: state.slabMm,
      shows_cross: state.showsCross,
      zoom: Object.fromEntries(state.views.map((view) => [view.plane, view.zoom])),
    };
    await send("hanging", this.kept);
  }
}
