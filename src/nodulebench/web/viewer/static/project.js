// Findings in an annotation project: the task in a case, candidates to answer, and the progress of
// batches. Answers are drafts, like outlines, until the case is submitted.
import { create, find } from "./dom.js";
import { Findings } from "./findings.js";
import { get, send } from "./server.js";
import { translate } from "./translations.js";

const READERS = { A: "#4cc9f0", B: "#ff85c2", C: "#b5e655", D: "#ffa45c" };
const OTHER = "#c9b6ff", PANEL = "#f4f4f4", NOTE = "#e0b84f";
const REFRESH_MS = 20000;
// The texts of each task: its name, instruction, confirmation, warning, and answers.
const MODES = {
  read: { name: "work.mode.read", asks: "work.asks.read", sure: "work.sure.read" },
  revise: { name: "work.mode.revise", asks: "work.asks.revise", sure: "work.sure.revise" },
  type: { name: "work.mode.type", asks: "work.asks.type", sure: "work.sure.type", open: "work.open.type" },
  review: { name: "work.mode.review", asks: "work.asks.review", sure: "work.sure.review",
    open: "work.open.review", yes: "work.review.yes", no: "work.review.no" },
  arbitrate: { name: "work.mode.arbitrate", asks: "work.asks.arbitrate", sure: "work.sure.arbitrate",
    open: "work.open.arbitrate", yes: "work.arbitrate.yes", no: "work.arbitrate.no" },
  done: { name: "work.mode.view", asks: "work.asks.view", sure: "work.asks.view" },
};
const STATES = { reading: "work.state.reading", revision: "work.state.revision", checking: "work.state.checking",
  typing: "work.state.typing", review: "work.state.review", arbitration: "work.state.arbitration",
  released: "work.state.released" };

export class ProjectFindings extends Findings {
  /**
   * @param {import("./state.js").State} state
   * @param {(text: string, isWrong?: boolean, offer?: any) => void} notice
   * @param {import("./viewer.js").Viewer} viewer
   */
  constructor(state, notice, viewer) {
    super(state, notice);
    this.viewer = viewer;
    this.hasWarning = false; // whether the notice lists unanswered candidates
    this.batches = null;
    this.form.elements.discussed_with.addEventListener("change", (event) => {
      const names = event.target.value.split(/[,;\s]+/).filter(Boolean);
      this.update({ discussed_with: names });
    });
    viewer.scans.describe = (scan) => this.describe(scan);
    const { tools } = state;
    const [draw, use, propose] = [tools.draw, tools.use, tools.propose].map((method) => method.bind(tools));
    tools.draw = (view, ink) => {
      draw(view, ink);
      this.drawWarning(view, ink);
    };
    tools.use = (tool) => use(this.mayDraw || ["navigate", "ruler"].includes(tool) ? tool : "navigate");
    tools.propose = (...options) => (this.mayAdd ? propose(...options) : undefined);
    this.refreshBatches();
    setInterval(() => {
      if (!document.hidden) this.refreshAll();
    }, REFRESH_MS);
  }

  get mode() {
    return this.state.mode ?? "done";
  }

  get mayAdd() {
    return ["read", "revise", "review"].includes(this.mode);
  }

  get mayDraw() {
    return this.mayAdd || this.mode === "arbitrate";
  }

  // The candidates that the person has to answer.
  get asked() {
    return this.state.findings.filter(({ known }) => known?.is_asked);
  }

  get unanswered() {
    const isOpen = ({ finding }) => (this.mode === "type" ? !finding.type : !finding.answer);
    return this.asked.filter(isOpen);
  }

  async opened(number) {
    const { state } = this;
    state.background = [];
    await super.opened(number);
    if (state.number !== number) return;
    for (const shown of state.findings) {
      if (!shown.known) continue;
      if (shown.known.readers.length) Object.assign(shown, { colour: PANEL, isDashed: true });
      for (const { letter, slices } of shown.known.readers) {
        const finding = { position_mm: shown.finding.position_mm, slices };
        state.background.push({ finding, colour: READERS[letter] ?? OTHER });
      }
    }
    for (const { letter, findings } of state.colleagues) {
      for (const finding of findings) {
        state.background.push({ finding, colour: READERS[letter] ?? OTHER });
      }
    }
    this.showOthers();
    if (!this.mayDraw) state.tools.use("navigate");
    const first = this.unanswered[0] ?? this.asked[0];
    if (first) this.jump(first.id);
    else state.changed();
  }

