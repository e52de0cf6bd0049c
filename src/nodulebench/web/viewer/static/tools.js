// What the pointer draws: proposals at a click, freehand, ellipses, polygons, eraser, push, axes and
// points. Outlines are drawn on axial slices; proposals and points can be set in every view.
import { drawPath } from "./outlines.js";
import { send } from "./server.js";

/** @typedef {import("./state.js").Point} Point */

const APART_MM = 25; // a stroke at a larger distance from the selected finding begins a new one
const NEAR_PX = 14, CORNERS = 64, MAXIMUM_POINTS = 800, MAXIMUM_LEVEL = 8;

export class Tools {
  /** @param {import("./state.js").State} state */
  constructor(state) {
    this.state = state;
    /** @type {any} the findings of the page; see findings.js. */
    this.findings = null;
    /** @type {Point[]} of the current stroke. */
    this.points = [];
    /** @type {{ id: string, position_mm: number[], level: number } | null} the last proposal. */
    this.click = null;
    this.cursorMm = null;
    this.erases = false;
    /** @type {any} the outline that is pushed. */
    this.held = null;
  }

  use(tool) {
    this.points = [];
    this.state.tool = tool;
    this.state.changed();
    this.state.redraw();
  }

  // The axial slice shown.
  get k() {
    return Math.round(this.state.cursor[2]);
  }

  // The position of an index, on the middle of the axial slice.
  mm(view, index) {
    return view.grid.toWorld(view.plane === "axial" ? [index[0], index[1], this.k] : index);
  }

  // Returns whether the tool uses the pointer; if not, the pointer moves the cross-hair.
  down(view, index, event) {
    const { tool, isSubmitted } = this.state;
    const position = this.mm(view, index);
    if (isSubmitted) return false;
    if (tool === "propose") {
      this.state.moveTo(index);
      this.propose(position);
      return true;
    }
    if (tool === "point") {
      this.state.moveTo(index);
      this.findings.begin({ kind: "small_nodule", position_mm: rounded(position) });
      return true;
    }
    if (view.plane !== "axial") return false;
    if (tool === "polygon") {
      this.points.push(rounded(position.slice(0, 2)));
      return true;
    }
    if (tool === "push") return this.grab(view, index);
    this.points = [rounded(position.slice(0, 2))];
    this.erases = tool === "erase" || event.altKey;
    return true;
  }

  move(view, index) {
    const position = rounded(this.mm(view, index).slice(0, 2)), { tool } = this.state;
    if (tool === "push") this.push(view, index);
    else if (tool === "ellipse" || tool === "ruler") this.points = [this.points[0], position];
    else if ((tool === "freehand" || tool === "erase") && this.points.length < MAXIMUM_POINTS) {
      this.points.push(position);
    }
    this.state.redraw();
  }

  hover(view, index) {
    this.cursorMm = view.plane === "axial" ? this.mm(view, index).slice(0, 2) : null;
  }

  up() {
    const { tool } = this.state, points = this.points;
    if (tool === "push") this.release();
    if (["freehand", "erase", "ellipse", "ruler"].includes(tool)) {
      this.points = [];
      if (tool === "ruler") this.measure(points);
      else if (tool === "ellipse") this.stroke(ellipse(points), false);
      else this.stroke(points, this.erases);
    }
    this.state.redraw();
  }

  doubled() {
    if (this.state.tool === "polygon") this.finish();
  }

  // Close a polygon.
  finish() {
    const points = this.points.filter((point, index, all) => !index || point.join() !== all[index - 1].join());
    this.points = [];
    this.stroke(points, false);
    this.state.redraw();
  }

  cancel() {
    this.points = [];
    this.held = null;
    this.state.redraw();
  }

  // Apply a closed stroke: begin an outline on the slice, add to it, or erase from it.
  async stroke(points, erases) {
    if (points.length < 3 || area(points) < 0.2) return;
    const { findings, state } = this, k = this.k;
    const target = this.target(points);
    const drawn = target?.finding.slices.find(({ slice_index }) => slice_index === k);
    if (!target) {
      if (erases) return;
      const [x, y] = middle(points);
      const position = state.volume.grid.toWorld([...state.volume.grid.onSlice([x, y], k), k]);
      findings.begin({ position_mm: rounded(position), slices: [{ slice_index: k, outline: points }] });
      return;
    }
    if (erases && !drawn) return;
    let outlined = { slice_index: k, outline: points };
    if (drawn) {
      const body = { slice_index: k, stroke: points, drawn, adds: !erases };
      outlined = (await send(`scans/${state.number}/joined`, body)).drawn;
    }
    const others = target.finding.slices.filter(({ slice_index }) => slice_index !== k);
    const slices = [...others, ...(outlined ? [outlined] : [])].sort((a, b) => a.slice_index - b.slice_index);
    findings.change(target.id, { ...target.finding, slices });
  }

