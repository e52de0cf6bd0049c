// Sends every edit to the server at once. Until the server confirms it, an edit is in the browser's
// storage: a closed tab or a lost connection loses nothing. An edit that is sent twice counts once.
import { send, ServerError } from "./server.js";

const PREFIX = `nodulebench.edits.${document.body.dataset.session}.`;
const RETRY_MS = 2000, IDLE_MS = 30000, POLL_MS = 50;

/**
 * @typedef {object} Edit
 * @property {string} client the tab.
 * @property {number} number rises within the tab.
 * @property {string | null} finding_id null: the edit only reports time.
 * @property {number} based_on the version of the finding that it changes; 0: a new finding.
 * @property {import("./state.js").FindingData | null} finding null: removed.
 * @property {number} seconds working time since the last edit.
 *
 * @typedef {{ scan: number, caseId: string, edit: Edit, key: string }} QueuedEdit key in the storage.
 */

/**
 * The order in which edits are sent: by tab, then as they were made.
 * @param {{ edit: Edit }} first
 * @param {{ edit: Edit }} second
 */
export function byClientAndNumber({ edit: first }, { edit: second }) {
  if (first.client === second.client) return first.number - second.number;
  return first.client < second.client ? -1 : 1;
}

/**
 * The key of an edit in the browser's storage; keys of a tab sort like its edits.
 * @param {string} client
 * @param {number} number
 */
export const storageKey = (client, number) => `${PREFIX}${client}.${String(number).padStart(8, "0")}`;

export class Drafts {
  /**
   * @param {object} handlers
   * @param {(entry: QueuedEdit, saved: any) => void} handlers.onSaved
   * @param {(entry: QueuedEdit, last: QueuedEdit, error: ServerError) => void} handlers.onConflict
   * @param {(drafts: Drafts) => void} handlers.onStatus
   */
  constructor({ onSaved, onConflict, onStatus }) {
    this.client = crypto.randomUUID();
    this.number = 0;
    this.onSaved = onSaved;
    this.onConflict = onConflict;
    this.onStatus = onStatus;
    /** @type {QueuedEdit[]} */
    this.queue = [];
    this.isSending = false;
    this.isAway = false; // the server cannot be reached
    this.seconds = 0;
    this.lastInput = performance.now();
    for (const kind of ["pointerdown", "pointermove", "wheel", "keydown"]) {
      addEventListener(kind, () => { this.lastInput = performance.now(); }, { passive: true });
    }
    setInterval(() => {
      const isWorking = !document.hidden && performance.now() - this.lastInput < IDLE_MS;
      if (isWorking) this.seconds += 1;
    }, 1000);
    addEventListener("online", () => this.flush());
    this.recover();
  }

  // Send the edits that a closed tab left in the storage, with the numbers of that tab.
  recover() {
    for (const key of Object.keys(localStorage).filter((name) => name.startsWith(PREFIX)).sort()) {
      try {
        this.queue.push({ ...JSON.parse(localStorage.getItem(key)), key });
      } catch {
        localStorage.removeItem(key);
      }
    }
    this.queue.sort(byClientAndNumber);
    this.flush();
  }

  /**
   * @param {number} scan
   * @param {string} caseId
   * @param {string | null} id of the finding; null: the edit only reports time.
   * @param {number} basedOn
   * @param {import("./state.js").FindingData | null} finding null: removed.
   */
  put(scan, caseId, id, basedOn, finding) {
    this.number += 1;
    const seconds = this.seconds;
    this.seconds = 0;
    const edit = { client: this.client, number: this.number, finding_id: id, based_on: basedOn,
      finding, seconds };
    const key = storageKey(this.client, this.number);
    try {
      localStorage.setItem(key, JSON.stringify({ scan, caseId, edit }));
    } catch { /* the storage is full: the edit is sent without it */ }
    this.queue.push({ scan, caseId, edit, key });
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
        const saved = await send(`scans/${entry.scan}/edits`, entry.edit);
        this.isAway = false;
        this.remove(entry);
        this.onSaved(entry, saved);
      } catch (error) {
        if (!(error instanceof ServerError) || error.status >= 500 || [401, 403].includes(error.status)) {
          this.isAway = true;
          this.onStatus(this);
          await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
          continue;
        }
        const later = this.queue.filter(({ scan, edit }) => edit.client === entry.edit.client
          && scan === entry.scan && edit.finding_id === entry.edit.finding_id);
        for (const dependent of later) this.remove(dependent); // they are based on the refused edit
        this.onConflict(entry, later.at(-1) ?? entry, error);
      }
    }
    this.isSending = false;
    this.onStatus(this);
  }

  /** @param {QueuedEdit} entry */
  remove(entry) {
    localStorage.removeItem(entry.key);
    this.queue = this.queue.filter((queued) => queued !== entry);
  }

  // Wait until the server has confirmed every edit.
  async settled() {
    while (this.queue.length || this.isSending) await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}