  // The findings of other readers in a case that is revised: to jump to, and to copy.
  showOthers() {
    const items = this.state.colleagues.flatMap(({ letter, findings }) => findings.map((finding) => {
      const mark = create("i"), jump = create("button", { type: "button", className: "entry" });
      mark.style.background = READERS[letter] ?? OTHER;
      const name = translate("work.reader_drew", { letter, slices: finding.slices.length });
      jump.append(mark, create("span", { textContent: name }));
      jump.addEventListener("click", () => {
        const { grid } = this.state.volume;
        this.state.moveTo(grid.toIndex(finding.position_mm), { reveals: true });
      });
      const copy = create("button", { type: "button", textContent: translate("work.take") });
      copy.hidden = this.mode !== "revise";
      copy.addEventListener("click", () => {
        const { position_mm, slices, type } = finding;
        this.begin({ position_mm, slices, type });
      });
      const item = create("li");
      item.append(jump, copy);
      return item;
    }));
    find("others").replaceChildren(...items);
    find("others-part").hidden = !this.state.colleagues.length;
    find("others-none").hidden = items.length > 0;
  }

  begin(finding) {
    if (this.mayAdd || this.state.isSubmitted) return super.begin(finding);
    this.notice(translate("work.no_new"), true);
    return null;
  }

  change(id, finding, options) {
    const held = this.find(id);
    if (held?.known && !held.known.is_asked) {
      this.notice(translate("work.not_asked"), true);
      return;
    }
    if (held?.known && finding === null) return; // a candidate is answered, not removed
    if (this.hasWarning) this.notice("");
    this.hasWarning = false;
    const isFixed = held?.known && !this.mayDraw;
    super.change(id, isFixed ? { ...finding, slices: held.finding.slices } : finding, options);
  }

  answer(answer) {
    if (this.selected?.known?.is_asked && this.mode !== "type") this.update({ answer });
  }

  // Restore the proposed outlines of a candidate.
  reset() {
    if (this.selected?.proposed) this.update({ slices: this.selected.proposed.slices });
  }

  get isCorrected() {
    const { selected } = this;
    return Boolean(selected?.proposed)
      && JSON.stringify(selected.proposed.slices) !== JSON.stringify(selected.finding.slices);
  }

  maySubmit() {
    const open = this.unanswered;
    if (!open.length) return true;
    this.jump(open[0].id);
    this.hasWarning = true;
    this.notice(translate(MODES[this.mode].open, { count: open.length }), true);
    return false;
  }

  async submit() {
    const { state } = this, number = state.number;
    try {
      await super.submit();
    } catch (error) {
      this.notice(error.message, true);
      return;
    }
    await this.refreshAll();
    const after = state.scans.findIndex((scan, other) => other > number && scan && scan.mode !== "done");
    const { first } = this.viewer.scans;
    await this.viewer.scans.open(after > 0 ? after : first >= 0 ? first : number);
  }

  async refreshAll() {
    const { state } = this, { scans } = this.viewer;
    try {
      await scans.refresh();
      await this.refreshBatches();
    } catch { /* the next refresh may succeed */ }
    const here = state.scans[state.number];
    if (here && here.mode !== this.mode && this.mode === "done") scans.open(state.number);
    if (state.number === null && scans.first >= 0) scans.open(scans.first);
  }

  async refreshBatches() {
    this.batches = (await get("work")).body;
    find("batches").replaceChildren(...this.batches.map((batch) => this.batchItem(batch)));
    this.showNothing();
  }

  showNothing() {
    const isOpen = this.state.scans.some((scan) => scan.mode !== "done");
    find("nothing").hidden = isOpen || !this.batches || this.batches.some((batch) => batch.may_release);
  }

  batchItem({ batch, state, done, total, may_release, seconds_left }) {
    const name = `${batch} · ${translate(STATES[state])}`;
    const bar = create("progress", { max: Math.max(1, total), value: done });
    bar.setAttribute("aria-label", name);
    const minutes = Math.max(1, Math.round(seconds_left / 60));
    const left = seconds_left === null ? [] : [translate("work.left", { minutes })];
    const progress = [translate("work.done", { done, total }), ...left].join(" · ");
    const item = create("li");
    item.append(create("span", { textContent: name }), bar, create("small", { textContent: progress }));
    if (may_release) {
      const button = create("button", { type: "button", textContent: translate("work.release") });
      button.addEventListener("click", () => this.release(batch));
      item.append(button);
    }
    return item;
  }

  async release(batch) {
    try {
      await send(`work/${encodeURIComponent(batch)}/release`, {});
      await this.refreshAll();
      this.notice(translate("work.released", { batch }));
    } catch (error) {
      this.notice(error.message, true);
    }
  }

  /**
   * The text below the name of a case.
   * @param {import("./state.js").ScanEntry} scan
   */
  describe({ batch, mode, findings }) {
    const task = translate(MODES[mode].name);
    return mode === "read" && findings ? `${batch} · ${task} · ${findings}` : `${batch} · ${task}`;
  }

