// Another scan beside the one that is read, as a prior is: the same plane, as large, and moved with
// it. Both have the cross-hair at one place of their canvases; where tables stood differently the
// prior is taken off its link, put right, and linked again.
import { Grid, PLANES } from "./grid.js";
import { attach } from "./mouse.js";
import { ask } from "./server.js";
import { View } from "./view.js";
import { Volume } from "./volume.js";
import { translate } from "./words.js";

const plus = (a, b, sign = 1) => a.map((value, axis) => value + sign * b[axis]);

export class Prior {
  constructor(state, { canvas, select, link }) {
    this.state = state;
    this.offset = [0, 0, 0]; // mm from a place of the scan to the same place of the prior
    this.isLinked = true;
    this.shown = shownOf(this);
    this.view = new PriorView(canvas, this);
    attach(this.view, new Sliding(this));
    state.others.push(this.view);
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

  // Which scan of the list lies beside; null: none.
  async open(number) {
    this.shown.volume?.close();
    Object.assign(this.shown, { volume: null, number, findings: [] });
    this.state.redraw();
    if (number === null) return;
    const { status, told } = await ask(`scans/${number}`);
    if (this.shown.number !== number) return;
    if (status !== 200) {
      setTimeout(() => this.shown.number === number && this.open(number), 250);
      return;
    }
    const grid = new Grid(told), volume = new Volume(number, grid, () => this.state.redraw());
    this.shown.volume = volume;
    this.offset = this.between(grid);
    this.state.changed();
    this.state.redraw();
    volume.load(() => Math.round(this.shown.cursor[2])).catch(() => {});
  }

  // Places are the same where the scans lie over each other; else their middles are.
  between(grid) {
    const ends = (one) => [0, one.size[2] - 1].map((k) => one.toWorld([0, 0, k])[2]);
    const [[low, high], [from, to]] = [ends(this.scan.grid), ends(grid)];
    const shared = Math.min(high, to) - Math.max(low, from);
    if (shared >= Math.min(high - low, to - from) / 2) return [0, 0, 0];
    const middle = (one) => one.toWorld(one.size.map((count) => (count - 1) / 2));
    return plus(middle(grid), middle(this.scan.grid), -1);
  }

  // The place of the cross-hair in the prior: along the line of sight never outside.
  get cursor() {
    const { grid } = this.shown.volume;
    const place = grid.toIndex(plus(this.scan.grid.toWorld(this.state.cursor), this.offset));
    const { through } = PLANES[this.state.active];
    place[through] = grid.clamped(place)[through];
    return place;
  }

  moveTo(index) {
    const { grid } = this.shown.volume;
    const way = plus(grid.toWorld(index), grid.toWorld(this.cursor), -1);
    if (this.isLinked) {
      const place = plus(this.scan.grid.toWorld(this.state.cursor), way);
      this.state.moveTo(this.scan.grid.toIndex(place));
    } else this.slide(way);
  }

  slide(way) {
    this.offset = plus(this.offset, way);
    this.state.redraw();
  }

  follow() {
    const { state, shown, select, link } = this;
    const named = state.scans.filter((scan) => scan && scan.number !== state.number);
    const wanted = named.map((scan) => `${scan.number} ${scan.case_id}`).join("\n");
    if (wanted !== this.named) {
      this.named = wanted;
      select.replaceChildren(new Option(translate("prior.none"), ""),
        ...named.map((scan) => new Option(scan.case_id, scan.number)));
    }
    if (shown.number === state.number && shown.number !== null) this.open(null);
    select.value = shown.number === null ? "" : String(shown.number);
    link.setAttribute("aria-pressed", String(this.isLinked));
    this.view.setWindow(state);
  }

  // Another scan is read: what lay beside the last one is not its prior.
  left() {
    this.open(null);
    this.isLinked = true;
  }
}

// The state as the prior's view sees it: that of the page, with another volume and no marks.
function shownOf(prior) {
  const { state } = prior;
  return Object.create(state, {
    volume: { value: null, writable: true },
    number: { value: null, writable: true },
    findings: { value: [], writable: true },
    beneath: { value: [] },
    tools: { value: null },
    cursor: { get: () => prior.cursor },
    tool: { get: () => (prior.isLinked ? "look" : "slide") },
    moveTo: { value: (index) => prior.moveTo(index) },
    setWindow: { value: (...given) => state.setWindow(...given) },
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

  get beside() {
    return this.prior.state.view;
  }

  get scale() {
    return this.beside.scale;
  }

  fit() {}

  zoomBy(factor, at) {
    this.beside.zoomBy(factor, at);
  }

  panBy(moved) {
    this.beside.panBy(moved);
  }

  setWindow({ window, isInverted }) {
    const wanted = [window.level, window.width, isInverted].join();
    if (wanted !== this.windowed) this.painter.setWindow(window, isInverted);
    this.windowed = wanted;
  }

  draw() {
    const { state } = this;
    this.plane = state.active;
    if (state.volume && this.prior.scan && this.beside.centre) {
      const [x, y] = this.beside.toCanvas(this.prior.state.cursor), { width, height } = this.box;
      const [mmX, mmY] = this.grid.toPicture(this.plane, state.cursor);
      this.centre = [mmX + (width / 2 - x) / this.scale, mmY + (height / 2 - y) / this.scale];
      super.draw();
    } else {
      const ink = this.canvas.getContext("2d", { alpha: false });
      ink.fillRect(0, 0, this.canvas.width, this.canvas.height);
    }
  }
}

// What the pointer does on a prior that is not linked: it takes the picture along.
class Sliding {
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
