// The page of an observer study: one place at a time, what it is and how large; then the next one.
import { Findings } from "./findings.js";
import { find, notice, Room } from "./room.js";
import { State } from "./state.js";
import { listenToButtons, Tools } from "./tools.js";
import { translate } from "./words.js";

const CALLS = { nodule: "kind.nodule", small_nodule: "kind.small_nodule", non_nodule: "kind.non_nodule" };
const KEYS = { nodule: "7", small_nodule: "8", non_nodule: "9" };
const WORDS = { nodule: "key.call_nodule", small_nodule: "key.call_small_nodule", non_nodule: "key.call_non_nodule" };

class Study extends Findings {
  constructor(state, room) {
    super(state, notice);
    this.room = room;
    this.end = null; // of an axis that is being laid by keys
    room.scans.tell = (scan) => (scan.is_submitted ? "" : translate("study.open"));
    for (const button of find("calls").children) {
      button.addEventListener("click", () => this.call(button.dataset.call));
    }
  }

  async opened(number) {
    this.end = null;
    await super.opened(number);
    if (this.state.number === number) this.back();
  }

  // The place in the middle of all pictures.
  back() {
    const [one] = this.state.findings;
    if (one) this.jump(one.id);
  }

  begin() {
    return null; // there is nothing but the place
  }

  call(said) {
    if (!this.chosen || this.state.isHandedIn) return;
    notice("");
    this.update({ call: said });
  }

  // Both ends of an axis at the cross-hair, one after the other.
  layEnd() {
    const { state } = this, k = Math.round(state.cursor[2]);
    if (state.isHandedIn) return;
    const place = state.volume.grid.toWorld([state.cursor[0], state.cursor[1], k]);
    const [x, y] = place.map((value) => Math.round(value * 1e4) / 1e4);
    if (this.end?.k !== k) {
      this.end = { k, at: [x, y] };
      notice(translate("study.first_end"));
      return;
    }
    state.tools.measure([this.end.at, [x, y]]);
    this.end = null;
    notice("");
  }

  unmeasure() {
    this.end = null;
    notice("");
    if (this.chosen?.finding.ruler) this.update({ ruler: null });
  }

  async next() {
    const { state } = this, here = state.number;
    if (state.isHandedIn) {
      await this.goOn(here);
      return;
    }
    const { call, ruler } = this.chosen?.finding ?? {};
    if (!call || (call === "nodule" && !ruler)) {
      notice(translate(call ? "study.measure_first" : "study.say_first"), true);
      return;
    }
    if (this.isSending) return;
    this.isSending = true;
    try {
      await this.handIn();
      await this.room.scans.refresh();
      await this.goOn(here);
    } catch (error) {
      notice(error.message, true);
    } finally {
      this.isSending = false;
    }
  }

  async goOn(here) {
    const { scans } = this.state, isOpen = (scan) => !scan.is_submitted;
    const later = scans.findIndex((scan, at) => at > here && isOpen(scan));
    const number = later >= 0 ? later : scans.findIndex(isOpen);
    if (number >= 0) await this.room.scans.open(number);
    else notice(translate("study.all_done"));
    this.state.changed();
  }

  show() {
    super.show();
    const { state } = this, said = this.chosen?.finding.call;
    for (const button of find("calls").children) {
      button.disabled = state.isHandedIn;
      button.setAttribute("aria-pressed", String(button.dataset.call === said));
    }
    find("hand-in").disabled = state.number === null;
    find("hand-in").textContent = translate("study.next");
    find("asks").textContent = translate(state.isHandedIn ? "study.judged" : "study.asks");
    const done = state.scans.filter((scan) => scan.is_submitted), total = state.scans.length;
    Object.assign(find("progress"), { max: Math.max(1, total), value: done.length });
    const spent = done.map((scan) => scan.seconds).filter(Boolean);
    const mean = spent.reduce((sum, one) => sum + one, 0) / Math.max(1, spent.length);
    const minutes = Math.max(1, Math.round((mean * (total - done.length)) / 60));
    const left = spent.length && done.length < total ? [translate("work.left", { minutes })] : [];
    find("done").textContent = [translate("work.done", { done: done.length, total }), ...left].join(" · ");
  }

  keys() {
    const { tools } = this.state, on = (keys, word, run) => ({ keys, word, run });
    return [
      ...Object.keys(CALLS).map((name) => on([KEYS[name]], WORDS[name], () => this.call(name))),
      on(["Enter"], "key.next_place", () => this.next()),
      on(["p"], "key.back_to_place", () => this.back()),
      on(["l"], "key.look", () => tools.use("look")),
      on(["r"], "key.ruler", () => tools.use("ruler")),
      on(["e"], "key.lay_end", () => this.layEnd()),
      on(["Delete"], "key.unmeasure", () => this.unmeasure()),
      on(["Ctrl+z"], "key.undo", () => this.undo()),
      on(["Ctrl+y", "Ctrl+Z"], "key.redo", () => this.redo()),
    ];
  }
}

const state = new State();
const tools = new Tools(state);
const room = new Room(tools);
const study = new Study(state, room);
tools.findings = study;
study.onShown = () => room.scans.show();
room.scans.onOpened.push((number) => study.opened(number));
room.scans.onLeaving.push(() => study.leaving());
listenToButtons(tools);
await room.start(study.keys(), {
  undo: () => study.undo(),
  redo: () => study.redo(),
  hand_in: () => study.next(),
  unmeasure: () => study.unmeasure(),
});
