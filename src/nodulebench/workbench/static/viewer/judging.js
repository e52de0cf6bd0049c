// The page in which the cases of an evaluation are looked at: nodules and marks, coloured by label.
import { ask } from "./server.js";
import { find, notice, Room } from "./room.js";
import { State } from "./state.js";
import { say } from "./words.js";

const LABELS = {
  missed: { word: "label.missed", colour: "#ff6b5e" },
  false_positive: { word: "label.false_positive", colour: "#ffb347" },
  found: { word: "label.found", colour: "#7ccf9a" },
  hit: { word: "label.hit", colour: "#7fbfe8" },
  duplicate: { word: "label.duplicate", colour: "#c59bff" },
  ignored: { word: "label.ignored", colour: "#9aa3ad" },
  over_cap: { word: "label.over_cap", colour: "#9aa3ad" },
  uncounted: { word: "label.uncounted", colour: "#9aa3ad" },
  ignored_finding: { word: "label.ignored_finding", colour: "#9aa3ad" },
};

// The pointer only looks.
class Looking {
  constructor(state) {
    this.state = state;
  }

  down() {
    return false;
  }

  move() {}

  up() {}

  hover() {}

  doubled() {}

  wheel() {
    return false;
  }

  draw() {}
}

class Judgements {
  constructor(state, room) {
    this.state = state;
    this.room = room;
    this.errors = [];
    this.wanted = null; // what to jump to when its scan is open
    this.form = find("judged");
  }

  get query() {
    const { rule, algorithm } = this.form.elements;
    return `rule=${encodeURIComponent(rule.value)}&algorithm=${encodeURIComponent(algorithm.value)}`;
  }

  async begin() {
    this.choices = (await ask("judged")).told;
    fill(this.form.elements.rule, Object.keys(this.choices));
    this.fillAlgorithms();
    this.form.addEventListener("change", async (event) => {
      if (event.target.name === "rule") this.fillAlgorithms();
      await this.listErrors();
      if (this.state.number !== null) await this.opened(this.state.number);
    });
    await this.listErrors();
  }

  fillAlgorithms() {
    fill(this.form.elements.algorithm, this.choices[this.form.elements.rule.value] ?? []);
  }

  async listErrors() {
    this.all = (await ask(`judged/errors?${this.query}`)).told;
    this.show();
  }

  get shown() {
    const only = this.form.elements.only.value;
    const names = new Set(this.state.scans.map((scan) => scan.case_id));
    return this.all.filter((one) => names.has(one.case_id)
      && (!only || one.label === only || (only === "flips" && one.flips)));
  }

  async opened(number) {
    const { state } = this;
    const { told } = await ask(`scans/${number}/judged?${this.query}`);
    if (state.number !== number) return;
    state.findings = told.map((one) => ({
      ...one, colour: LABELS[one.label].colour, isDashed: one.is_mark }));
    if (this.wanted) this.jump(this.wanted);
    this.wanted = null;
    state.changed();
    state.redraw();
  }

  // The next or last error, wherever it lies.
  async step(way) {
    const list = this.shown;
    if (!list.length) return;
    const here = this.state.scans[this.state.number]?.case_id;
    const at = list.findIndex((one) => one.case_id === here && one.id === this.state.selected);
    const first = way > 0 ? 0 : list.length - 1;
    await this.goTo(list[at < 0 ? first : (at + way + list.length) % list.length]);
  }

  async goTo(one) {
    const number = this.state.scans.findIndex((scan) => scan.case_id === one.case_id);
    if (number === this.state.number) {
      this.jump(one.id);
      return;
    }
    this.wanted = one.id;
    await this.room.scans.open(number);
  }

  jump(id) {
    const { state } = this, one = state.findings.find((each) => each.id === id);
    if (!one) return;
    state.selected = id;
    state.moveTo(state.volume.grid.toIndex(one.finding.place_mm), { reveals: true });
    state.changed();
  }

  show() {
    const { state } = this, list = this.shown;
    const at = list.findIndex((one) => one.id === state.selected
      && one.case_id === state.scans[state.number]?.case_id);
    find("count").textContent = say("errors.count", { at: at < 0 ? "–" : at + 1, count: list.length });
    this.room.scans.tell = ({ case_id }) => say("scan.errors", {
      count: list.filter((one) => one.case_id === case_id).length });
    this.room.scans.show();
    find("findings").replaceChildren(...state.findings.map((one) => this.item(one)));
  }

  item(one) {
    const item = document.createElement("li"), button = document.createElement("button");
    const mark = document.createElement("i"), name = document.createElement("span");
    const told = document.createElement("small"), { word, colour } = LABELS[one.label];
    mark.style.background = colour;
    name.textContent = `${say(word)} · ${one.id.split(":").slice(1).join(":")}`;
    const size = one.measured.diameter_mm ? `${one.measured.diameter_mm.toFixed(1)} mm` : "";
    const score = one.score === null ? "" : say("score", { score: one.score.toPrecision(3) });
    told.textContent = [size, score].filter(Boolean).join(" · ");
    button.type = "button";
    button.className = "one";
    button.append(mark, name, told);
    if (one.id === this.state.selected) button.setAttribute("aria-current", "true");
    button.addEventListener("click", () => this.jump(one.id));
    item.append(button);
    return item;
  }
}

function fill(select, names) {
  select.replaceChildren(...names.map((name) => new Option(name.replaceAll("_", " "), name)));
}

const state = new State();
const room = new Room(new Looking(state));
const judged = new Judgements(state, room);
await room.scans.refresh();
try {
  await judged.begin();
} catch (error) {
  notice(error.message, true);
}
state.listeners.push(() => judged.show());
room.scans.onOpened.push((number) => judged.opened(number));
const on = (keys, word, run) => ({ keys, word, run });
await room.start([
  on(["n", "ArrowRight"], "key.next_error", () => judged.step(1)),
  on(["N", "ArrowLeft"], "key.last_error", () => judged.step(-1)),
], { next: () => judged.step(1), last: () => judged.step(-1) });
