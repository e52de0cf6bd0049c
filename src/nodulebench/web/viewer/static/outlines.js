// Findings drawn over the image: outlines on axial slices, and their cuts with the other planes.
import { PLANES } from "./grid.js";

export const COLOURS = ["#ffd166", "#59d0c0", "#ff8fa3", "#9fd356", "#c59bff", "#ffb26b"];

export function colourOf(state, id) {
  const index = Math.max(0, state.findings.findIndex((shown) => shown.id === id));
  return COLOURS[index % COLOURS.length];
}

export function drawFindings(view, ink) {
  const { state } = view;
  for (const shown of [...state.background, ...state.findings]) {
    const isSelected = shown.id === state.selected;
    ink.strokeStyle = ink.fillStyle = shown.colour ?? colourOf(state, shown.id);
    ink.lineWidth = isSelected ? 2 : 1.25;
    ink.setLineDash(shown.isDashed ? [5, 4] : []);
    if (view.plane === "axial") drawOnSlice(view, ink, shown, isSelected);
    else drawCut(view, ink, shown);
    ink.setLineDash([]);
    if (!shown.finding.slices.length) drawPoint(view, ink, shown);
  }
}

function drawOnSlice(view, ink, { finding }, isSelected) {
  const k = Math.round(view.state.cursor[2]);
  for (const { slice_index, outline } of finding.slices) {
    if (slice_index === k) drawPath(view, ink, outline, k, true);
  }
  const { ruler } = finding;
  if (ruler?.slice_index === k) {
    ink.lineWidth = isSelected ? 1.75 : 1;
    for (const axis of [ruler.long, ruler.short]) if (axis) drawPath(view, ink, axis, k, false);
  }
}

export function drawPath(view, ink, points, k, isClosed) {
  ink.beginPath();
  points.forEach((point, index) => {
    const [x, y] = view.toCanvas([...view.grid.onSlice(point, k), k]);
    if (index) ink.lineTo(x, y);
    else ink.moveTo(x, y);
  });
  if (isClosed) ink.closePath();
  ink.stroke();
}

// The other planes cut an outline into segments, which are drawn as high as a slice.
function drawCut(view, ink, { finding }) {
  const { across, through } = PLANES[view.plane], at = Math.round(view.state.cursor[through]);
  const sides = new Path2D();
  ink.globalAlpha = 0.22;
  for (const { slice_index, outline } of finding.slices) {
    const corners = outline.map((point) => view.grid.onSlice(point, slice_index));
    for (const segment of segments(corners, through, across, at)) {
      const [left, right] = segment.map((along) => [-0.5, 0.5].map((up) => {
        const index = [0, 0, slice_index + up];
        index[through] = at;
        index[across] = along;
        return view.toCanvas(index);
      }));
      ink.fillRect(left[0][0], left[0][1], right[1][0] - left[0][0], right[1][1] - left[0][1]);
      for (const [from, to] of [left, right]) {
        sides.moveTo(from[0], from[1]);
        sides.lineTo(to[0], to[1]);
      }
    }
  }
  ink.globalAlpha = 1;
  ink.stroke(sides);
}

/**
 * The segments of a line through a polygon, as [start, end] along the axis `across`.
 * @param {number[][]} corners
 * @param {number} through the axis on which the line has a fixed value.
 * @param {number} across the axis along the line.
 * @param {number} at the fixed value.
 * @returns {number[][]}
 */
export function segments(corners, through, across, at) {
  const crossings = [];
  corners.forEach((corner, index) => {
    const other = corners[(index + 1) % corners.length];
    if ((corner[through] <= at) === (other[through] <= at)) return;
    const share = (at - corner[through]) / (other[through] - corner[through]);
    crossings.push(corner[across] + share * (other[across] - corner[across]));
  });
  crossings.sort((a, b) => a - b);
  return crossings.flatMap((value, index) => (index % 2 ? [[crossings[index - 1], value]] : []));
}

function drawPoint(view, ink, { finding }) {
  const index = view.grid.toIndex(finding.position_mm), { through } = PLANES[view.plane];
  const distance = Math.abs(index[through] - view.state.cursor[through]) * view.grid.spacing[through];
  if (distance > 2.5) return;
  const [x, y] = view.toCanvas(index);
  ink.beginPath();
  ink.arc(x, y, 8, 0, 2 * Math.PI);
  ink.stroke();
}
