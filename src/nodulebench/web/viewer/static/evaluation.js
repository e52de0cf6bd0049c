// The page of an evaluation or a finished exam: nodules and marks, coloured by label.
import { create, find } from "./dom.js";
import { get } from "./server.js";
import { State } from "./state.js";
import { translate } from "./translations.js";
import { notice, Viewer } from "./viewer.js";

// In this order they are listed: errors first.
const LABELS = {
  missed: { text: "label.missed", colour: "#ff6b5e" },
  false_positive: { text: "label.false_positive", colour: "#ffb347" },
  found: { text: "label.found", colour: "#7ccf9a" },
  hit: { text: "label.hit", colour: "#7fbfe8" },
  duplicate: { text: "label.duplicate", colour: "#c59bff" },
  ignored: { text: "label.ignored", colour: "#9aa3ad" },
  over_cap: { text: "label.over_cap", colour: "#9aa3ad" },
  uncounted: { text: "label.uncounted", colour: "#9aa3ad" },
  ignored_finding: { text: "label.ignored_finding", colour: "#9aa3ad" },
};

const POINTS = { evaluated: "point.evaluated", every: "point.every", rate: "point.rate" };
const EVALUATED = "0", OWN = "own"; // values of the list of thresholds

// The pointer only navigates.
class NoTools {
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

class Evaluation {
  constructor(state, viewer) {
    this.state = state;
    this.viewer = viewer;
    this.summary = { errors: [], found: 0, nodules: 0, false_positives: 0, cases: 1, threshold: null };
    this.pending = null; // the id of the error to jump to when its scan is open
    this.form = find("evaluation");
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
    this.choices = (await get("evaluation")).body;
    fill(this.form.elements.rule, Object.keys(this.choices));
    this.fillAlgorithms();
    this.form.addEventListener("submit", (event) => event.preventDefault());
    this.form.addEventListener("change", (event) => this.changed(event.target.name));
    await this.listErrors();
  }

  async changed(field) {
    const { point, threshold } = this.form.elements;
    if (field === "rule") this.fillAlgorithms();
    if (field === "algorithm") this.fillPoints();
    if (field === "threshold") point.value = threshold.value === "" ? EVALUATED : OWN;
    if (field === "point" && point.value !== OWN) {
      threshold.value = this.points[Number(point.value)].threshold ?? "";
    }
    await this.listErrors();
    if (this.state.number !== null) await this.opened(this.state.number);
  }

  // Choose the next threshold of the list; 1: fewer marks, -1: more marks.
  changeThreshold(step) {
    const { point } = this.form.elements, current = this.summary.threshold;
    const order = this.points.map(({ threshold }, index) => [threshold ?? current, index])
      .filter(([threshold]) => threshold !== null).sort((a, b) => a[0] - b[0]);
    const here = current ?? order[0]?.[0];
    const next = step > 0
      ? order.find(([threshold]) => threshold > here) : order.findLast(([threshold]) => threshold < here);
    if (!next) return;
    point.value = String(next[1]);
    this.changed("point");
  }

  fillAlgorithms() {
    const { rule, algorithm } = this.form.elements, before = algorithm.value;
    fill(algorithm, Object.keys(this.choices[rule.value] ?? {}));
    if (hasOption(algorithm, before)) algorithm.value = before;
    this.fillPoints();
  }

  // When the rule changes, a typed threshold stays; a threshold of the list is looked up again.
  fillPoints() {
    const { point, threshold } = this.form.elements, before = point.value;
    const named = this.points.map(({ name, rate }, index) =>
      new Option(translate(POINTS[name], { rate }), String(index)));
    point.replaceChildren(...named, new Option(translate("point.own"), OWN));
    point.value = hasOption(point, before) ? before : EVALUATED;
    if (point.value !== OWN) threshold.value = this.points[Number(point.value)]?.threshold ?? "";
    for (const row of this.form.querySelectorAll(".scored")) row.hidden = !this.points.length;
  }

  async listErrors() {
    const { query } = this, { body } = await get(`evaluation/errors?${query}`);
    if (query !== this.query) return; // the choice has changed meanwhile
    this.summary = body;
    this.show();
  }

  // The errors in scans that are here, filtered by the form.
  get shown() {
    const only = this.form.elements.only.value;
    const names = new Set(this.state.scans.map((scan) => scan.case_id));
    return this.summary.errors.filter((error) => names.has(error.case_id)
      && (!only || error.label === only || (only === "flips" && error.flips)));
  }

