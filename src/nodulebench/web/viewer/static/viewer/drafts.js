// Every edit goes to the server as it is made. Until it is answered it stands in the browser's
// storage, so that a closed tab or a lost connection loses nothing; sent twice, it counts once.
import { Refused, send } from "./server.js";

const PREFIX = `nodulebench.edits.${document.body.dataset.room}.`;
const AGAIN_MS = 2000, IDLE_MS = 30000;

export class Drafts {
  constructor({ onSaved, onConflict, onStatus }) {
    this.client = crypto.randomUUID();
    this.number = 0;
    this.onSaved = onSaved;
    this.onConflict = onConflict;
    this.onStatus = onStatus;
    this.queue = [];
    this.isSending = false;
    this.isAway = false;
    this.seconds = 0;
    this.lastInput = performance.now();
    for (const kind of ["pointerdown", "pointermove", "wheel", "keydown"]) {
      addEventListener(kind, () => { this.lastInput = performance.now(); }, { passive: true });
    }
    setInterval(() => {
      const isAtWork = !document.hidden && performance.now() - this.lastInput < IDLE_MS;
      if (isAtWork) this.seconds += 1;
    }, 1000);
    addEventListener("online", () => this.flush());
    this.adopt();
  }

  // Edits that a tab left behind when it was closed, with that tab's own numbers.
  adopt() {
    for (const key of Object.keys(localStorage).filter((one) => one.startsWith(PREFIX)).sort()) {
      try {
        const left = JSON.parse(localStorage.getItem(key));
        this.queue.push({ ...left, key });
      } catch {
        localStorage.removeItem(key);
      }
    }
    const order = (one) => [one.edit.client, one.edit.number];
    this.queue.sort((a, b) => (order(a)[0] === order(b)[0]
      ? order(a)[1] - order(b)[1] : order(a)[0] < order(b)[0] ? -1 : 1));
    this.flush();
  }

  // finding: as it shall be; null: removed. id null: nothing but time.
  put(scan, caseId, id, basedOn, finding) {
    this.number += 1;
    const seconds = this.seconds;
    this.seconds = 0;
    const edit = { client: this.client, number: this.number, finding_id: id, based_on: basedOn,
      finding, seconds };
    const key = `${PREFIX}${this.client}.${String(this.number).padStart(8, "0")}`;
    const entry = { scan, caseId, edit, key };
    try {
      localStorage.setItem(key, JSON.stringify({ scan, caseId, edit }));
    } catch { /* full: it is still sent */ }
    this.queue.push(entry);
    return this.flush();
  }

  get waiting() {
    return this.queue.length;
  }

  async flush() {
    if (this.isSending) return;
    this.isSending = true;
    while (this.queue.length) {
      this.onStatus(this);
      const entry = this.queue[0];
      try {
        const stands = await send(`scans/${entry.scan}/edits`, entry.edit);
        this.isAway = false;
        this.done(entry);
        this.onSaved(entry, stands);
      } catch (error) {
        if (!(error instanceof Refused) || error.status >= 500 || [401, 403].includes(error.status)) {
          this.isAway = true;
          this.onStatus(this);
          await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
          continue;
        }
        const later = this.queue.filter((one) => one.edit.client === entry.edit.client
          && one.scan === entry.scan && one.edit.finding_id === entry.edit.finding_id);
        for (const one of later) this.done(one); // they were made on what was refused
        this.onConflict(entry, later.at(-1) ?? entry, error);
      }
    }
    this.isSending = false;
    this.onStatus(this);
  }

  done(entry) {
    localStorage.removeItem(entry.key);
    this.queue = this.queue.filter((one) => one !== entry);
  }

  // When everything has been answered.
  async settled() {
    while (this.queue.length || this.isSending) await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
