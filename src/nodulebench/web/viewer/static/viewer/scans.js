// The list of scans, and opening one of them.
import { ask } from "./server.js";
import { Grid } from "./grid.js";
import { Volume } from "./volume.js";
import { translate } from "./words.js";

const AGAIN_MS = 50;

export class Scans {
  constructor(state, list, notice) {
    this.state = state;
    this.list = list;
    this.notice = notice;
    this.onOpened = [];
    this.onLeaving = [];
  }

  async refresh() {
    const scans = [];
    for (const scan of (await ask("scans")).told) scans[scan.number] = scan; // some are others'
    this.state.scans = scans;
    this.show();
  }

  show() {
    const items = this.state.scans.map((scan, number) => this.item(scan, number));
    this.list.replaceChildren(...items.filter(Boolean));
  }

  item(scan, number) {
    const item = document.createElement("li"), button = document.createElement("button");
    const name = document.createElement("span"), told = document.createElement("small");
    name.textContent = scan.case_id;
    name.title = scan.case_id;
    told.textContent = this.tell(scan);
    button.append(name, told);
    button.type = "button";
    if (number === this.state.number) button.setAttribute("aria-current", "true");
    if (scan.is_submitted) button.classList.add("done");
    button.addEventListener("click", () => this.open(number));
    item.append(button);
    return item;
  }

  // The scan to begin with: the first one, or the first in which something is asked.
  get first() {
    const { scans } = this.state;
    const asked = scans.findIndex((scan) => scan?.mode && scan.mode !== "done");
    return asked < 0 ? scans.findIndex(Boolean) : asked;
  }

  // What stands below the name of a scan.
  tell({ findings, is_submitted }) {
    const found = translate(findings === 1 ? "scan.finding" : "scan.findings", { count: findings });
    return is_submitted ? `${translate("scan.handed_in")} · ${found}` : found;
  }

  async open(number) {
    const { state } = this;
    for (const leave of this.onLeaving) await leave();
    state.volume?.close();
    Object.assign(state, { volume: null, number, findings: [], selected: null });
    state.redraw();
    const placed = await this.placed(number);
    if (!placed || state.number !== number) return;
    const grid = new Grid(placed);
    const volume = new Volume(number, grid, (first, count) => {
      if (state.volume === volume) state.slicesCame(first, count);
      if (volume.isComplete) this.notice("");
      else this.notice(translate("scan.loading", { share: Math.round(100 * (1 - volume.missing / grid.size[2])) }));
    });
    state.volume = volume;
    state.isResampled = placed.is_resampled;
    state.originalSlices = placed.original_slices;
    state.cursor = grid.size.map((count) => Math.floor(count / 2));
    for (const view of state.views) view.fit();
    state.applyWindow();
    for (const opened of this.onOpened) opened(number);
    this.refresh();
    volume.load(() => Math.round(state.cursor[2])).catch(() => {});
  }

  // Where the voxels are; asked again while the server reads the files.
  async placed(number) {
    const began = performance.now();
    while (this.state.number === number) {
      try {
        const { status, told } = await ask(`scans/${number}`);
        if (status === 200) return told;
        const seconds = Math.round((performance.now() - began) / 1000);
        this.notice(translate("scan.reading", { files: told.files, seconds }));
      } catch (error) {
        this.notice(error.message, true);
        if (error.status) return null;
      }
      await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
    }
    return null;
  }
}
