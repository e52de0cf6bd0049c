// Edits are stored until the server confirms them, sent in order, and never lost.
import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

const PREFIX = "nodulebench.edits.here.";
const stored = new Map();
const storage = {
  getItem: (key) => stored.get(key) ?? null,
  setItem: (key, value) => stored.set(key, value),
  removeItem: (key) => stored.delete(key),
};
// Object.keys(localStorage) lists the stored keys
globalThis.localStorage = new Proxy(storage, {
  ownKeys: () => [...stored.keys()],
  getOwnPropertyDescriptor: () => ({ enumerable: true, configurable: true }),
});
globalThis.document = { body: { dataset: { session: "here" } }, hidden: false };
globalThis.addEventListener = () => {};
globalThis.setInterval = () => 0;

const { byClientAndNumber, Drafts, storageKey } = await import(
  "../../../../../src/nodulebench/web/viewer/static/drafts.js");

let sent, respond;
globalThis.fetch = async (path, { body }) => {
  sent.push({ path, edit: JSON.parse(body) });
  const { status, json } = respond(JSON.parse(body));
  return new Response(JSON.stringify(json), { status, headers: { "Content-Type": "application/json" } });
};

function drafts() {
  const events = { saved: [], conflicts: [] };
  const made = new Drafts({
    onSaved: (entry, saved) => events.saved.push([entry.edit.finding_id, saved.version]),
    onConflict: (entry, last, error) => events.conflicts.push([entry.edit.number, last.edit.number, error.status]),
    onStatus: () => {},
  });
  return { made, events };
}

const FINDING = { position_mm: [1, 2, 3], slices: [] };

beforeEach(() => {
  stored.clear();
  sent = [];
  respond = (edit) => ({ status: 200, json: { version: edit.based_on + 1 } });
});

test("edits are sent by tab, then as they were made", () => {
  const edits = [["b", 1], ["a", 10], ["a", 9]].map(([client, number]) => ({ edit: { client, number } }));
  const order = edits.sort(byClientAndNumber).map(({ edit }) => [edit.client, edit.number]);
  assert.deepEqual(order, [["a", 9], ["a", 10], ["b", 1]]);
});

test("keys of the storage sort like the numbers of edits", () => {
  assert.ok(storageKey("a", 9) < storageKey("a", 10));
  assert.ok(storageKey("a", 1).startsWith(PREFIX));
});

test("an edit is stored until the server has confirmed it", async () => {
  const { made, events } = drafts();
  let inStorage;
  respond = (edit) => {
    inStorage = stored.size;
    return { status: 200, json: { version: edit.based_on + 1 } };
  };
  await made.put(0, "a", "n1", 0, FINDING);
  assert.equal(inStorage, 1);
  assert.equal(stored.size, 0);
  assert.deepEqual(events.saved, [["n1", 1]]);
  assert.equal(sent[0].path, "scans/0/edits");
  assert.equal(sent[0].edit.number, 1);
});

test("edits that a closed tab left are sent first, with the numbers of that tab", async () => {
  for (const number of [2, 1]) {
    const edit = { client: "old", number, finding_id: "n1", based_on: number - 1, finding: FINDING, seconds: 0 };
    stored.set(storageKey("old", number), JSON.stringify({ scan: 3, caseId: "d", edit }));
  }
  stored.set(`${PREFIX}broken`, "{");
  const { made } = drafts();
  await made.put(0, "a", "n2", 0, FINDING);
  await made.settled();
  assert.deepEqual(sent.map(({ path, edit }) => [path, edit.finding_id, edit.number]), [
    ["scans/3/edits", "n1", 1], ["scans/3/edits", "n1", 2], ["scans/0/edits", "n2", 1]]);
  assert.equal(stored.size, 0);
});

test("after a conflict the later edits of the finding are dropped, others are sent", async () => {
  const { made, events } = drafts();
  respond = (edit) => (edit.finding_id === "n1"
    ? { status: 409, json: { detail: { code: "changed_elsewhere", current: null } } }
    : { status: 200, json: { version: edit.based_on + 1 } });
  const first = made.put(0, "a", "n1", 0, FINDING);
  made.put(0, "a", "n1", 1, FINDING);
  made.put(0, "a", "n2", 0, FINDING);
  await first;
  await made.settled();
  assert.deepEqual(sent.map(({ edit }) => edit.number), [1, 3]);
  assert.deepEqual(events.conflicts, [[1, 2, 409]]);
  assert.deepEqual(events.saved, [["n2", 1]]);
  assert.equal(stored.size, 0);
});

test("while the server cannot be reached, an edit is stored and sent again", async (context) => {
  context.mock.timers.enable({ apis: ["setTimeout"] });
  const { made } = drafts();
  respond = () => ({ status: 503, json: {} });
  const flushed = made.put(0, "a", "n1", 0, FINDING);
  while (!made.isAway) await new Promise((resolve) => setImmediate(resolve));
  assert.equal(stored.size, 1);
  respond = (edit) => ({ status: 200, json: { version: edit.based_on + 1 } });
  await new Promise((resolve) => setImmediate(resolve));
  context.mock.timers.tick(2000);
  await flushed;
  assert.equal(sent.length, 2);
  assert.deepEqual([made.isAway, made.waiting, stored.size], [false, 0, 0]);
});
