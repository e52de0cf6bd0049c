// A second scan next to the one that is read, such as a prior: same plane, same zoom, linked position.
// Both canvases show the cross-hair at the same point. If the patient lay differently, the reader
// unlinks the prior, moves it and links it again.
import { Grid, PLANES } from "./grid.js";
import { attach } from "./mouse.js";
import { get } from "./server.js";
import { View } from "./view.js";
import { Volume } from "./volume.js";
import { translate } from "./translations.js";

const plus = (a, b, sign = 1) => a.map((value, axis) => value + sign * b[axis]);

export class Prior {
  /**
   * @param {import("./state.js").State} state
   * @param {{ canvas: any, select: any, link: any }} elements
   */
  constructor(state, { canvas, select, link }) {
    this.state = state;
    this.offset = [0, 0, 0]; // mm from a position in the scan to the same position in the prior
    this.isLinked = true;
    this.shown = stateOf(this);
    this.view = new PriorView(canvas, this);
    attach(this.view, new MovePrior(this));
    state.extraViews.push(this.view);
    this.select = select;
    this.link = link;
    select.addEventListener("change", () => this.open(select.value === "" ? null : Number(select.value)));
    link.addEventListener("click", () => this.toggle());
    state.listeners.push(() => this.follow());
  }

  get scan() {
    return this.state.volume;
  }

  toggle() {
    this.isLinked = !this.isLinked;
    this.state.changed();
    this.state.redraw();
  }

  // Show a scan of the list as the prior; null: none.
  async open(number) {
    this.shown.volume?.close();
    Object.assign(this.shown, { volume: null, number, findings: [] });
    this.state.redraw();
    if (number === null) return;
    const { status, body } = await get(`scans/${number}`);
    if (this.shown.number !== number) return;
    if (status !== 200) {
      setTimeout(() => this.shown.number === number && this.open(number), 250);
      return;
    }
    const grid = new Grid(body), volume = new Volume(number, grid, () => this.state.redraw());
    this.shown.volume = volume;
    this.offset = this.offsetTo(grid);
    this.state.changed();
    this.state.redraw();
    volume.load(() => Math.round(this.shown.cursor[2])).catch(() => {});
  }

  // 0 if the scans overlap along the body by half; else the offset between their centres.
  offsetTo(grid) {
    const ends = (of) => [0, of.size[2] - 1].map((k) => of.toWorld([0, 0, k])[2]);
    const [[low, high], [from, to]] = [ends(this.scan.grid), ends(grid)];
    const shared = Math.min(high, to) - Math.max(low, from);
    if (shared >= Math.min(high - low, to - from) / 2) return [0, 0, 0];
    const center = (of) => of.toWorld(of.size.map((count) => (count - 1) / 2));
    return plus(center(grid), center(this.scan.grid), -1);
  }

  // The index of the cross-hair in the prior; along the line of sight clamped to the prior.
  get cursor() {
    const { grid } = this.shown.volume;
    const index = grid.toIndex(plus(this.scan.grid.toWorld(this.state.cursor), this.offset));
    const { through } = PLANES[this.state.active];
    index[through] = grid.clamped(index)[through];
    return index;
  }

  moveTo(index) {
    const { grid } = this.shown.volume;
    const step = plus(grid.toWorld(index), grid.toWorld(this.cursor), -1);
    if (this.isLinked) {
      const position = plus(this.scan.grid.toWorld(this.state.cursor), step);
      this.state.moveTo(this.scan.grid.toIndex(position));
    } else this.slide(step);
  }

  slide(step) {
    this.offset = plus(this.offset, step);
    this.state.redraw();
  }

  // Update the list of scans and the link button.
  follow() {
    const { state, shown, select, link } = this;
    const others = state.scans.filter((scan) => scan && scan.number !== state.number);
    const wanted = others.map((scan) => `${scan.number} ${scan.case_id}`).join("\n");
    if (wanted !== this.listed) {
      this.listed = wanted;
      select.replaceChildren(new Option(translate("prior.none"), ""),
        ...others.map((scan) => new Option(scan.case_id, String(scan.number))));
    }
    if (shown.number === state.number && shown.number !== null) this.open(null);
    select.value = shown.number === null ? "" : String(shown.number);
    link.setAttribute("aria-pressed", String(this.isLinked));
    this.view.setWindow(state);
  }

  // Another scan is opened: the prior belonged to the last one.
  reset() {
    this.open(null);
    this.isLinked = true;
  }
}

// The state of the page with another volume, and without findings and tools.
function stateOf(prior) {
  const { state } = prior;
  return Object.create(state, {
    volume: { value: null, writable: true },
    number: { value: null, writable: true },
    findings: { value: [], writable: true },
    background: { value: [] },
    tools: { value: null },
    cursor: { get: () => prior.cursor },
    tool: { get: () => (prior.isLinked ? "navigate" : "slide") },
    moveTo: { value: (index) => prior.moveTo(index) },
    setWindow: { value: (window, preset) => state.setWindow(window, preset) },
    began: { value: () => state.began() },
    redraw: { value: () => state.redraw() },
    changed: { value: () => state.changed() },
  });
}

class PriorView extends View {
  constructor(canvas, prior) {
    super(canvas, "axial", prior.shown);
    this.prior = prior;
    this.centre = [0, 0];
  }

  // The active view of the scan that is read.
  get scanView() {
    return this.prior.state.view;
  }

  get scale() {
    return this.scanView.scale;
  }

  fit() {}

  zoomBy(factor, at) {
    this.scanView.zoomBy(factor, at);
  }

  panBy(moved) {
    this.scanView.panBy(moved);
  }

  setWindow({ window, isInverted }) {
    const wanted = [window.level, window.width, isInverted].join();
    if (wanted !== this.painted) this.painter.setWindow(window, isInverted);
    this.painted = wanted;
  }

  draw() {
    const { state } = this;
    this.plane = state.active;
    if (state.volume && this.prior.scan && this.scanView.centre) {
      const [x, y] = this.scanView.toCanvas(this.prior.state.cursor), { width, height } = this.box;
      const [mmX, mmY] = this.grid.toImage(this.plane, state.cursor);
      this.centre = [mmX + (width / 2 - x) / this.scale, mmY + (height / 2 - y) / this.scale];
      super.draw();
    } else {
      const ink = this.canvas.getContext("2d", { alpha: false });
      ink.fillRect(0, 0, this.canvas.width, this.canvas.height);
    }
  }
}

// What the pointer does on a prior that is not linked: it drags the image.
class MovePrior {
  constructor(prior) {
    this.prior = prior;
  }

  down(view, index) {
    this.held = index;
    return true;
  }

  move(view, index) {
    const { grid } = view;
    this.prior.slide(plus(grid.toWorld(this.held), grid.toWorld(index), -1));
  }

  up() {}

  hover() {}

  doubled() {}

  wheel() {
    return false;
  }
}
