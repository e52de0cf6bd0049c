// What the page shows now; whoever changes it calls redraw(), and one frame draws it all.
export const PRESETS = {
  lung: { level: -600, width: 1500 },
  mediastinum: { level: 40, width: 400 },
  bone: { level: 400, width: 1800 },
};
export const SLABS_MM = [0, 5, 10, 20, 40];
const OWN = "nodulebench.own-window", SLOW_MS = 120;

export class State {
  constructor() {
    this.number = null; // of the scan
    this.scans = [];
    this.volume = null;
    this.cursor = [0, 0, 0]; // index of the cross-hair
    this.active = "axial";
    this.preset = "lung";
    this.window = { ...PRESETS.lung };
    this.isInverted = false;
    this.slabMm = 0;
    this.showsCross = true;
    this.showsMarks = true;
    this.tool = "look";
    this.findings = []; // { id, version, finding, measured }
    this.beneath = []; // { finding, colour }: what others drew, to be looked at alone
    this.colleagues = []; // { letter, findings }: what other readers drew, where that may be seen
    this.selected = null;
    this.isHandedIn = false;
    this.views = [];
    this.others = []; // views of something else beside them
    this.timings = []; // ms from an event to its pixels
    this.eventAt = null;
    this.frame = 0;
    this.listeners = [];
  }

  get view() {
    return this.views.find((one) => one.plane === this.active);
  }

  // Draw at the next frame. `only`: one plane, while slices are coming in.
  redraw() {
    this.frame ||= requestAnimationFrame(() => {
      this.frame = 0;
      for (const view of [...this.views, ...this.others]) view.draw();
      if (this.eventAt !== null) this.timings.push(performance.now() - this.eventAt);
      if (this.timings.length > 2000) this.timings.splice(0, 1000);
      this.eventAt = null;
    });
  }

  // Slices came: pictures across them are drawn now and then only, so that the wheel stays free.
  slicesCame(first, count) {
    const k = Math.round(this.cursor[2]);
    if (k >= first && k < first + count) this.redraw();
    this.later ||= setTimeout(() => {
      this.later = 0;
      this.redraw();
    }, SLOW_MS);
  }

  // An event of the reader that will change pixels; how long that takes is measured.
  began() {
    this.eventAt ??= performance.now();
  }

  moveTo(index, { reveals = false } = {}) {
    this.cursor = this.volume.grid.clamped(index);
    if (reveals) for (const view of this.views) if (view.centre) view.reveal();
    this.redraw();
  }

  setWindow(window, preset = "own") {
    const width = Math.min(8000, Math.max(1, Math.round(window.width)));
    const level = Math.min(4000, Math.max(-2000, Math.round(window.level)));
    this.window = { level, width };
    this.preset = preset;
    if (preset === "own") localStorage.setItem(OWN, JSON.stringify(this.window));
    this.applyWindow();
  }

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

  // Panels beside the pictures follow.
  changed() {
    for (const tell of this.listeners) tell();
  }
}
