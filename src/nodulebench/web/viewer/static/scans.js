// The list of scans, and opening one of them.
import { create } from "./dom.js";
import { get } from "./server.js";
import { Grid } from "./grid.js";
import { Volume } from "./volume.js";
import { translate } from "./translations.js";

const RETRY_MS = 50;

export class Scans {
  /**
   * @param {import("./state.js").State} state
   * @param {HTMLElement} list
   * @param {(text: string, isWrong?: boolean) => void} notice
   */
  constructor(state, list, notice) {
    this.state = state;
    this.list = list;
    this.notice = notice;
    /** @type {((number: number) => unknown)[]} */
    this.onOpened = [];
    /** @type {(() => unknown)[]} */
    this.onLeaving = [];
  }

  async refresh() {
    const scans = [];
    for (const scan of (await get("scans")).body) scans[scan.number] = scan; // other people's are left out
    this.state.scans = scans;
    this.show();
  }

  show() {
    const items = this.state.scans.map((scan, number) => this.item(scan, number));
    this.list.replaceChildren(...items.filter(Boolean));
  }

  item(scan, number) {
    const item = create("li"), button = create("button", { type: "button" });
    button.append(
      create("span", { textContent: scan.case_id, title: scan.case_id }),
      create("small", { textContent: this.describe(scan) }),
    );
    if (number === this.state.number) button.setAttribute("aria-current", "true");
    if (scan.is_submitted) button.classList.add("done");
    button.addEventListener("click", () => this.open(number));
    item.append(button);
    return item;
  }

  // The scan to begin with: the first one with a task; in modes without tasks, the first one.
  get first() {
    const { scans } = this.state;
    const open = scans.findIndex((scan) => scan?.mode && scan.mode !== "done");
    return open < 0 ? scans.findIndex(Boolean) : open;
  }

  /**
   * The text below the name of a scan; modes replace this method.
   * @param {import("./state.js").ScanEntry} scan
   * @returns {string}
   */
  describe({ findings, is_submitted }) {
    const count = translate(findings === 1 ? "scan.finding" : "scan.findings", { count: findings });
    return is_submitted ? `${translate("scan.submitted")} · ${count}` : count;
  }

  async open(number) {
    const { state } = this;
    for (const leave of this.onLeaving) await leave();
    state.volume?.close();
    Object.assign(state, { volume: null, number, findings: [], selected: null });
    state.redraw();
    const scan = await this.wait(number);
    if (!scan || state.number !== number) return;
    const grid = new Grid(scan);
    const volume = new Volume(number, grid, (first, count) => {
      if (state.volume === volume) state.slicesLoaded(first, count);
      if (volume.isComplete) this.notice("");
      else this.notice(translate("scan.loading", { share: Math.round(100 * (1 - volume.missing / grid.size[2])) }));
    });
    state.volume = volume;
    state.isResampled = scan.is_resampled;
    state.originalSlices = scan.original_slices;
    state.cursor = grid.size.map((count) => Math.floor(count / 2));
    for (const view of state.views) view.fit();
    state.applyWindow();
    for (const opened of this.onOpened) opened(number);
    this.refresh();
    volume.load(() => Math.round(state.cursor[2])).catch(() => {});
  }

  // The grid of a scan, once the server has read its files; null if it cannot, or another scan is open.
  async wait(number) {
    const began = performance.now();
    while (this.state.number === number) {
      try {
        const { status, body } = await get(`scans/${number}`);
        if (status === 200) return body;
        const seconds = Math.round((performance.now() - began) / 1000);
        this.notice(translate("scan.reading", { files: body.files, seconds }));
      } catch (error) {
        this.notice(error.message, true);
        if (error.status) return null;
      }
      await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
    }
    return null;
  }
}
