// The findings of a scan: the list, the form of the selected finding, undo and redo, and saving.
import { create, find } from "./dom.js";
import { Drafts } from "./drafts.js";
import { get, send, sendFile } from "./server.js";
import { colourOf } from "./outlines.js";
import { translate } from "./translations.js";

const EMPTY = { kind: "nodule", slices: [], ruler: null, type: null, density: null, malignancy: null,
  subtlety: null, is_near_vessel: null, is_near_cavity: null, comment: "" };
const KINDS = { nodule: "kind.nodule", small_nodule: "kind.small_nodule", non_nodule: "kind.non_nodule" };

export class Findings {
  /**
   * @param {import("./state.js").State} state
   * @param {(text: string, isWrong?: boolean, offer?: any) => void} notice
   */
  constructor(state, notice) {
    this.state = state;
    this.notice = notice;
    this.undone = [];
    this.past = [];
    /** @type {Map<string, number>} versions of removed findings, which may come back. */
    this.removed = new Map();
    this.onShown = () => {};
    this.drafts = new Drafts({
      onSaved: (entry, saved) => this.saved(entry, saved),
      onConflict: (entry, last, error) => this.conflict(entry, last, error),
      onStatus: (drafts) => this.showStatus(drafts),
    });
    this.form = find("finding");
    this.form.addEventListener("input", (event) => {
      if (event.target.tagName !== "TEXTAREA") this.readForm();
    });
    this.form.addEventListener("change", () => this.readForm());
    find("load")?.addEventListener("change", async ({ target }) => {
      await this.load(target.files[0]);
      target.value = "";
    });
    state.listeners.push(() => this.show());
    addEventListener("pagehide", () => this.leaving()); // saves the time spent on the open scan
  }

  get caseId() {
    return this.state.scans[this.state.number]?.case_id;
  }

  /** @returns {import("./state.js").ShownFinding | null} */
  get selected() {
    return this.find(this.state.selected) ?? null;
  }

  /** @param {string | null} id */
  find(id) {
    return this.state.findings.find((shown) => shown.id === id);
  }

  async opened(number) {
    const { state } = this;
    this.past = [];
    this.undone = [];
    if (!this.drafts.isAway) await this.drafts.settled(); // includes the edits of a closed tab
    const { body } = await get(`scans/${number}/reading`);
    if (state.number !== number) return;
    state.findings = body.findings;
    state.mode = body.mode;
    state.colleagues = body.others;
    state.isSubmitted = body.is_submitted;
    state.changed();
    state.redraw();
  }

  async leaving() {
    if (this.state.number !== null && !this.state.isSubmitted && this.drafts.seconds >= 1) {
      this.drafts.put(this.state.number, this.caseId, null, 0, null);
    }
  }

  // Add a finding and return its id; null if the reading is submitted.
  begin(finding) {
    if (this.state.isSubmitted) {
      this.notice(translate("submitted.frozen"), true);
      return null;
    }
    const id = crypto.randomUUID().slice(0, 8);
    this.change(id, { ...EMPTY, ...finding });
    this.state.selected = id;
    this.state.changed();
    return id;
  }

  // All changes of findings come here: remember for undo, show, save. finding null: remove it.
  change(id, finding, { isUndo = false } = {}) {
    const { state } = this;
    if (state.isSubmitted) return;
    const held = this.find(id);
    if (!isUndo) {
      this.past.push({ id, before: held?.finding ?? null, after: finding });
      this.undone = [];
    }
    const version = held?.version ?? this.removed.get(id) ?? 0;
    if (finding === null) {
      state.findings = state.findings.filter((shown) => shown.id !== id);
      this.removed.set(id, version + 1);
      if (state.selected === id) state.selected = null;
    } else if (held) Object.assign(held, { finding, version: version + 1 });
    else state.findings = [...state.findings, { id, version: version + 1, finding, measured: {} }];
    this.drafts.put(state.number, this.caseId, id, version, finding);
    state.scans[state.number].findings = state.findings.length;
    state.changed();
    state.redraw();
  }

  update(changes) {
    const { selected } = this;
    if (selected) this.change(selected.id, { ...selected.finding, ...changes });
  }

