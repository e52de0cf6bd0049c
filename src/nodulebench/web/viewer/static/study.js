// The page of an observer study: the reader classifies and measures one location at a time.
import { find } from "./dom.js";
import { Findings } from "./findings.js";
import { State } from "./state.js";
import { listenToButtons, Tools } from "./tools.js";
import { translate } from "./translations.js";
import { notice, Viewer } from "./viewer.js";

const CALL_KEYS = {
  nodule: { key: "7", text: "key.call_nodule" },
  small_nodule: { key: "8", text: "key.call_small_nodule" },
  non_nodule: { key: "9", text: "key.call_non_nodule" },
};

class StudyFindings extends Findings {
  constructor(state, viewer) {
    super(state, notice);
    this.viewer = viewer;
    /** @type {{ k: number, at: [number, number] } | null} the first end of an axis set by keys. */
    this.axisStart = null;
    viewer.scans.describe = (scan) => (scan.is_submitted ? "" : translate("study.open"));
    for (const button of find("calls").children) {
      button.addEventListener("click", () => this.call(button.dataset.call));
    }
  }

  async opened(number) {
    this.axisStart = null;
    await super.opened(number);
    if (this.state.number === number) this.center();
  }

  // Show the location in the middle of all views.
  center() {
    const [location] = this.state.findings;
    if (location) this.jump(location.id);
  }

  begin() {
    return null; // a reader cannot add findings
  }

  call(call) {
    if (!this.selected || this.state.isSubmitted) return;
    notice("");
    this.update({ call });
  }

  // Measure by keys: the first call sets one end of the axis at the cross-hair, the next the other.
  setAxisEnd() {
    const { state } = this, k = Math.round(state.cursor[2]);
    if (state.isSubmitted) return;
    const position = state.volume.grid.toWorld([state.cursor[0], state.cursor[1], k]);
    const [x, y] = position.map((value) => Math.round(value * 1e4) / 1e4);
    if (this.axisStart?.k !== k) {
      this.axisStart = { k, at: [x, y] };
      notice(translate("study.first_end"));
      return;
    }
    state.tools.measure([this.axisStart.at, [x, y]]);
    this.axisStart = null;
    notice("");
  }

  unmeasure() {
    this.axisStart = null;
    notice("");
    if (this.selected?.finding.ruler) this.update({ ruler: null });
  }

  // Submit the location, then open the next one that is open.
  async next() {
    const { state } = this, here = state.number;
    if (state.isSubmitted) {
      await this.openNext(here);
      return;
    }
    const { call, ruler } = this.selected?.finding ?? {};
    if (!call || (call === "nodule" && !ruler)) {
      notice(translate(call ? "study.measure_first" : "study.say_first"), true);
      return;
    }
    if (this.isSubmitting) return;
    this.isSubmitting = true;
    try {
      await this.submit();
      await this.viewer.scans.refresh();
      await this.openNext(here);
    } catch (error) {
      notice(error.message, true);
    } finally {
      this.isSubmitting = false;
    }
  }

  async openNext(here) {
    const { scans } = this.state, isOpen = (scan) => !scan.is_submitted;
    const later = scans.findIndex((scan, number) => number > here && isOpen(scan));
    const number = later >= 0 ? later : scans.findIndex(isOpen);
    if (number >= 0) await this.viewer.scans.open(number);
    else notice(translate("study.all_done"));
    this.state.changed();
  }

  show() {
    super.show();
    const { state } = this, call = this.selected?.finding.call;
    for (const button of find("calls").children) {
      button.disabled = state.isSubmitted;
      button.setAttribute("aria-pressed", String(button.dataset.call === call));
    }
    find("submit").disabled = state.number === null;
    find("submit").textContent = translate("study.next");
    find("task").textContent = translate(state.isSubmitted ? "study.rated" : "study.asks");
    const done = state.scans.filter((scan) => scan.is_submitted), total = state.scans.length;
    Object.assign(find("progress"), { max: Math.max(1, total), value: done.length });
    const times = done.map((scan) => scan.seconds).filter(Boolean);
    const mean = times.reduce((sum, seconds) => sum + seconds, 0) / Math.max(1, times.length);
    const minutes = Math.max(1, Math.round((mean * (total - done.length)) / 60));
    const left = times.length && done.length < total ? [translate("work.left", { minutes })] : [];
    find("done").textContent = [translate("work.done", { done: done.length, total }), ...left].join(" · ");
  }

  keys() {
    const { tools } = this.state, on = (keys, text, run) => ({ keys, text, run });
    return [
      ...Object.entries(CALL_KEYS).map(([name, { key, text }]) => on([key], text, () => this.call(name))),
      on(["Enter"], "key.next_place", () => this.next()),
      on(["p"], "key.back_to_place", () => this.center()),
      on(["l"], "key.view", () => tools.use("navigate")),
      on(["r"], "key.ruler", () => tools.use("ruler")),
      on(["e"], "key.lay_end", () => this.setAxisEnd()),
      on(["Delete"], "key.unmeasure", () => this.unmeasure()),
      on(["Ctrl+z"], "key.undo", () => this.undo()),
      on(["Ctrl+y", "Ctrl+Z"], "key.redo", () => this.redo()),
    ];
  }
}

const state = new State();
const tools = new Tools(state);
const viewer = new Viewer(tools);
const study = new StudyFindings(state, viewer);
tools.findings = study;
study.onShown = () => viewer.scans.show();
viewer.scans.onOpened.push((number) => study.opened(number));
viewer.scans.onLeaving.push(() => study.leaving());
listenToButtons(tools);
await viewer.start(study.keys(), {
  undo: () => study.undo(),
  redo: () => study.redo(),
  submit: () => study.next(),
  unmeasure: () => study.unmeasure(),
});
