// Findings of an annotation project: what is asked in a case, candidates that are judged, and the
// list of what waits. Answers are drafts like outlines until the case is handed in.
import { Findings } from "./findings.js";
import { ask, send } from "./server.js";
import { translate } from "./words.js";

const find = (id) => document.getElementById(id);
const READERS = { A: "#4cc9f0", B: "#ff85c2", C: "#b5e655", D: "#ffa45c" };
const OTHER = "#c9b6ff", AS_IT_STANDS = "#f4f4f4", NOTE = "#e0b84f";
const AGAIN_MS = 20000;
// What each step of the work is called, asks, warns of and leaves open.
const MODES = {
  read: { name: "work.mode.read", asks: "work.asks.read", sure: "work.sure.read" },
  revise: { name: "work.mode.revise", asks: "work.asks.revise", sure: "work.sure.revise" },
  type: { name: "work.mode.type", asks: "work.asks.type", sure: "work.sure.type", open: "work.open.type" },
  review: { name: "work.mode.review", asks: "work.asks.review", sure: "work.sure.review",
    open: "work.open.review", yes: "work.review.yes", no: "work.review.no" },
  arbitrate: { name: "work.mode.arbitrate", asks: "work.asks.arbitrate", sure: "work.sure.arbitrate",
    open: "work.open.arbitrate", yes: "work.arbitrate.yes", no: "work.arbitrate.no" },
  done: { name: "work.mode.look", asks: "work.asks.look", sure: "work.asks.look" },
};
const STATES = { reading: "work.state.reading", revision: "work.state.revision", checking: "work.state.checking",
  typing: "work.state.typing", review: "work.state.review", arbitration: "work.state.arbitration",
  released: "work.state.released" };

