// Mouse, pen and touchpad on a view: scroll through slices, zoom, pan, set the window, use a tool.
import { PLANES } from "./grid.js";

const LINE_PX = 40; // of a wheel that counts lines
const STEP_PX = 40; // pixels of a touchpad that make one step

/**
 * @typedef {import("./view.js").View} View
 * @typedef {import("./state.js").Triple} Triple
 *
 * @typedef {object} PointerTools What the pointer does in addition to navigating; see tools.js.
 * @property {import("./state.js").State} [state]
 * @property {(view: View, index: Triple, event: PointerEvent) => boolean} down returns whether the
 *   tool uses the pointer until it is up.
 * @property {(view: View, index: Triple, event: PointerEvent) => void} move
 * @property {(view: View, index: Triple, event: PointerEvent) => void} up
 * @property {(view: View, index: Triple) => void} hover
 * @property {(view: View, index: Triple) => void} doubled
 * @property {(turns: number) => boolean} wheel returns whether the tool uses the wheel with Alt.
 * @property {(view: View, ink: CanvasRenderingContext2D) => void} [draw]
 */

/**
 * @param {View} view
 * @param {PointerTools} tools
 */
export function attach(view, tools) {
  const { canvas, state } = view;
  let gathered = 0, drag = null;

  const at = (event) => {
    const box = canvas.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  };

  canvas.addEventListener("wheel", (event) => {
    event.preventDefault();
    if (!state.volume) return;
    state.began();
    const unit = event.deltaMode ? LINE_PX : 1, turned = event.deltaY * unit;
    if (event.ctrlKey) {
      view.zoomBy(Math.exp(-turned / 300), at(event));
      state.redraw();
      return;
    }
    if (event.altKey && tools.wheel(Math.sign(turned))) return;
    gathered += turned;
    // a notch of a wheel is one step, however many pixels it reports
    const isNotch = Math.abs(event.deltaY) >= 100 || event.deltaMode;
    const steps = isNotch ? Math.sign(turned) : Math.trunc(gathered / STEP_PX);
    gathered = isNotch ? 0 : gathered - steps * STEP_PX;
    if (!steps) return;
    activate();
    const { through } = PLANES[view.plane], index = [...state.cursor];
    index[through] = Math.round(index[through]) - steps; // turning towards the reader goes down
    state.moveTo(index);
  }, { passive: false });

  function activate() {
    if (state.active === view.plane) return;
    state.active = view.plane;
    state.changed();
  }

  canvas.addEventListener("contextmenu", (event) => event.preventDefault());

  canvas.addEventListener("pointerdown", (event) => {
    if (!state.volume) return;
    activate();
    canvas.focus({ preventScroll: true });
    canvas.setPointerCapture(event.pointerId);
    const position = at(event), index = view.toIndex(position);
    drag = { position, kind: kindOf(event), window: { ...state.window } };
    state.began();
    if (drag.kind === "tool" && !tools.down(view, index, event)) drag.kind = "navigate";
    if (drag.kind === "navigate") state.moveTo(index);
  });

  function kindOf(event) {
    if (event.button === 2) return "window";
    if (event.button === 1 || event.ctrlKey) return "pan";
    return state.tool === "navigate" ? "navigate" : "tool";
  }

  canvas.addEventListener("pointermove", (event) => {
    if (!state.volume || !view.centre) return;
    const position = at(event), index = view.toIndex(position);
    view.pointer = index;
    if (drag) {
      state.began();
      const moved = position.map((value, axis) => value - drag.position[axis]);
      if (drag.kind === "window") {
        const { level, width } = drag.window;
        state.setWindow({ level: level + moved[1] * 4, width: width + moved[0] * 6 });
      } else if (drag.kind === "pan") {
        view.panBy(moved);
        drag.position = position;
      } else if (drag.kind === "navigate") state.moveTo(index);
      else tools.move(view, index, event);
    } else tools.hover(view, index);
    state.redraw();
  });

  const end = (event) => {
    if (drag?.kind === "tool") tools.up(view, view.toIndex(at(event)), event);
    drag = null;
  };
  canvas.addEventListener("pointerup", end);
  canvas.addEventListener("pointercancel", end);
  canvas.addEventListener("pointerleave", () => {
    view.pointer = null;
    state.redraw();
  });
  canvas.addEventListener("dblclick", (event) => tools.doubled(view, view.toIndex(at(event))));
}