  undo() {
    const last = this.past.pop();
    if (!last) return;
    this.undone.push(last);
    this.change(last.id, last.before, { isUndo: true });
  }

  redo() {
    const last = this.undone.pop();
    if (!last) return;
    this.past.push(last);
    this.change(last.id, last.after, { isUndo: true });
  }

  // The server has saved an edit.
  saved({ scan, edit }, saved) {
    if (scan !== this.state.number) return;
    const held = this.find(edit.finding_id);
    if (held && saved.version === held.version) held.measured = saved.measured;
    this.state.changed();
    this.state.redraw();
  }

  // Another tab changed the finding first: show that version, and offer the reader's own.
  conflict({ scan, edit }, last, error) {
    const detail = error.body?.detail ?? {};
    if (detail.code === "submitted") {
      this.state.isSubmitted = true;
      this.notice(translate("submitted.frozen"), true);
    } else if (detail.code === "changed_elsewhere") {
      const mine = last.edit.finding;
      if (scan === this.state.number) this.accept(edit.finding_id, detail.current);
      this.notice(translate("conflict"), true, {
        text: translate("conflict.mine"),
        run: () => this.change(edit.finding_id, mine),
      });
    } else this.notice(error.message, true);
    this.state.changed();
    this.state.redraw();
  }

  // Show the version of the server.
  accept(id, current) {
    const { state } = this;
    if (!current || current.finding === null) {
      state.findings = state.findings.filter((shown) => shown.id !== id);
      this.removed.set(id, current?.version ?? 0);
      return;
    }
    const held = this.find(id);
    if (held) Object.assign(held, current);
    else state.findings = [...state.findings, { id, ...current }];
  }

  select(id) {
    this.state.selected = id;
    this.state.changed();
    this.state.redraw();
  }

  // Select a finding and show it in all views: its largest slice, else its point.
  jump(id) {
    this.select(id);
    const { selected } = this, { grid } = this.state.volume;
    if (!selected) return;
    const largest = (selected.measured.slices ?? []).toSorted((a, b) => b.area_mm2 - a.area_mm2)[0];
    const index = largest
      ? [...grid.onSlice([largest.center_x_mm, largest.center_y_mm], largest.slice_index),
        largest.slice_index]
      : grid.toIndex(selected.finding.position_mm);
    this.state.moveTo(index, { reveals: true });
  }

  // Jump to the next (1) or previous (-1) finding.
  step(step) {
    const { findings, selected } = this.state, count = findings.length;
    if (!count) return;
    const index = findings.findIndex(({ id }) => id === selected);
    const next = index < 0 ? (step > 0 ? 0 : count - 1) : (index + step + count) % count;
    this.jump(findings[next].id);
  }

  removeSelected() {
    if (this.selected) this.change(this.selected.id, null);
  }

  removeSlice() {
    const k = Math.round(this.state.cursor[2]), { selected } = this;
    const slices = selected?.finding.slices.filter((outlined) => outlined.slice_index !== k);
    if (selected && slices.length < selected.finding.slices.length) this.update({ slices });
  }

  async fill() {
    if (!this.selected || this.selected.finding.slices.length < 2) return;
    const { id, finding } = this.selected;
    const { slices } = await send(`scans/${this.state.number}/filled`, { slices: finding.slices });
    this.change(id, { ...finding, slices });
  }

  async submit() {
    await this.leaving();
    await this.drafts.settled();
    const { is_over } = await send(`scans/${this.state.number}/submit`, {});
    if (is_over) location.reload(); // the page then shows the result
    this.state.isSubmitted = true;
    this.state.changed();
  }

  // Add the findings in a file of another viewer.
  async load(file) {
    if (!file || this.state.isSubmitted) return;
    const { number } = this.state;
    try {
      const { findings } = await sendFile(`scans/${number}/files?name=${encodeURIComponent(file.name)}`, file);
      if (this.state.number !== number) return;
      for (const { finding } of findings) this.begin(finding);
      this.notice(translate("files.loaded", { count: findings.length, name: file.name }));
    } catch (error) {
      this.notice(error.message, true);
    }
  }

  // Whether every question is answered; projects replace this and the methods below.
  maySubmit() {
    return true;
  }

  /** @param {string} _answer */
  answer(_answer) {}

  reset() {}