  // The finding that a stroke belongs to: the selected one if it is near, else null.
  target(points) {
    const { selected } = this.findings;
    if (!selected) return null;
    const corners = selected.finding.slices.flatMap(({ outline }) => outline);
    const [x, y] = middle(points);
    const isNear = [...corners, selected.finding.position_mm].some(
      (corner) => Math.hypot(corner[0] - x, corner[1] - y) < APART_MM);
    return isNear ? selected : null;
  }

  // Outline the nodule at a position; id: change the outlines of that finding.
  async propose(position, level = 0, id = null) {
    const { state, findings } = this, number = state.number;
    const position_mm = rounded(position);
    try {
      const { slices, measured } = await send(`scans/${number}/proposal`, { position_mm, level });
      if (state.number !== number) return;
      if (id === null) {
        const begun = findings.begin({ position_mm, slices });
        this.click = begun && { id: begun, position_mm, level };
      } else {
        if (this.click?.level !== level) return; // the wheel was turned again meanwhile
        const held = state.findings.find((shown) => shown.id === id);
        if (held) findings.change(id, { ...held.finding, slices });
      }
      const { selected } = findings;
      if (selected) selected.measured = measured;
      state.changed();
      state.redraw();
    } catch (error) {
      findings.notice(error.message, true);
    }
  }

  // Make the last proposal larger or smaller with the wheel. Returns whether there is one.
  wheel(turns) {
    const { click } = this;
    if (!click || click.id !== this.state.selected) return false;
    const level = Math.max(-MAXIMUM_LEVEL, Math.min(MAXIMUM_LEVEL, click.level - turns));
    if (level !== click.level) {
      click.level = level;
      this.propose(click.position_mm, level, click.id);
    }
    return true;
  }

  /**
   * Store an axis of the ruler: the first one, or the second one on the same slice.
   * @param {number[][]} axis its two ends.
   */
  measure([from, to]) {
    if (!to || Math.hypot(from[0] - to[0], from[1] - to[1]) < 0.5) return;
    const { findings, state } = this, { selected } = findings, k = this.k;
    if (!selected) {
      const [x, y] = middle([from, to]);
      const position = state.volume.grid.toWorld([...state.volume.grid.onSlice([x, y], k), k]);
      findings.begin({ position_mm: rounded(position), ruler: { slice_index: k, long: [from, to], short: null } });
      return;
    }
    const { ruler } = selected.finding;
    const isSecond = ruler && !ruler.short && ruler.slice_index === k;
    const axes = isSecond ? [ruler.long, [from, to]].sort((a, b) => length(b) - length(a)) : [[from, to], null];
    findings.change(selected.id, { ...selected.finding, ruler: { slice_index: k, long: axes[0], short: axes[1] } });
  }

  // Begin to push the selected outline near the pointer, together with its neighbouring corners.
  grab(view, index) {
    const { selected } = this.findings, k = this.k;
    const drawn = selected?.finding.slices.find(({ slice_index }) => slice_index === k);
    if (!drawn) return false;
    const pointer = view.toCanvas(index);
    const distances = drawn.outline.map((corner) => {
      const [x, y] = view.toCanvas([...view.grid.onSlice(corner, k), k]);
      return Math.hypot(x - pointer[0], y - pointer[1]);
    });
    if (Math.min(...distances) > NEAR_PX) return false;
    const from = this.mm(view, index).slice(0, 2);
    const reach = Math.max(NEAR_PX / view.scale, length(extent(drawn.outline)) / 8);
    const weights = drawn.outline.map((corner) => {
      const share = Math.hypot(corner[0] - from[0], corner[1] - from[1]) / reach;
      return Math.exp(-share * share);
    });
    this.held = { shown: selected, drawn, from, weights, before: selected.finding };
    return true;
  }

  push(view, index) {
    if (!this.held) return;
    const { shown, drawn, from, weights, before } = this.held, to = this.mm(view, index);
    const moved = [to[0] - from[0], to[1] - from[1]];
    const outline = drawn.outline.map((corner, number) => rounded(
      [corner[0] + weights[number] * moved[0], corner[1] + weights[number] * moved[1]]));
    const slices = before.slices.map((outlined) => (outlined === drawn ? { ...drawn, outline } : outlined));
    shown.finding = { ...before, slices };
  }