export class Work extends Findings {
  constructor(state, notice, room) {
    super(state, notice);
    this.room = room;
    this.form.elements.discussed_with.addEventListener("change", (event) => {
      const names = event.target.value.split(/[,;\s]+/).filter(Boolean);
      this.update({ discussed_with: names });
    });
    room.scans.tell = (scan) => this.tellScan(scan);
    const { tools } = state;
    const [draw, use, propose] = [tools.draw, tools.use, tools.propose].map((one) => one.bind(tools));
    tools.draw = (view, ink) => {
      draw(view, ink);
      this.drawOver(view, ink);
    };
    tools.use = (tool) => use(this.mayDraw || ["look", "ruler"].includes(tool) ? tool : "look");
    tools.propose = (...given) => (this.mayAdd ? propose(...given) : undefined);
    this.refreshWork();
    setInterval(() => {
      if (!document.hidden) this.refreshAll();
    }, AGAIN_MS);
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

  get asked() {
    return this.state.findings.filter((one) => one.known?.is_asked);
  }

  get unanswered() {
    const isOpen = ({ finding }) => (this.mode === "type" ? !finding.type : !finding.answer);
    return this.asked.filter(isOpen);
  }

  async opened(number) {
    const { state } = this;
    state.beneath = [];
    await super.opened(number);
    if (state.number !== number) return;
    for (const one of state.findings) {
      if (!one.known) continue;
      if (one.known.readers.length) Object.assign(one, { colour: AS_IT_STANDS, isDashed: true });
      for (const { letter, slices } of one.known.readers) {
        state.beneath.push({ finding: { slices }, colour: READERS[letter] ?? OTHER, isOther: true });
      }
    }
    for (const { letter, findings } of state.colleagues) {
      for (const finding of findings) {
        state.beneath.push({ finding, colour: READERS[letter] ?? OTHER, isOther: true });
      }
    }
    this.showOthers();
    if (!this.mayDraw) state.tools.use("look");
    const first = this.unanswered[0] ?? this.asked[0];
    if (first) this.jump(first.id);
    else state.changed();
  }

  // What other readers drew in a case that is revised: to jump to, and to take over as one's own.
  showOthers() {
    const items = this.state.colleagues.flatMap(({ letter, findings }) => findings.map((finding) => {
      const item = document.createElement("li"), jump = document.createElement("button");
      const mark = document.createElement("i"), name = document.createElement("span");
      const take = document.createElement("button");
      mark.style.background = READERS[letter] ?? OTHER;
      name.textContent = translate("work.reader_drew", { letter, slices: finding.slices.length });
      jump.type = take.type = "button";
      jump.className = "one";
      jump.append(mark, name);
      jump.addEventListener("click", () => {
        const { grid } = this.state.volume;
        this.state.moveTo(grid.toIndex(finding.position_mm), { reveals: true });
      });
      take.textContent = translate("work.take");
      take.hidden = this.mode !== "revise";
      take.addEventListener("click", () => {
        const { position_mm, slices, type } = finding;
        this.begin({ position_mm, slices, type });
      });
      item.append(jump, take);
      return item;
    }));
    find("others").replaceChildren(...items);
    find("others-part").hidden = !this.state.colleagues.length;
    find("others-none").hidden = items.length > 0;
  }

  begin(finding) {
    if (this.mayAdd || this.state.isHandedIn) return super.begin(finding);
    this.notice(translate("work.no_new"), true);
    return null;
  }

  change(id, finding, options) {
    const held = this.state.findings.find((one) => one.id === id);
    if (held?.known && !held.known.is_asked) {
      this.notice(translate("work.not_asked"), true);
      return;
    }
    if (held?.known && finding === null) return; // a candidate is judged, not removed
    if (this.toldOpen) this.notice("");
    this.toldOpen = false;
    const isFixed = held?.known && !this.mayDraw;
    super.change(id, isFixed ? { ...finding, slices: held.finding.slices } : finding, options);
  }

  answer(said) {
    if (this.chosen?.known?.is_asked && this.mode !== "type") this.update({ answer: said });
  }

  // The outline of a candidate as it was given.
  reset() {
    if (this.chosen?.proposed) this.update({ slices: this.chosen.proposed.slices });
  }

  get isCorrected() {
    const one = this.chosen;
    return Boolean(one?.proposed)
      && JSON.stringify(one.proposed.slices) !== JSON.stringify(one.finding.slices);
  }

  mayHandIn() {
    const open = this.unanswered;
    if (!open.length) return true;
    this.jump(open[0].id);
    this.toldOpen = true;
    this.notice(translate(MODES[this.mode].open, { count: open.length }), true);
    return false;
  }

  async handIn() {
    const { state } = this, number = state.number;
    try {
      await super.handIn();
    } catch (error) {
      this.notice(error.message, true);
      return;
    }
    await this.refreshAll();
    const after = state.scans.findIndex((scan, at) => at > number && scan && scan.mode !== "done");
    const { first } = this.room.scans;
    await this.room.scans.open(after > 0 ? after : first >= 0 ? first : number);
  }

  async refreshAll() {
    try {
      await this.room.scans.refresh();
      await this.refreshWork();
    } catch { /* the next time */ }
    const here = this.state.scans[this.state.number];
    if (here && here.mode !== this.mode && this.mode === "done") this.room.scans.open(this.state.number);
    if (this.state.number === null && this.room.scans.first >= 0) this.room.scans.open(this.room.scans.first);
  }

  async refreshWork() {
    this.batches = (await ask("work")).told;
    find("work").replaceChildren(...this.batches.map((one) => this.batch(one)));
    this.showNothing();
  }

  showNothing() {
    const isOpen = this.state.scans.some((scan) => scan.mode !== "done");
    find("nothing").hidden = isOpen || !this.batches || this.batches.some((one) => one.may_release);
  }

  batch({ batch, state, done, total, may_release, seconds_left }) {
    const item = document.createElement("li"), name = document.createElement("span");
    const bar = document.createElement("progress"), told = document.createElement("small");
    name.textContent = `${batch} · ${translate(STATES[state])}`;
    Object.assign(bar, { max: Math.max(1, total), value: done });
    bar.setAttribute("aria-label", name.textContent);
    const left = seconds_left === null ? [] : [translate("work.left", { minutes: Math.max(1, Math.round(seconds_left / 60)) })];
    told.textContent = [translate("work.done", { done, total }), ...left].join(" · ");
    item.append(name, bar, told);
    if (may_release) {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = translate("work.release");
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

  tellScan({ batch, mode, findings }) {
    const word = translate(MODES[mode].name);
    return mode === "read" && findings ? `${batch} · ${word} · ${findings}` : `${batch} · ${word}`;
  }

  show() {
    super.show();
    const { state, mode } = this, one = this.chosen, told = one?.known;
    document.body.dataset.mode = mode;
    const like = mode === "revise" ? "read" : mode; // the same tools and fields
    for (const place of document.querySelectorAll("[data-for]")) {
      place.hidden = !place.dataset.for.split(" ").includes(like);
    }
    find("asks").textContent = state.number === null ? "" : translate(MODES[mode].asks);
    find("sure").querySelector("p").textContent = translate(MODES[mode].sure);
    find("findings-title").textContent = translate(like === "read" ? "findings" : "work.candidates");
    find("hand-in").hidden = mode === "done";
    this.showNothing();
    find("none").hidden = state.findings.length > 0 || like !== "read";
    const isAsked = Boolean(told?.is_asked), isMine = one && !told;
    for (const field of this.form.elements) {
      field.disabled = state.isHandedIn || Boolean(told && !isAsked);
    }
    this.form.elements.type.disabled ||= Boolean(told) && mode === "review";
    find("answers").hidden = !isAsked || !["review", "arbitrate"].includes(mode);
    for (const said of ["yes", "no"]) {
      const button = find("answers").querySelector(`[data-do="answer_${said}"]`);
      button.textContent = translate(MODES[mode][said] ?? "");
      button.setAttribute("aria-pressed", String(one?.finding.answer === said));
    }
    find("reset").hidden = !this.isCorrected || !isAsked;
    for (const button of this.form.querySelectorAll('[data-do="remove"]')) button.hidden = !isMine;
    this.showTold(told);
  }

  showTold(told) {
    const place = find("told"), rows = [];
    const row = (text, name = "") => {
      const line = document.createElement("p");
      line.textContent = text;
      line.className = name;
      rows.push(line);
      return line;
    };
    for (const why of told?.why ?? []) row(why, "why");
    if (told?.comment) row(translate("work.reviewer_said", { comment: told.comment }));
    if (told?.note) row(translate("work.arbitrator_said", { comment: told.note }));
    if (told?.types.length) {
      row(translate("work.types_said", { types: told.types.map((name) => translate(`name.${name}`)).join(", ") }));
    }
    if (told?.reader_count) {
      row(translate("work.drawn_by", { count: told.readers.length, of: told.reader_count }));
      const line = row("", "readers");
      for (const { letter, slices } of told.readers) {
        const mark = document.createElement("i"), name = document.createElement("span");
        mark.style.background = READERS[letter] ?? OTHER;
        name.textContent = translate("work.reader_drew", { letter, slices: slices.length });
        line.append(mark, name);
      }
    }
    if (told?.inconsistent.length) {
      const line = row(translate("work.inconsistent"), "slices");
      for (const number of told.inconsistent) {
        const button = document.createElement("button");
        button.type = "button";
        button.textContent = number + 1;
        button.addEventListener("click", () => {
          const { cursor } = this.state;
          this.state.moveTo([cursor[0], cursor[1], number], { reveals: true });
        });
        line.append(button);
      }
    }
    place.hidden = !rows.length;
    place.replaceChildren(...rows);
  }

  item(one, at) {
    const item = super.item(one, at);
    if (one.known) {
      if (one.colour) item.querySelector("i").style.background = one.colour;
      const told = item.querySelector("small"), { answer, type } = one.finding;
      const isOpen = one.known.is_asked && (this.mode === "type" ? !type : !answer);
      const outcome = one.known.is_nodule ?? null;
      const settled = outcome === null ? undefined : MODES.arbitrate[outcome ? "yes" : "no"];
      const word = MODES[this.mode][answer] ?? settled, said = word ? [translate(word)] : [];
      told.textContent = [told.textContent, ...said, ...(isOpen ? [translate("work.waits")] : [])].join(" · ");
      item.querySelector("button").classList.toggle("waits", isOpen);
    }
    return item;
  }

  // A slice that not all readers drew the chosen candidate on stands out.
  drawOver(view, ink) {
    if (view.plane !== "axial") return;
    const slices = this.chosen?.known?.inconsistent ?? [];
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
    const on = (keys, word, run) => ({ keys, word, run });
    return [
      on(["y"], "key.answer_yes", () => this.answer("yes")),
      on(["w"], "key.answer_no", () => this.answer("no")),
    ];
  }
}