  /** @returns {import("./keys.js").Key[]} */
  keys() {
    return [];
  }

  readForm() {
    if (!this.selected) return;
    const data = new FormData(this.form);
    const text = (name) => /** @type {string} */ (data.get(name)) || null;
    const number = (name) => (text(name) ? Number(text(name)) : null);
    const flag = (name) => ({ yes: true, no: false })[text(name)] ?? null;
    const entered = {
      kind: text("kind"), type: text("type"), density: text("density"),
      malignancy: number("malignancy"), subtlety: number("subtlety"),
      is_near_vessel: flag("is_near_vessel"), is_near_cavity: flag("is_near_cavity"),
      comment: data.get("comment") ?? "",
    };
    const before = this.selected.finding;
    if (Object.keys(entered).some((name) => entered[name] !== before[name])) this.update(entered);
  }

  show() {
    const { state, selected } = this;
    this.onShown();
    find("findings").replaceChildren(...state.findings.map((shown, index) => this.item(shown, index)));
    find("none").hidden = state.findings.length > 0;
    this.form.hidden = !selected;
    this.showFiles();
    find("submit").disabled = state.isSubmitted || state.number === null;
    find("submit").textContent = translate(state.isSubmitted ? "submitted" : "submit");
    for (const field of this.form.elements) field.disabled = state.isSubmitted;
    if (!selected) return;
    for (const [name, value] of Object.entries(/** @type {Record<string, any>} */ (selected.finding))) {
      const field = this.form.elements.namedItem(name);
      if (!field || field === document.activeElement) continue;
      field.value = value === true ? "yes" : value === false ? "no" : value ?? "";
    }
    this.showSizes(selected);
  }

  showFiles() {
    const { state } = this, files = find("files");
    if (!files) return;
    for (const link of files.querySelectorAll("a")) {
      if (state.findings.length) link.href = `scans/${state.number}/files/${link.dataset.kind}`;
      else link.removeAttribute("href");
    }
    find("load").disabled = state.isSubmitted || !state.volume;
  }

  item({ id, finding, measured }, index) {
    const mark = create("i"), button = create("button", { type: "button", className: "entry" });
    mark.style.background = colourOf(this.state, id);
    const kind = translate(finding.type ? `name.${finding.type}` : KINDS[finding.kind]);
    const size = measured.diameter_mm
      ? translate("size.short", { mm: measured.average_mm.toFixed(1), slices: finding.slices.length })
      : translate("size.point");
    button.append(
      mark,
      create("span", { textContent: `${index + 1} · ${kind}` }),
      create("small", { textContent: size }),
    );
    if (id === this.state.selected) button.setAttribute("aria-current", "true");
    button.addEventListener("click", () => this.jump(id));
    const item = create("li");
    item.append(button);
    return item;
  }

  showSizes({ finding, measured }) {
    const rows = [], mm = (value) => `${value.toFixed(1)} mm`;
    if (measured.diameter_mm) {
      rows.push(
        [translate("size.axes"), `${measured.long_mm.toFixed(1)} × ${mm(measured.short_mm)}`],
        [translate("size.average"), mm(measured.average_mm)],
        [translate("size.diameter"), mm(measured.diameter_mm)],
        [translate("size.volume"), `${Math.round(measured.volume_mm3)} mm³`],
        [translate("size.hu"), measured.mean_hu === null ? "–" : `${Math.round(measured.mean_hu)} HU`],
      );
    }
    const { ruler } = finding;
    if (ruler) {
      const length = ([from, to]) => Math.hypot(from[0] - to[0], from[1] - to[1]);
      const lengths = [ruler.long, ruler.short].filter(Boolean).map((axis) => length(axis).toFixed(1));
      rows.push([translate("size.ruler"), `${lengths.join(" × ")} mm`]);
    }
    find("sizes").replaceChildren(...rows.flatMap(([name, value]) =>
      [create("dt", { textContent: name }), create("dd", { textContent: value })]));
  }

  showStatus({ waiting, isAway }) {
    const status = find("saved");
    if (isAway) status.textContent = translate("saved.away", { count: waiting });
    else status.textContent = waiting ? translate("saved.saving") : translate("saved.all");
    status.classList.toggle("wrong", isAway);
  }
}
