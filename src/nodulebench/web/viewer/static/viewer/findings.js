// The findings of a scan: the list, what is said of the chosen one, undo and redo, and saving.
import { Drafts } from "./drafts.js";
import { ask, send, sendFile } from "./server.js";
import { colourOf } from "./outlines.js";
import { translate } from "./words.js";

const find = (id) => document.getElementById(id);
const EMPTY = { kind: "nodule", slices: [], ruler: null, type: null, density: null, malignancy: null,
  subtlety: null, is_near_vessel: null, is_near_cavity: null, comment: "" };
const KINDS = { nodule: "kind.nodule", small_nodule: "kind.small_nodule", non_nodule: "kind.non_nodule" };

export class Findings {
  constructor(state, notice) {
    this.state = state;
    this.notice = notice;
    this.undone = [];
    this.past = [];
    this.drafts = new Drafts({
      onSaved: (entry, stands) => this.saved(entry, stands),
      onConflict: (entry, last, error) => this.conflict(entry, last, error),
      onStatus: (drafts) => this.showStatus(drafts),
    });
    this.form = find("finding");
    this.form.addEventListener("input", (event) => {
      if (event.target.tagName !== "TEXTAREA") this.fromForm();
    });
    this.form.addEventListener("change", () => this.fromForm());
    find("load")?.addEventListener("change", async ({ target }) => {
      await this.load(target.files[0]);
      target.value = "";
    });
    state.listeners.push(() => this.show());
    addEventListener("pagehide", () => this.leaving()); // the time on a scan that is left open
  }

  get caseId() {
    return this.state.scans[this.state.number]?.case_id;
  }

  get chosen() {
    return this.state.findings.find((one) => one.id === this.state.selected) ?? null;
  }

  async opened(number) {
    const { state } = this;
    this.past = [];
    this.undone = [];
    if (!this.drafts.isAway) await this.drafts.settled(); // what a closed tab left is there then
    const { told } = await ask(`scans/${number}/reading`);
    if (state.number !== number) return;
    state.findings = told.findings;
    state.mode = told.mode;
    state.colleagues = told.others;
    state.isHandedIn = told.is_submitted;
    state.changed();
    state.redraw();
  }

  async leaving() {
    if (this.state.number !== null && !this.state.isHandedIn && this.drafts.seconds >= 1) {
      this.drafts.put(this.state.number, this.caseId, null, 0, null);
    }
  }

  // A new finding, or null where nothing may be changed any more.
  begin(finding) {
    if (this.state.isHandedIn) {
      this.notice(translate("handed_in.frozen"), true);
      return null;
    }
    const id = crypto.randomUUID().slice(0, 8);
    this.change(id, { ...EMPTY, ...finding });
    this.state.selected = id;
    this.state.changed();
    return id;
  }

  // The one way in which a finding changes: remembered for undo, shown at once, saved.
  change(id, finding, { isUndo = false } = {}) {
    const { state } = this;
    if (state.isHandedIn) return;
    const held = state.findings.find((one) => one.id === id);
    if (!isUndo) {
      this.past.push({ id, before: held?.finding ?? null, after: finding });
      this.undone = [];
    }
    const gone = this.gone?.get(id) ?? 0;
    const version = held?.version ?? gone;
    if (finding === null) {
      state.findings = state.findings.filter((one) => one.id !== id);
      (this.gone ??= new Map()).set(id, version + 1);
      if (state.selected === id) state.selected = null;
    } else if (held) Object.assign(held, { finding, version: version + 1 });
    else state.findings = [...state.findings, { id, version: version + 1, finding, measured: {} }];
    this.drafts.put(state.number, this.caseId, id, version, finding);
    state.scans[state.number].findings = state.findings.length;
    state.changed();
    state.redraw();
  }

