// What the page shows now. After a change, call redraw() for the canvases, changed() for the panels.

/**
 * @typedef {[number, number]} Point x and y in mm (LPS), or x and y on a canvas in CSS pixels.
 * @typedef {number[]} Triple column, row, slice; or x, y, z in mm (LPS).
 * @typedef {{ slice_index: number, outline: Point[] }} OutlinedSlice slices count from the feet.
 * @typedef {{ slice_index: number, long: [Point, Point], short: [Point, Point] | null }} Ruler
 *
 * @typedef {object} FindingData A finding as the server stores it.
 * @property {string} [kind] nodule, small_nodule or non_nodule.
 * @property {Triple} position_mm
 * @property {OutlinedSlice[]} slices
 * @property {Ruler | null} [ruler]
 * @property {string | null} [type]
 * @property {string | null} [answer] yes or no, of a reviewer or an arbitrator.
 * @property {string | null} [call] of a reader in an observer study.
 *
 * @typedef {object} Known What a project shows of a candidate.
 * @property {boolean} is_asked whether the person has to answer.
 * @property {number[]} inconsistent slices that not all readers outlined.
 * @property {{ letter: string, slices: OutlinedSlice[] }[]} readers
 * @property {number} reader_count
 * @property {string[]} why reasons, translated.
 * @property {string[]} types
 * @property {string} comment of the reviewer.
 * @property {string} note of the arbitrator.
 * @property {boolean | null} is_nodule
 *
 * @typedef {object} ShownFinding A finding of the list.
 * @property {string} id
 * @property {number} version
 * @property {FindingData} finding
 * @property {Record<string, any>} measured sizes in mm; empty without outlines.
 * @property {Known} [known] only of candidates in a project.
 * @property {FindingData} [proposed] a candidate before the person changed it.
 * @property {string} [label] only in evaluations.
 * @property {number | null} [score] only in evaluations.
 * @property {boolean} [is_mark] only in evaluations.
 * @property {string} [colour]
 * @property {boolean} [isDashed]
 *
 * @typedef {object} ScanEntry A scan of the list.
 * @property {number} number
 * @property {string} case_id
 * @property {number} findings how many.
 * @property {number} seconds spent on the scan.
 * @property {boolean} is_submitted
 * @property {string} [mode] the task; done: there is none.
 * @property {string} [batch] only in projects.
 *
 * @typedef {{ level: number, width: number }} Window in HU.
 */

/** @type {Record<string, Window>} */
export const PRESETS = {
  lung: { level: -600, width: 1500 },
  mediastinum: { level: 40, width: 400 },
  bone: { level: 400, width: 1800 },
};
export const SLABS_MM = [0, 5, 10, 20, 40];
const OWN = "nodulebench.own-window", SLOW_MS = 120;

/** The one state of a page, which all of its parts share. */
export class State {
  constructor() {
    /** @type {number | null} the scan that is open. */
    this.number = null;
    /** @type {ScanEntry[]} by number; a project leaves out the numbers of other people. */
    this.scans = [];
    /** @type {import("./volume.js").Volume | null} */
    this.volume = null;
    /** @type {Triple} the index (column, row, slice) of the cross-hair. */
    this.cursor = [0, 0, 0];
    /** @type {import("./grid.js").Plane} the plane that keys act on. */
    this.active = "axial";
    this.preset = "lung";
    this.window = { ...PRESETS.lung };
    this.isInverted = false;
    this.slabMm = 0; // 0: a single slice
    this.showsCross = true;
    this.showsMarks = true;
    this.tool = "navigate";
    /** @type {any} what the pointer does; see tools.js. */
    this.tools = null;
    /** @type {ShownFinding[]} */
    this.findings = [];
    /** @type {{ finding: FindingData, colour: string }[]} drawn below the findings, read-only. */
    this.background = [];
    /** @type {{ letter: string, findings: FindingData[] }[]} findings of other readers. */
    this.colleagues = [];
    /** @type {string | null} the id of the selected finding. */
    this.selected = null;
    /** @type {string | null} the task in the scan; done: there is none; null: no scan is open yet. */
    this.mode = null;
    this.isSubmitted = false;
    this.isResampled = false;
    /** @type {number[] | null} */
    this.originalSlices = null;
    /** @type {import("./view.js").View[]} one view per plane. */
    this.views = [];
    /** @type {import("./view.js").View[]} further views, of a prior. */
    this.extraViews = [];
    /** @type {number[]} ms from an event to its pixels. */
    this.timings = [];
    /** @type {number | null} */
    this.eventAt = null;
    this.frame = 0;
    this.slowTimer = 0;
    /** @type {(() => void)[]} */
    this.listeners = [];
  }

  /** @returns {import("./view.js").View} the view of the active plane. */
  get view() {
    return /** @type {import("./view.js").View} */ (this.views.find(({ plane }) => plane === this.active));
  }

  // Draw all views at the next frame.
  redraw() {
    this.frame ||= requestAnimationFrame(() => {
      this.frame = 0;
      for (const view of [...this.views, ...this.extraViews]) view.draw();
      if (this.eventAt !== null) this.timings.push(performance.now() - this.eventAt);
      if (this.timings.length > 2000) this.timings.splice(0, 1000);
      this.eventAt = null;
    });
  }

  /**
   * Slices arrived. The other planes are redrawn only now and then, so that the wheel stays fast.
   * @param {number} first
   * @param {number} count
   */
  slicesLoaded(first, count) {
    const k = Math.round(this.cursor[2]);
    if (k >= first && k < first + count) this.redraw();
    this.slowTimer ||= setTimeout(() => {
      this.slowTimer = 0;
      this.redraw();
    }, SLOW_MS);
  }

  // Start to measure the time from an input event to its pixels.
  began() {
    this.eventAt ??= performance.now();
  }

  /**
   * Move the cross-hair.
   * @param {Triple} index
   * @param {{ reveals?: boolean }} [options] reveals: pan views in which it would be outside.
   */
  moveTo(index, { reveals = false } = {}) {
    this.cursor = this.volume.grid.clamped(index);
    if (reveals) for (const view of this.views) if (view.centre) view.reveal();
    this.redraw();
  }

  /**
   * @param {Window} window
   * @param {string} preset
   */
  setWindow(window, preset = "own") {
    const width = Math.min(8000, Math.max(1, Math.round(window.width)));
    const level = Math.min(4000, Math.max(-2000, Math.round(window.level)));
    this.window = { level, width };
    this.preset = preset;
    if (preset === "own") localStorage.setItem(OWN, JSON.stringify(this.window));
    this.applyWindow();
  }

  /** @param {string} name */
  usePreset(name) {
    const own = JSON.parse(localStorage.getItem(OWN) ?? "null") ?? this.window;
    this.setWindow(name === "own" ? own : PRESETS[name], name);
  }

  invert() {
    this.isInverted = !this.isInverted;
    this.applyWindow();
  }

  applyWindow() {
    for (const view of this.views) view.painter.setWindow(this.window, this.isInverted);
    this.changed();
    this.redraw();
  }

  // Update the panels next to the views.
  changed() {
    for (const listener of this.listeners) listener();
  }
}