  show() {
    super.show();
    const { state, mode, selected } = this, known = selected?.known;
    document.body.dataset.mode = mode;
    const task = mode === "revise" ? "read" : mode; // they have the same tools and fields
    for (const part of /** @type {NodeListOf<any>} */ (document.querySelectorAll("[data-tasks]"))) {
      part.hidden = !part.dataset.tasks.split(" ").includes(task);
    }
    find("task").textContent = state.number === null ? "" : translate(MODES[mode].asks);
    find("confirm").querySelector("p").textContent = translate(MODES[mode].sure);
    find("findings-title").textContent = translate(task === "read" ? "findings" : "work.candidates");
    find("submit").hidden = mode === "done";
    this.showNothing();
    find("none").hidden = state.findings.length > 0 || task !== "read";
    const isAsked = Boolean(known?.is_asked), isMine = selected && !known;
    for (const field of this.form.elements) {
      field.disabled = state.isSubmitted || Boolean(known && !isAsked);
    }
    this.form.elements.type.disabled ||= Boolean(known) && mode === "review";
    find("answers").hidden = !isAsked || !["review", "arbitrate"].includes(mode);
    for (const answer of ["yes", "no"]) {
      const button = find("answers").querySelector(`[data-action="answer_${answer}"]`);
      button.textContent = translate(MODES[mode][answer] ?? "");
      button.setAttribute("aria-pressed", String(selected?.finding.answer === answer));
    }
    find("reset").hidden = !this.isCorrected || !isAsked;
    for (const button of this.form.querySelectorAll('[data-action="remove"]')) button.hidden = !isMine;
    this.showKnown(known);
  }

  // What the project shows of the selected candidate: reasons, comments, readers, differing slices.
  showKnown(known) {
    const part = find("known"), rows = [];
    const add = (textContent, className = "") => {
      const row = create("p", { textContent, className });
      rows.push(row);
      return row;
    };
    for (const why of known?.why ?? []) add(why, "why");
    if (known?.comment) add(translate("work.reviewer_decision", { comment: known.comment }));
    if (known?.note) add(translate("work.arbitrator_decision", { comment: known.note }));
    if (known?.types.length) {
      add(translate("work.types_stated", { types: known.types.map((name) => translate(`name.${name}`)).join(", ") }));
    }
    if (known?.reader_count) {
      add(translate("work.drawn_by", { count: known.readers.length, of: known.reader_count }));
      const row = add("", "readers");
      for (const { letter, slices } of known.readers) {
        const mark = create("i");
        mark.style.background = READERS[letter] ?? OTHER;
        const textContent = translate("work.reader_drew", { letter, slices: slices.length });
        row.append(mark, create("span", { textContent }));
      }
    }
    if (known?.inconsistent.length) {
      const row = add(translate("work.inconsistent"), "slices");
      for (const number of known.inconsistent) {
        const button = create("button", { type: "button", textContent: number + 1 });
        button.addEventListener("click", () => {
          const { cursor } = this.state;
          this.state.moveTo([cursor[0], cursor[1], number], { reveals: true });
        });
        row.append(button);
      }
    }
    part.hidden = !rows.length;
    part.replaceChildren(...rows);
  }

  item(shown, index) {
    const item = super.item(shown, index);
    if (shown.known) {
      if (shown.colour) item.querySelector("i").style.background = shown.colour;
      const details = item.querySelector("small"), { answer, type } = shown.finding;
      const isOpen = shown.known.is_asked && (this.mode === "type" ? !type : !answer);
      const outcome = shown.known.is_nodule ?? null;
      const decision = outcome === null ? undefined : MODES.arbitrate[outcome ? "yes" : "no"];
      const key = MODES[this.mode][answer] ?? decision, answers = key ? [translate(key)] : [];
      details.textContent = [details.textContent, ...answers, ...(isOpen ? [translate("work.waits")] : [])].join(" · ");
      item.querySelector("button").classList.toggle("waits", isOpen);
    }
    return item;
  }

  // Mark a slice on which not all readers outlined the selected candidate.
  drawWarning(view, ink) {
    if (view.plane !== "axial") return;
    const slices = this.selected?.known?.inconsistent ?? [];
    if (!slices.includes(Math.round(this.state.cursor[2]))) return;
    const { width, height } = view.box;
    ink.strokeStyle = NOTE;
    ink.lineWidth = 3;
    ink.strokeRect(1.5, 1.5, width - 3, height - 3);
    ink.font = "600 13px system-ui, sans-serif";
    ink.textAlign = "center";
    ink.textBaseline = "middle";
    ink.lineWidth = 3;
    ink.strokeStyle = "rgba(0, 0, 0, 0.75)";
    ink.strokeText(translate("work.not_by_all"), width / 2, 34);
    ink.fillStyle = NOTE;
    ink.fillText(translate("work.not_by_all"), width / 2, 34);
  }

  keys() {
    return [
      { keys: ["y"], text: "key.answer_yes", run: () => this.answer("yes") },
      { keys: ["w"], text: "key.answer_no", run: () => this.answer("no") },
    ];
  }
}
