// Mouse, pen and touchpad on a view: wheel through slices, drag to window, pan, zoom or look.
import { PLANES } from "./grid.js";

const LINE_PX = 40; // a wheel that turns by lines; a touchpad's pixels are gathered up to a step
const STEP_PX = 40;

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
    // a notch of a wheel is a whole step, however many pixels it is
    const isNotch = Math.abs(event.deltaY) >= 100 || event.deltaMode;
    const steps = isNotch ? Math.sign(turned) : Math.trunc(gathered / STEP_PX);
    gathered = isNotch ? 0 : gathered - steps * STEP_PX;
    if (!steps) return;
    activate();
    const { through } = PLANES[view.plane], index = [...state.cursor];
    index[through] = Math.round(index[through]) - steps; // towards the reader: down, as on film
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
    const place = at(event), index = view.toIndex(place);
    drag = { place, kind: kindOf(event), window: { ...state.window } };
    state.began();
    if (drag.kind === "tool" && !tools.down(view, index, event)) drag.kind = "look";
    if (drag.kind === "look") look(index);
  });

  function kindOf(event) {
    if (event.button === 2) return "window";
    if (event.button === 1 || event.ctrlKey) return "pan";
    return state.tool === "look" ? "look" : "tool";
  }

  function look(index) {
    state.moveTo(index);
  }

  canvas.addEventListener("pointermove", (event) => {
    if (!state.volume || !view.centre) return;
    const place = at(event), index = view.toIndex(place);
    view.pointer = index;
    if (drag) {
      state.began();
      const moved = place.map((value, axis) => value - drag.place[axis]);
      if (drag.kind === "window") {
        const { level, width } = drag.window;
        state.setWindow({ level: level + moved[1] * 4, width: width + moved[0] * 6 });
      } else if (drag.kind === "pan") {
        view.panBy(moved);
        drag.place = place;
      } else if (drag.kind === "look") look(index);
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