  update(changes) {
    if (this.chosen) this.change(this.chosen.id, { ...this.chosen.finding, ...changes });
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

  saved({ scan, edit }, stands) {
    if (scan !== this.state.number) return;
    const held = this.state.findings.find((one) => one.id === edit.finding_id);
    if (held && stands.version === held.version) held.measured = stands.measured;
    this.state.changed();
    this.state.redraw();
  }

  // Somebody else changed it first: theirs is shown, and the reader may still choose their own.
  conflict({ scan, edit }, last, error) {
    const detail = error.told?.detail ?? {};
    if (detail.code === "submitted") {
      this.state.isHandedIn = true;
      this.notice(translate("handed_in.frozen"), true);
    } else if (detail.code === "changed_elsewhere") {
      const mine = last.edit.finding, stands = detail.current;
      if (scan === this.state.number) this.take(edit.finding_id, stands);
      this.notice(translate("conflict"), true, {
        text: translate("conflict.mine"),
        run: () => this.change(edit.finding_id, mine),
      });
    } else this.notice(error.message, true);
    this.state.changed();
    this.state.redraw();
  }

  take(id, stands) {
    const { state } = this;
    if (!stands || stands.finding === null) {
      state.findings = state.findings.filter((one) => one.id !== id);
      (this.gone ??= new Map()).set(id, stands?.version ?? 0);
      return;
    }
    const held = state.findings.find((one) => one.id === id);
    if (held) Object.assign(held, stands);
    else state.findings = [...state.findings, { id, ...stands }];
  }

  select(id) {
    this.state.selected = id;
    this.state.changed();
    this.state.redraw();
  }

  // Bring the chosen finding into all pictures: its largest slice, else its point.
  jump(id) {
    this.select(id);
    const one = this.chosen, { grid } = this.state.volume;
    if (!one) return;
    const largest = (one.measured.slices ?? []).toSorted((a, b) => b.area_mm2 - a.area_mm2)[0];
    const place = largest
      ? [...grid.onSlice([largest.center_x_mm, largest.center_y_mm], largest.slice_index),
        largest.slice_index]
      : grid.toIndex(one.finding.position_mm);
    this.state.moveTo(place, { reveals: true });
  }

  step(way) {
    const { findings, selected } = this.state;
    if (!findings.length) return;
    const at = findings.findIndex((one) => one.id === selected);
    const next = at < 0 ? (way > 0 ? 0 : findings.length - 1) : (at + way + findings.length) % findings.length;
    this.jump(findings[next].id);
  }

  removeChosen() {
    if (this.chosen) this.change(this.chosen.id, null);
  }

  removeSlice() {
    const k = Math.round(this.state.cursor[2]), one = this.chosen;
    const slices = one?.finding.slices.filter((drawn) => drawn.slice_index !== k);
    if (one && slices.length < one.finding.slices.length) this.update({ slices });
  }

  async fill() {
    if (!this.chosen || this.chosen.finding.slices.length < 2) return;
    const { id, finding } = this.chosen;
    const { slices } = await send(`scans/${this.state.number}/filled`, { slices: finding.slices });
    this.change(id, { ...finding, slices });
  }

  async handIn() {
    await this.leaving();
    await this.drafts.settled();
    const { is_over } = await send(`scans/${this.state.number}/submit`, {});
    if (is_over) location.reload(); // the page of the result
    this.state.isHandedIn = true;
    this.state.changed();
  }

  // A file of another viewer: what it holds is put here like everything that is drawn.
  async load(file) {
    if (!file || this.state.isHandedIn) return;
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

  // Whether everything was said that has to be.
  mayHandIn() {
    return true;
  }

  fromForm() {
    if (!this.chosen) return;
    const data = new FormData(this.form), text = (name) => data.get(name) || null;
    const number = (name) => (text(name) ? Number(text(name)) : null);
    const flag = (name) => ({ yes: true, no: false })[text(name)] ?? null;
    const said = {
      kind: text("kind"), type: text("type"), density: text("density"),
      malignancy: number("malignancy"), subtlety: number("subtlety"),
      is_near_vessel: flag("is_near_vessel"), is_near_cavity: flag("is_near_cavity"),
      comment: data.get("comment") ?? "",
    };
    const before = this.chosen.finding;
    if (Object.keys(said).some((name) => said[name] !== before[name])) this.update(said);
  }

  show() {
    const { state } = this, one = this.chosen;
    this.onShown?.();
    find("findings").replaceChildren(...state.findings.map((each, at) => this.item(each, at)));
    find("none").hidden = state.findings.length > 0;
    this.form.hidden = !one;
    this.showFiles();
    find("hand-in").disabled = state.isHandedIn || state.number === null;
    find("hand-in").textContent = translate(state.isHandedIn ? "handed_in" : "hand_in");
    for (const field of this.form.elements) field.disabled = state.isHandedIn;
    if (!one) return;
    for (const [name, value] of Object.entries(one.finding)) {
      const field = this.form.elements.namedItem(name);
      if (!field || field === document.activeElement) continue;
      field.value = value === true ? "yes" : value === false ? "no" : value ?? "";
    }
    this.showSizes(one);
  }

  showFiles() {
    const { state } = this, files = find("files");
    if (!files) return;
    for (const link of files.querySelectorAll("a")) {
      if (state.findings.length) link.href = `scans/${state.number}/files/${link.dataset.kind}`;
      else link.removeAttribute("href");
    }
    find("load").disabled = state.isHandedIn || !state.volume;
  }

  item({ id, finding, measured }, at) {
    const item = document.createElement("li"), button = document.createElement("button");
    const mark = document.createElement("i"), name = document.createElement("span");
    const told = document.createElement("small");
    mark.style.background = colourOf(this.state, id);
    name.textContent = `${at + 1} · ${finding.type ? translate(`name.${finding.type}`) : translate(KINDS[finding.kind])}`;
    told.textContent = measured.diameter_mm
      ? translate("size.short", { mm: measured.average_mm.toFixed(1), slices: finding.slices.length })
      : translate("size.point");
    button.type = "button";
    button.className = "one";
    button.append(mark, name, told);
    if (id === this.state.selected) button.setAttribute("aria-current", "true");
    button.addEventListener("click", () => this.jump(id));
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
      const drawn = [ruler.long, ruler.short].filter(Boolean).map((axis) => length(axis).toFixed(1));
      rows.push([translate("size.ruler"), `${drawn.join(" × ")} mm`]);
    }
    find("sizes").replaceChildren(...rows.flatMap(([name, value]) => {
      const key = document.createElement("dt"), told = document.createElement("dd");
      key.textContent = name;
      told.textContent = value;
      return [key, told];
    }));
  }

  showStatus({ waiting, isAway }) {
    const place = find("saved");
    if (isAway) place.textContent = translate("saved.away", { count: waiting });
    else place.textContent = waiting ? translate("saved.saving") : translate("saved.all");
    place.classList.toggle("wrong", isAway);
  }
}
