// The page in which the cases of an evaluation are looked at: nodules and marks, coloured by label.
import { ask } from "./server.js";
import { find, notice, Room } from "./room.js";
import { State } from "./state.js";
import { translate } from "./words.js";

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

const POINTS = { evaluated: "point.evaluated", every: "point.every", rate: "point.rate" };
const EVALUATED = "0", OWN = "own"; // of the thresholds to choose from

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
    this.told = { errors: [], found: 0, nodules: 0, false_positives: 0, cases: 1, threshold: null };
    this.wanted = null; // what to jump to when its scan is open
    this.form = find("judged");
  }

  get query() {
    const { rule, algorithm, point, threshold } = this.form.elements;
    const query = new URLSearchParams({ rule: rule.value, algorithm: algorithm.value });
    const isChosen = point.value !== EVALUATED && threshold.value !== "" && this.points.length;
    if (isChosen) query.set("threshold", threshold.value);
    return String(query);
  }

  get points() {
    const { rule, algorithm } = this.form.elements;
    return this.choices[rule.value]?.[algorithm.value] ?? [];
  }

  async begin() {
    this.choices = (await ask("evaluation")).told;
    fill(this.form.elements.rule, Object.keys(this.choices));
    this.fillAlgorithms();
    this.form.addEventListener("submit", (event) => event.preventDefault());
    this.form.addEventListener("change", (event) => this.chosen(event.target.name));
    await this.listErrors();
  }

  async chosen(what) {
    const { point, threshold } = this.form.elements;
    if (what === "rule") this.fillAlgorithms();
    if (what === "algorithm") this.fillPoints();
    if (what === "threshold") point.value = threshold.value === "" ? EVALUATED : OWN;
    if (what === "point" && point.value !== OWN) {
      threshold.value = this.points[Number(point.value)].threshold ?? "";
    }
    await this.listErrors();
    if (this.state.number !== null) await this.opened(this.state.number);
  }

  // Another threshold of the list: upwards fewer marks.
  turn(way) {
    const { point } = this.form.elements;
    const order = this.points.map(({ threshold }, at) => [threshold ?? this.told.threshold, at])
      .filter(([threshold]) => threshold !== null).sort((a, b) => a[0] - b[0]);
    const here = this.told.threshold ?? order[0]?.[0];
    const next = way > 0 ? order.find(([one]) => one > here) : order.findLast(([one]) => one < here);
    if (!next) return;
    point.value = String(next[1]);
    this.chosen("point");
  }

  fillAlgorithms() {
    const { rule, algorithm } = this.form.elements, before = algorithm.value;
    fill(algorithm, Object.keys(this.choices[rule.value] ?? {}));
    if ([...algorithm.options].some((one) => one.value === before)) algorithm.value = before;
    this.fillPoints();
  }

  // A threshold that was typed in stays when the rule changes; one of a list is read anew.
  fillPoints() {
    const { point, threshold } = this.form.elements, before = point.value;
    const named = this.points.map(({ name, rate }, at) => new Option(translate(POINTS[name], { rate }), at));
    point.replaceChildren(...named, new Option(translate("point.own"), OWN));
    point.value = [...point.options].some((one) => one.value === before) ? before : EVALUATED;
    if (point.value !== OWN) threshold.value = this.points[Number(point.value)]?.threshold ?? "";
    for (const row of this.form.querySelectorAll(".scored")) row.hidden = !this.points.length;
  }

  async listErrors() {
    const { query } = this, { told } = await ask(`evaluation/errors?${query}`);
    if (query !== this.query) return; // something else was chosen meanwhile
    this.told = told;
    this.show();
  }

  get shown() {
    const only = this.form.elements.only.value;
    const names = new Set(this.state.scans.map((scan) => scan.case_id));
    return this.told.errors.filter((one) => names.has(one.case_id)
      && (!only || one.label === only || (only === "flips" && one.flips)));
  }

  async opened(number) {
    const { state, query } = this;
    const { told } = await ask(`scans/${number}/evaluation?${query}`);
    if (state.number !== number || query !== this.query) return;
    state.findings = told.map((one) => ({
      ...one, colour: LABELS[one.label].colour, isDashed: one.is_mark }));
    const order = Object.keys(LABELS); // errors first
    state.findings.sort((a, b) => order.indexOf(a.label) - order.indexOf(b.label));
    if (!state.findings.some((one) => one.id === state.selected)) state.selected = null;
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
    state.moveTo(state.volume.grid.toIndex(one.finding.position_mm), { reveals: true });
    state.changed();
  }

  show() {
    const { state } = this, list = this.shown;
    const at = list.findIndex((one) => one.id === state.selected
      && one.case_id === state.scans[state.number]?.case_id);
    const { found, nodules, false_positives, cases, threshold } = this.told;
    find("stands").textContent = translate("stands", {
      found, nodules, rate: (false_positives / cases).toFixed(2) });
    find("at").textContent = threshold === null ? "" : translate("at_score", { score: threshold.toPrecision(4) });
    find("count").textContent = translate("errors.count", { at: at < 0 ? "–" : at + 1, count: list.length });
    this.room.scans.tell = ({ case_id }) => translate("scan.errors", {
      count: list.filter((one) => one.case_id === case_id).length });
    this.room.scans.show();
    find("findings").replaceChildren(...state.findings.map((one) => this.item(one)));
  }

  item(one) {
    const item = document.createElement("li"), button = document.createElement("button");
    const mark = document.createElement("i"), name = document.createElement("span");
    const told = document.createElement("small"), { word, colour } = LABELS[one.label];
    mark.style.background = colour;
    name.textContent = `${translate(word)} · ${one.id.split(":").slice(1).join(":")}`;
    const size = one.measured.diameter_mm ? `${one.measured.diameter_mm.toFixed(1)} mm` : "";
    const score = one.score === null ? "" : translate("score", { score: one.score.toPrecision(3) });
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
  on(["]"], "key.fewer_marks", () => judged.turn(1)),
  on(["["], "key.more_marks", () => judged.turn(-1)),
], { next: () => judged.step(1), last: () => judged.step(-1) });
