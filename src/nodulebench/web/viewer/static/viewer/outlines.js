// Findings over a picture: outlines on their slice, and what other planes cut of them.
import { PLANES } from "./grid.js";

export const COLOURS = ["#ffd166", "#59d0c0", "#ff8fa3", "#9fd356", "#c59bff", "#ffb26b"];

export function colourOf(state, id) {
  const at = Math.max(0, state.findings.findIndex((one) => one.id === id));
  return COLOURS[at % COLOURS.length];
}

export function drawFindings(view, ink) {
  const { state } = view;
  for (const one of [...state.beneath, ...state.findings]) {
    const isChosen = one.id === state.selected;
    ink.strokeStyle = ink.fillStyle = one.colour ?? colourOf(state, one.id);
    ink.lineWidth = isChosen ? 2 : 1.25;
    ink.setLineDash(one.isDashed ? [5, 4] : []);
    if (view.plane === "axial") drawOnSlice(view, ink, one, isChosen);
    else drawCut(view, ink, one);
    ink.setLineDash([]);
    if (!one.finding.slices.length) drawPoint(view, ink, one);
  }
}

function drawOnSlice(view, ink, { finding }, isChosen) {
  const k = Math.round(view.state.cursor[2]);
  for (const { slice_index, outline } of finding.slices) {
    if (slice_index === k) drawPath(view, ink, outline, k, true);
  }
  const { ruler } = finding;
  if (ruler?.slice_index === k) {
    ink.lineWidth = isChosen ? 1.75 : 1;
    for (const axis of [ruler.long, ruler.short]) if (axis) drawPath(view, ink, axis, k, false);
  }
}

export function drawPath(view, ink, points, k, isClosed) {
  ink.beginPath();
  points.forEach((point, at) => {
    const place = view.toCanvas([...view.grid.onSlice(point, k), k]);
    if (at) ink.lineTo(...place);
    else ink.moveTo(...place);
  });
  if (isClosed) ink.closePath();
  ink.stroke();
}

// On the other planes an outline is the stretches that the plane cuts out of it, as high as a slice.
function drawCut(view, ink, { finding }) {
  const { across, through } = PLANES[view.plane], at = Math.round(view.state.cursor[through]);
  const sides = new Path2D();
  ink.globalAlpha = 0.22;
  for (const { slice_index, outline } of finding.slices) {
    const corners = outline.map((point) => view.grid.onSlice(point, slice_index));
    for (const stretch of stretches(corners, through, across, at)) {
      const [left, right] = stretch.map((along) => [-0.5, 0.5].map((up) => {
        const index = [0, 0, slice_index + up];
        index[through] = at;
        index[across] = along;
        return view.toCanvas(index);
      }));
      ink.fillRect(left[0][0], left[0][1], right[1][0] - left[0][0], right[1][1] - left[0][1]);
      for (const [from, to] of [left, right]) {
        sides.moveTo(...from);
        sides.lineTo(...to);
      }
    }
  }
  ink.globalAlpha = 1;
  ink.stroke(sides);
}

function stretches(corners, through, across, at) {
  const crossed = [];
  corners.forEach((corner, number) => {
    const other = corners[(number + 1) % corners.length];
    if ((corner[through] <= at) === (other[through] <= at)) return;
    const share = (at - corner[through]) / (other[through] - corner[through]);
    crossed.push(corner[across] + share * (other[across] - corner[across]));
  });
  crossed.sort((a, b) => a - b);
  return crossed.flatMap((value, number) => (number % 2 ? [[crossed[number - 1], value]] : []));
}

function drawPoint(view, ink, { finding }) {
  const index = view.grid.toIndex(finding.position_mm), { through } = PLANES[view.plane];
  const away = Math.abs(index[through] - view.state.cursor[through]) * view.grid.spacing[through];
  if (away > 2.5) return;
  const [x, y] = view.toCanvas(index);
  ink.beginPath();
  ink.arc(x, y, 8, 0, 2 * Math.PI);
  ink.stroke();
}
