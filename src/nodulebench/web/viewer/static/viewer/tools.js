// What the pointer draws: a proposal at a click, freehand, ellipse, polygon, eraser, push, axes,
// points. Outlines lie on axial slices; proposals and points can be set in every view.
import { drawPath } from "./outlines.js";
import { send } from "./server.js";


export const TOOLS = ["look", "propose", "freehand", "erase", "ellipse", "polygon", "push", "ruler", "point"];
const APART_MM = 25; // a stroke farther away from the chosen finding begins a new one
const NEAR_PX = 14, CORNERS = 64, MOST_POINTS = 800, MOST_TURNS = 8;

export class Tools {
  constructor(state) {
    this.state = state;
    this.points = []; // of the stroke, x and y in mm
    this.click = null; // of the last proposal: { id, position_mm, level }
    this.cursorMm = null;
  }

  use(tool) {
    this.points = [];
    this.state.tool = tool;
    this.state.changed();
    this.state.redraw();
  }

  get k() {
    return Math.round(this.state.cursor[2]);
  }

  mm(view, index) {
    return view.grid.toWorld(view.plane === "axial" ? [index[0], index[1], this.k] : index);
  }

  // Whether the tool takes the pointer; else it moves the cross-hair.
  down(view, index, event) {
    const { tool, isHandedIn } = this.state;
    const place = this.mm(view, index);
    if (isHandedIn) return false;
    if (tool === "propose") {
      this.state.moveTo(index);
      this.propose(place);
      return true;
    }
    if (tool === "point") {
      this.state.moveTo(index);
      this.findings.begin({ kind: "small_nodule", position_mm: rounded(place) });
      return true;
    }
    if (view.plane !== "axial") return false;
    if (tool === "polygon") {
      this.points.push(rounded(place.slice(0, 2)));
      return true;
    }
    if (tool === "push") return this.grab(view, index);
    this.points = [rounded(place.slice(0, 2))];
    this.erases = tool === "erase" || event.altKey;
    return true;
  }

  move(view, index) {
    const place = rounded(this.mm(view, index).slice(0, 2)), { tool } = this.state;
    if (tool === "push") this.push(view, index);
    else if (tool === "ellipse" || tool === "ruler") this.points = [this.points[0], place];
    else if ((tool === "freehand" || tool === "erase") && this.points.length < MOST_POINTS) {
      this.points.push(place);
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
    const points = this.points.filter((one, at, all) => !at || one.join() !== all[at - 1].join());
    this.points = [];
    this.stroke(points, false);
    this.state.redraw();
  }

  cancel() {
    this.points = [];
    this.held = null;
    this.state.redraw();
  }

  // A closed stroke: it makes the outline of the slice, adds to it, or takes away from it.
  async stroke(points, erases) {
    if (points.length < 3 || area(points) < 0.2) return;
    const { findings, state } = this, k = this.k;
    const one = this.target(points, k), drawn = one?.finding.slices.find((each) => each.slice_index === k);
    if (!one) {
      if (erases) return;
      const [x, y] = middle(points);
      const place = state.volume.grid.toWorld([...state.volume.grid.onSlice([x, y], k), k]);
      findings.begin({ position_mm: rounded(place), slices: [{ slice_index: k, outline: points }] });
      return;
    }
    if (erases && !drawn) return;
    let made = { slice_index: k, outline: points };
    if (drawn) {
      const body = { slice_index: k, stroke: points, drawn, adds: !erases };
      made = (await send(`scans/${state.number}/joined`, body)).drawn;
    }
    const others = one.finding.slices.filter((each) => each.slice_index !== k);
    const slices = [...others, ...(made ? [made] : [])].sort((a, b) => a.slice_index - b.slice_index);
    findings.change(one.id, { ...one.finding, slices });
  }

  // The finding that a stroke belongs to: the chosen one where it is near, else none.
  target(points) {
    const one = this.findings.chosen;
    if (!one) return null;
    const corners = one.finding.slices.flatMap((each) => each.outline);
    const [x, y] = middle(points);
    const near = [...corners, one.finding.position_mm].some(
      (corner) => Math.hypot(corner[0] - x, corner[1] - y) < APART_MM);
    return near ? one : null;
  }

  async propose(place, level = 0, id = null) {
    const { state, findings } = this, number = state.number;
    const position_mm = rounded(place);
    try {
      const { slices, measured } = await send(`scans/${number}/proposal`, { position_mm, level });
      if (state.number !== number) return;
      if (id === null) {
        const made = findings.begin({ position_mm, slices });
        this.click = made && { id: made, position_mm, level };
      } else {
        if (this.click?.level !== level) return; // the wheel turned on meanwhile
        const held = state.findings.find((one) => one.id === id);
        if (held) findings.change(id, { ...held.finding, slices });
      }
      const held = findings.chosen;
      if (held) held.measured = measured;
      state.changed();
      state.redraw();
    } catch (error) {
      findings.notice(error.message, true);
    }
  }

  // The wheel makes the last proposal larger or smaller.
  wheel(turns) {
    const { click } = this;
    if (!click || click.id !== this.state.selected) return false;
    const level = Math.max(-MOST_TURNS, Math.min(MOST_TURNS, click.level - turns));
    if (level !== click.level) {
      click.level = level;
      this.propose(click.position_mm, level, click.id);
    }
    return true;
  }

  measure([from, to]) {
    if (!to || Math.hypot(from[0] - to[0], from[1] - to[1]) < 0.5) return;
    const { findings, state } = this, one = findings.chosen, k = this.k;
    if (!one) {
      const [x, y] = middle([from, to]);
      const place = state.volume.grid.toWorld([...state.volume.grid.onSlice([x, y], k), k]);
      findings.begin({ position_mm: rounded(place), ruler: { slice_index: k, long: [from, to], short: null } });
      return;
    }
    const { ruler } = one.finding;
    const isSecond = ruler && !ruler.short && ruler.slice_index === k;
    const axes = isSecond ? [ruler.long, [from, to]].sort((a, b) => long(b) - long(a)) : [[from, to], null];
    findings.change(one.id, { ...one.finding, ruler: { slice_index: k, long: axes[0], short: axes[1] } });
  }

  // Take hold of the chosen outline near the pointer, and push it with what lies beside.
  grab(view, index) {
    const one = this.findings.chosen, k = this.k;
    const drawn = one?.finding.slices.find((each) => each.slice_index === k);
    if (!drawn) return false;
    const at = view.toCanvas(index);
    const away = drawn.outline.map((corner) => {
      const place = view.toCanvas([...view.grid.onSlice(corner, k), k]);
      return Math.hypot(place[0] - at[0], place[1] - at[1]);
    });
    if (Math.min(...away) > NEAR_PX) return false;
    const from = this.mm(view, index).slice(0, 2);
    const reach = Math.max(NEAR_PX / view.scale, long(extent(drawn.outline)) / 8);
    const weight = drawn.outline.map((corner) => {
      const share = Math.hypot(corner[0] - from[0], corner[1] - from[1]) / reach;
      return Math.exp(-share * share);
    });
    this.held = { one, drawn, from, weight, before: one.finding };
    return true;
  }

  push(view, index) {
    if (!this.held) return;
    const { one, drawn, from, weight, before } = this.held, to = this.mm(view, index);
    const moved = [to[0] - from[0], to[1] - from[1]];
    const outline = drawn.outline.map((corner, at) => rounded(
      [corner[0] + weight[at] * moved[0], corner[1] + weight[at] * moved[1]]));
    const slices = before.slices.map((each) => (each === drawn ? { ...drawn, outline } : each));
    one.finding = { ...before, slices };
  }

  release() {
    if (!this.held) return;
    const { one, before } = this.held, after = one.finding;
    this.held = null;
    one.finding = before;
    if (after !== before) this.findings.change(one.id, after);
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
      const place = view.toCanvas([...view.grid.onSlice(shown[1], this.k), this.k]);
      ink.fillStyle = "#ffffff";
      ink.fillText(`${long(shown).toFixed(1)} mm`, place[0] + 10, place[1] - 10);
    }
  }
}