  async opened(number) {
    const { state, query } = this;
    const { body } = await get(`scans/${number}/evaluation?${query}`);
    if (state.number !== number || query !== this.query) return;
    state.findings = body.map((finding) => ({
      ...finding, colour: LABELS[finding.label].colour, isDashed: finding.is_mark }));
    const order = Object.keys(LABELS);
    state.findings.sort((a, b) => order.indexOf(a.label) - order.indexOf(b.label));
    if (!state.findings.some(({ id }) => id === state.selected)) state.selected = null;
    if (this.pending) this.jump(this.pending);
    this.pending = null;
    state.changed();
    state.redraw();
  }

  // Jump to the next (1) or previous (-1) error, in any scan.
  async step(step) {
    const errors = this.shown;
    if (!errors.length) return;
    const here = this.state.scans[this.state.number]?.case_id;
    const index = errors.findIndex(({ case_id, id }) => case_id === here && id === this.state.selected);
    const first = step > 0 ? 0 : errors.length - 1;
    await this.goTo(errors[index < 0 ? first : (index + step + errors.length) % errors.length]);
  }

  async goTo(error) {
    const number = this.state.scans.findIndex((scan) => scan.case_id === error.case_id);
    if (number === this.state.number) {
      this.jump(error.id);
      return;
    }
    this.pending = error.id;
    await this.viewer.scans.open(number);
  }

  jump(id) {
    const { state } = this, shown = state.findings.find((finding) => finding.id === id);
    if (!shown) return;
    state.selected = id;
    state.moveTo(state.volume.grid.toIndex(shown.finding.position_mm), { reveals: true });
    state.changed();
  }

  show() {
    const { state } = this, errors = this.shown;
    const index = errors.findIndex((error) => error.id === state.selected
      && error.case_id === state.scans[state.number]?.case_id);
    const { found, nodules, false_positives, cases, threshold } = this.summary;
    find("summary").textContent = translate("counts", {
      found, nodules, rate: (false_positives / cases).toFixed(2) });
    find("at").textContent = threshold === null ? "" : translate("at_score", { score: threshold.toPrecision(4) });
    find("count").textContent = translate("errors.count", { at: index < 0 ? "–" : index + 1, count: errors.length });
    this.viewer.scans.describe = ({ case_id }) => translate("scan.errors", {
      count: errors.filter((error) => error.case_id === case_id).length });
    this.viewer.scans.show();
    find("findings").replaceChildren(...state.findings.map((finding) => this.item(finding)));
  }

  item({ id, label, measured, score }) {
    const { text, colour } = LABELS[label];
    const mark = create("i"), button = create("button", { type: "button", className: "entry" });
    mark.style.background = colour;
    const name = `${translate(text)} · ${id.split(":").slice(1).join(":")}`;
    const size = measured.diameter_mm ? `${measured.diameter_mm.toFixed(1)} mm` : "";
    const shownScore = score === null ? "" : translate("score", { score: score.toPrecision(3) });
    const details = [size, shownScore].filter(Boolean).join(" · ");
    button.append(mark, create("span", { textContent: name }), create("small", { textContent: details }));
    if (id === this.state.selected) button.setAttribute("aria-current", "true");
    button.addEventListener("click", () => this.jump(id));
    const item = create("li");
    item.append(button);
    return item;
  }
}

function fill(select, names) {
  select.replaceChildren(...names.map((name) => new Option(name.replaceAll("_", " "), name)));
}

function hasOption(select, value) {
  return [...select.options].some((option) => option.value === value);
}

const state = new State();
const viewer = new Viewer(new NoTools(state));
const evaluation = new Evaluation(state, viewer);
await viewer.scans.refresh();
try {
  await evaluation.begin();
} catch (error) {
  notice(error.message, true);
}
state.listeners.push(() => evaluation.show());
viewer.scans.onOpened.push((number) => evaluation.opened(number));
const on = (keys, text, run) => ({ keys, text, run });
await viewer.start([
  on(["n", "ArrowRight"], "key.next_error", () => evaluation.step(1)),
  on(["N", "ArrowLeft"], "key.last_error", () => evaluation.step(-1)),
  on(["]"], "key.fewer_marks", () => evaluation.changeThreshold(1)),
  on(["["], "key.more_marks", () => evaluation.changeThreshold(-1)),
], { next: () => evaluation.step(1), last: () => evaluation.step(-1) });
