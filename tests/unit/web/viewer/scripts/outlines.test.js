// The cuts of a plane with an outline, and the colours of findings.
import assert from "node:assert/strict";
import { test } from "node:test";
import { colourOf, COLOURS, segments } from "../../../../../src/nodulebench/web/viewer/static/outlines.js";

const SQUARE = [[0, 0], [4, 0], [4, 4], [0, 4]];

test("a line through a square cuts it from side to side", () => {
  assert.deepEqual(segments(SQUARE, 1, 0, 2), [[0, 4]]);
  assert.deepEqual(segments(SQUARE, 0, 1, 2), [[0, 4]]);
});

test("a line next to a square does not cut it", () => {
  assert.deepEqual(segments(SQUARE, 1, 0, 5), []);
  assert.deepEqual(segments(SQUARE, 1, 0, -1), []);
});

test("a line through a corner cuts an even number of sides", () => {
  const diamond = [[0, 2], [2, 0], [4, 2], [2, 4]];
  assert.deepEqual(segments(diamond, 1, 0, 2), [[0, 4]]);
  for (const at of [0, 4]) assert.ok(segments(diamond, 1, 0, at).every(([from, to]) => from === to));
});

test("a line through a concave outline cuts it twice", () => {
  const horseshoe = [[0, 0], [6, 0], [6, 6], [4, 6], [4, 2], [2, 2], [2, 6], [0, 6]];
  assert.deepEqual(segments(horseshoe, 1, 0, 4), [[0, 2], [4, 6]]);
});

test("findings have the colours in order, again from the start after the last", () => {
  const findings = Array.from({ length: COLOURS.length + 1 }, (_, index) => ({ id: String(index) }));
  assert.equal(colourOf({ findings }, "0"), COLOURS[0]);
  assert.equal(colourOf({ findings }, "2"), COLOURS[2]);
  assert.equal(colourOf({ findings }, String(COLOURS.length)), COLOURS[0]);
});
