// The hanging protocol: layout, window, slab and zoom of every scan, saved with the readings.
import { get, send } from "./server.js";
import { translate } from "./translations.js";

const LAYOUTS = { three: "layout.three", one: "layout.one", prior: "layout.prior" };

export class Hanging {
  /**
   * @param {import("./state.js").State} state
   * @param {HTMLElement} main the style sheet arranges it by its data-layout.
   */
  constructor(state, main) {
    this.state = state;
    this.main = main;
    this.saved = null;
    this.use("three");
  }

  get layout() {
    return this.main.dataset.layout;
  }

  get name() {
    return translate(LAYOUTS[this.layout]);
  }

  // Projects and studies show no other scan: readers must not find out which case is which.
  get hasPriors() {
    return document.body.dataset.hidesPriors === undefined;
  }

  use(layout) {
    this.main.dataset.layout = layout === "prior" && !this.hasPriors ? "three" : layout;
    this.state.changed();
    this.state.redraw();
  }

  next() {
    const names = Object.keys(LAYOUTS).filter((name) => name !== "prior" || this.hasPriors);
    this.use(names[(names.indexOf(this.layout) + 1) % names.length]);
  }

  async load() {
    this.saved = (await get("hanging")).body;
    if (!this.saved) return;
    const { state } = this, { layout, preset, window, is_inverted, slab_mm, shows_cross } = this.saved;
    Object.assign(state, { isInverted: is_inverted, slabMm: slab_mm, showsCross: shows_cross });
    state.setWindow(window, preset);
    this.use(layout);
  }

  // A scan was opened.
  applyZoom() {
    for (const view of this.state.views) view.zoom = this.saved?.zoom[view.plane] ?? 1;
  }

  async save() {
    const { layout, state } = this;
    this.saved = {
      layout,
      preset: state.preset,
      window: state.window,
      is_inverted: state.isInverted,
      slab_mm: state.slabMm,
      shows_cross: state.showsCross,
      zoom: Object.fromEntries(state.views.map((view) => [view.plane, view.zoom])),
    };
    await send("hanging", this.saved);
  }
}