  release() {
    if (!this.held) return;
    const { shown, before } = this.held, after = shown.finding;
    this.held = null;
    shown.finding = before;
    if (after !== before) this.findings.change(shown.id, after);
  }

  draw(view, ink) {
    if (view.plane !== "axial" || !this.points.length) return;
    const { tool } = this.state;
    const shown = tool === "ellipse" && this.points.length > 1 ? ellipse(this.points) : [...this.points];
    if (tool === "polygon" && this.cursorMm) shown.push(this.cursorMm);
    ink.strokeStyle = tool === "erase" || this.erases ? "#ff7b6b" : "#ffffff";
    ink.lineWidth = 1.5;
    drawPath(view, ink, shown, this.k, tool === "ellipse");
    if (tool === "ruler" && shown.length > 1) {
      const [x, y] = view.toCanvas([...view.grid.onSlice(shown[1], this.k), this.k]);
      ink.fillStyle = "#ffffff";
      ink.fillText(`${length(shown).toFixed(1)} mm`, x + 10, y - 10);
    }
  }
}

// The buttons that choose a tool.
export function listenToButtons(tools) {
  const buttons = /** @type {NodeListOf<any>} */ (document.querySelectorAll("[data-tool]"));
  for (const button of buttons) button.addEventListener("click", () => tools.use(button.dataset.tool));
  tools.state.listeners.push(() => {
    for (const button of buttons) {
      button.setAttribute("aria-pressed", String(button.dataset.tool === tools.state.tool));
    }
  });
}

function rounded(position) {
  return position.map((value) => Math.round(value * 1e4) / 1e4);
}

/** @param {number[][]} corners of the box around it. */
function ellipse([from, to]) {
  if (!to) return [];
  const [x, y] = middle([from, to]), half = [Math.abs(to[0] - from[0]) / 2, Math.abs(to[1] - from[1]) / 2];
  return Array.from({ length: CORNERS }, (_, index) => {
    const angle = (2 * Math.PI * index) / CORNERS;
    return rounded([x + half[0] * Math.cos(angle), y + half[1] * Math.sin(angle)]);
  });
}

function middle(points) {
  const ends = extent(points);
  return [(ends[0][0] + ends[1][0]) / 2, (ends[0][1] + ends[1][1]) / 2];
}

function extent(points) {
  const of = (axis) => points.map((point) => point[axis]);
  return [[Math.min(...of(0)), Math.min(...of(1))], [Math.max(...of(0)), Math.max(...of(1))]];
}

/** @param {number[][]} axis */
function length([from, to]) {
  return Math.hypot(to[0] - from[0], to[1] - from[1]);
}

function area(points) {
  const twice = points.reduce((sum, [x, y], index) => {
    const [u, v] = points[(index + 1) % points.length];
    return sum + x * v - u * y;
  }, 0);
  return Math.abs(twice) / 2;
}

/** @returns {import("./keys.js").Key[]} */
export function drawingKeys(state, tools, findings) {
  const on = (keys, text, run) => ({ keys, text, run });
  const use = (tool) => () => tools.use(tool);
  return [
    on(["l"], "key.view", use("navigate")),
    on(["p"], "key.propose", use("propose")),
    on(["Enter"], "key.propose_here", () => {
      if (state.tool === "polygon" && tools.points.length) tools.finish();
      else if (!state.isSubmitted) tools.propose(state.volume.grid.toWorld(state.cursor));
    }),
    on(["."], "key.larger", () => tools.wheel(-1)),
    on([","], "key.smaller", () => tools.wheel(1)),
    on(["d"], "key.freehand", use("freehand")),
    on(["e"], "key.erase", use("erase")),
    on(["o"], "key.ellipse", use("ellipse")),
    on(["g"], "key.polygon", use("polygon")),
    on(["b"], "key.push", use("push")),
    on(["r"], "key.ruler", use("ruler")),
    on(["t"], "key.point", use("point")),
    on(["f"], "key.fill", () => findings.fill()),
    on(["n"], "key.next_finding", () => findings.step(1)),
    on(["N"], "key.last_finding", () => findings.step(-1)),
    on(["Escape"], "key.deselect", () => {
      if (tools.points.length) tools.cancel();
      else findings.select(null);
    }),
    on(["Delete"], "key.remove_slice", () => findings.removeSlice()),
    on(["Shift+Delete"], "key.remove_finding", () => findings.removeSelected()),
    on(["Ctrl+z"], "key.undo", () => findings.undo()),
    on(["Ctrl+y", "Ctrl+Z"], "key.redo", () => findings.redo()),
  ];
}