// The buttons that choose a tool, and which of them is chosen.
export function listenToButtons(tools) {
  const buttons = document.querySelectorAll("[data-tool]");
  for (const button of buttons) button.addEventListener("click", () => tools.use(button.dataset.tool));
  tools.state.listeners.push(() => {
    for (const button of buttons) {
      button.setAttribute("aria-pressed", String(button.dataset.tool === tools.state.tool));
    }
  });
}

function rounded(place) {
  return place.map((value) => Math.round(value * 1e4) / 1e4);
}

function ellipse([from, to]) {
  if (!to) return [];
  const [x, y] = middle([from, to]), half = [Math.abs(to[0] - from[0]) / 2, Math.abs(to[1] - from[1]) / 2];
  return Array.from({ length: CORNERS }, (_, at) => {
    const turn = (2 * Math.PI * at) / CORNERS;
    return rounded([x + half[0] * Math.cos(turn), y + half[1] * Math.sin(turn)]);
  });
}

function middle(points) {
  const ends = extent(points);
  return [(ends[0][0] + ends[1][0]) / 2, (ends[0][1] + ends[1][1]) / 2];
}

function extent(points) {
  const of = (axis) => points.map((one) => one[axis]);
  return [[Math.min(...of(0)), Math.min(...of(1))], [Math.max(...of(0)), Math.max(...of(1))]];
}

function long([from, to]) {
  return Math.hypot(to[0] - from[0], to[1] - from[1]);
}

function area(points) {
  const twice = points.reduce((sum, [x, y], at) => {
    const [u, v] = points[(at + 1) % points.length];
    return sum + x * v - u * y;
  }, 0);
  return Math.abs(twice) / 2;
}

export function drawingKeys(state, tools, findings) {
  const on = (keys, word, run) => ({ keys, word, run });
  const use = (tool) => () => tools.use(tool);
  return [
    on(["l"], "key.look", use("look")),
    on(["p"], "key.propose", use("propose")),
    on(["Enter"], "key.propose_here", () => {
      if (state.tool === "polygon" && tools.points.length) tools.finish();
      else if (!state.isHandedIn) tools.propose(state.volume.grid.toWorld(state.cursor));
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
    on(["Shift+Delete"], "key.remove_finding", () => findings.removeChosen()),
    on(["Ctrl+z"], "key.undo", () => findings.undo()),
    on(["Ctrl+y", "Ctrl+Z"], "key.redo", () => findings.redo()),
  ];
}
