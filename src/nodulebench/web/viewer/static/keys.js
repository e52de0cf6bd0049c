// All keys and what they do, in one table. The help dialog (`?`) is made from the same table.
import { create } from "./dom.js";
import { PLANES } from "./grid.js";
import { SLABS_MM } from "./state.js";
import { translate } from "./translations.js";

/**
 * @typedef {object} Key
 * @property {string[]} keys names of keys that do the same, as `nameOf` returns them.
 * @property {string} text the key of its text in the help.
 * @property {() => unknown} run
 * @property {boolean} [isAlways] also when no scan is open.
 */

const FAST = 10;

function step(state, count) {
  const { through } = PLANES[state.active];
  const index = state.cursor.map(Math.round);
  index[through] += count;
  state.moveTo(index);
}

function shift(state, right, down) {
  const { across, down: along, turns } = PLANES[state.active];
  const index = state.cursor.map(Math.round);
  index[across] += right;
  index[along] += turns ? -down : down;
  state.moveTo(index, { reveals: true });
}

function adjust(state, level, width) {
  state.setWindow({ level: state.window.level + level, width: state.window.width + width });
}

export function nextSlab(state) {
  state.slabMm = SLABS_MM[(SLABS_MM.indexOf(state.slabMm) + 1) % SLABS_MM.length];
  state.changed();
  state.redraw();
}

/**
 * The name of a key: its modifiers in this order, then the name that the browser gives it.
 * @param {KeyboardEvent} event
 */
export function nameOf(event) {
  const parts = [];
  if (event.ctrlKey || event.metaKey) parts.push("Ctrl");
  if (event.altKey) parts.push("Alt");
  const isLetter = event.key.length === 1;
  if (event.shiftKey && !isLetter) parts.push("Shift");
  parts.push(event.key === " " ? "Space" : event.key);
  return parts.join("+");
}

const ARROWS = { ArrowUp: "↑", ArrowDown: "↓", ArrowLeft: "←", ArrowRight: "→" };

/**
 * The keys of all modes.
 * @param {import("./state.js").State} state
 * @param {import("./cine.js").Cine} cine
 * @returns {Key[]}
 */
export function viewKeys(state, cine) {
  const on = (keys, text, run) => ({ keys, text, run });
  return [
    on(["ArrowUp"], "key.up", () => step(state, 1)),
    on(["ArrowDown"], "key.down", () => step(state, -1)),
    on(["PageUp"], "key.fast_up", () => step(state, FAST)),
    on(["PageDown"], "key.fast_down", () => step(state, -FAST)),
    on(["Home"], "key.first", () => step(state, -1e6)),
    on(["End"], "key.last", () => step(state, 1e6)),
    on(["Shift+ArrowLeft"], "key.cross_left", () => shift(state, -1, 0)),
    on(["Shift+ArrowRight"], "key.cross_right", () => shift(state, 1, 0)),
    on(["Shift+ArrowUp"], "key.cross_up", () => shift(state, 0, -1)),
    on(["Shift+ArrowDown"], "key.cross_down", () => shift(state, 0, 1)),
    on(["a"], "key.axial", () => activate(state, "axial")),
    on(["c"], "key.coronal", () => activate(state, "coronal")),
    on(["s"], "key.sagittal", () => activate(state, "sagittal")),
    on(["1"], "key.lung", () => state.usePreset("lung")),
    on(["2"], "key.mediastinum", () => state.usePreset("mediastinum")),
    on(["3"], "key.bone", () => state.usePreset("bone")),
    on(["4"], "key.own", () => state.usePreset("own")),
    on(["Alt+ArrowUp"], "key.brighter", () => adjust(state, -20, 0)),
    on(["Alt+ArrowDown"], "key.darker", () => adjust(state, 20, 0)),
    on(["Alt+ArrowRight"], "key.wider", () => adjust(state, 0, 40)),
    on(["Alt+ArrowLeft"], "key.narrower", () => adjust(state, 0, -40)),
    on(["i"], "key.invert", () => state.invert()),
    on(["+", "="], "key.closer", () => zoom(state, 1.25)),
    on(["-"], "key.farther", () => zoom(state, 0.8)),
    on(["0"], "key.fit", () => fitAll(state)),
    on(["m"], "key.slab", () => nextSlab(state)),
    on(["Space"], "key.cine", () => cine.toggle()),
    on(["x"], "key.cross", () => toggle(state, "showsCross")),
    on(["h"], "key.marks", () => toggle(state, "showsMarks")),
  ];
}

function activate(state, plane) {
  state.active = plane;
  state.changed();
  state.redraw();
}

function zoom(state, factor) {
  state.view.zoomBy(factor, state.view.toCanvas(state.cursor));
  state.redraw();
}

export function fitAll(state) {
  for (const view of state.views) view.fit();
  state.redraw();
}

function toggle(state, property) {
  state[property] = !state[property];
  state.redraw();
}

/**
 * @param {Key[]} table
 * @param {import("./state.js").State} state
 */
export function listen(table, state) {
  /** @type {Map<string, Key>} */
  const byName = new Map(table.flatMap((entry) => entry.keys.map((name) => /** @type {const} */ ([name, entry]))));
  addEventListener("keydown", (event) => {
    const target = /** @type {any} */ (event.target);
    if (target.closest?.("dialog[open]")) return;
    const isWriting = target.closest?.("input, select, textarea");
    if (isWriting && event.key !== "Escape") return;
    const isPressing = ["Enter", " "].includes(event.key) && target.closest?.("button");
    if (isPressing) return;
    const entry = byName.get(nameOf(event));
    if (!entry || (!state.volume && !entry.isAlways)) return;
    event.preventDefault();
    state.began();
    if (isWriting) target.blur();
    entry.run();
  });
}

export function fillHelp(list, table) {
  list.replaceChildren(...table.flatMap(({ keys, text }) => {
    const key = create("dt"), names = keys.map((name) => name.replace(/Arrow\w+/, (arrow) => ARROWS[arrow]));
    for (const name of names) {
      key.append(create("kbd", { textContent: name === "Space" ? translate("key.space_bar") : name }), " ");
    }
    return [key, create("dd", { textContent: translate(text) })];
  }));
}
