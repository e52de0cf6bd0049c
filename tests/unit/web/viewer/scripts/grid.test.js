// Positions and indices of voxels: every conversion has an inverse.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Grid, PLANES } from "../../../../../src/nodulebench/web/viewer/static/grid.js";

const UPRIGHT = new Grid({
  size: [10, 20, 30],
  spacing_mm: [0.5, 0.75, 2],
  origin_mm: [-100, 50, -300],
  direction: [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
});
const cos = Math.cos(0.2), sin = Math.sin(0.2);
const TURNED = new Grid({
  size: [10, 20, 30],
  spacing_mm: [0.5, 0.75, 2],
  origin_mm: [-100, 50, -300],
  direction: [[cos, -sin, 0], [sin, cos, 0], [0, 0, 1]],
});

function assertClose(actual, expected) {
  assert.equal(actual.length, expected.length);
  actual.forEach((value, axis) => assert.ok(Math.abs(value - expected[axis]) < 1e-9, `${actual} ${expected}`));
}

test("the first voxel is at the origin, its neighbours at the spacing", () => {
  assertClose(UPRIGHT.toWorld([0, 0, 0]), [-100, 50, -300]);
  assertClose(UPRIGHT.toWorld([1, 2, 3]), [-99.5, 51.5, -294]);
});

test("an index has the position that leads back to it", () => {
  for (const grid of [UPRIGHT, TURNED]) {
    for (const index of [[0, 0, 0], [3.25, 7.5, 11], [9, 19, 29]]) {
      assertClose(grid.toIndex(grid.toWorld(index)), index);
    }
  }
});

test("a point of an outline has column and row of its position", () => {
  for (const grid of [UPRIGHT, TURNED]) {
    const [x, y] = grid.toWorld([4, 6, 12]);
    assertClose(grid.onSlice([x, y], 12), [4, 6]);
  }
});

test("a position on an image leads back to its index", () => {
  for (const plane of Object.keys(PLANES)) {
    const index = [2, 3, 5];
    assertClose(UPRIGHT.fromImage(plane, UPRIGHT.toImage(plane, index), index), index);
  }
});

test("coronal and sagittal images have the head at the top", () => {
  for (const plane of ["coronal", "sagittal"]) {
    const [, top] = UPRIGHT.toImage(plane, [0, 0, 29]);
    const [, bottom] = UPRIGHT.toImage(plane, [0, 0, 0]);
    assert.equal(top, 1);
    assert.equal(bottom, 59);
  }
});

test("an image is as large as its voxels", () => {
  assert.deepEqual(UPRIGHT.imageSize("axial"), [5, 15]);
  assert.deepEqual(UPRIGHT.imageSize("coronal"), [5, 60]);
  assert.deepEqual(UPRIGHT.imageSize("sagittal"), [15, 60]);
});

test("an index is clamped to the scan", () => {
  assert.deepEqual(UPRIGHT.clamped([-1, 4.5, 99]), [0, 4.5, 29]);
});
