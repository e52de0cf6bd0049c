// One plane on its canvas: the image, and what is drawn over it. Canvas positions are CSS pixels; the
// middle of the canvas shows `centre`, in mm on the image.
import { PLANES } from "./grid.js";
import { Painter } from "./paint.js";
import { drawFindings } from "./outlines.js";
import { translate } from "./translations.js";

const MAXIMUM_SCALE = 40; // pixels per mm
const BAR_MM = [100, 50, 20, 10, 5, 2, 1];

export class View {
  /**
   * @param {HTMLCanvasElement} canvas
   * @param {import("./grid.js").Plane} plane
   * @param {import("./state.js").State} state
   */
  constructor(canvas, plane, state) {
    this.canvas = canvas;
    this.plane = plane;
    this.state = state;
    this.painter = new Painter();
    this.zoom = 1;
    /** @type {number[] | null} */
    this.centre = null;
    /** @type {number[] | null} the index under the pointer. */
    this.pointer = null;
    new ResizeObserver(() => state.redraw()).observe(canvas);
  }

  get grid() {
    return this.state.volume.grid;
  }

  get box() {
    return { width: this.canvas.clientWidth, height: this.canvas.clientHeight };
  }

  // In pixels per mm.
  get scale() {
    const [width, height] = this.grid.imageSize(this.plane);
    return Math.min(this.box.width / width, this.box.height / height) * this.zoom;
  }

  fit() {
    this.zoom = 1;
    this.centre = this.grid.imageSize(this.plane).map((length) => length / 2);
  }

  /**
   * The position of an index on the canvas.
   * @param {number[]} index
   * @returns {import("./state.js").Point}
   */
  toCanvas(index) {
    const [x, y] = this.grid.toImage(this.plane, index);
    const { width, height } = this.box, scale = this.scale;
    return [width / 2 + (x - this.centre[0]) * scale, height / 2 + (y - this.centre[1]) * scale];
  }

  /**
   * The index at a position on the canvas.
   * @param {number[]} position
   */
  toIndex([x, y]) {
    const { width, height } = this.box, scale = this.scale;
    return this.grid.fromImage(this.plane, [
      this.centre[0] + (x - width / 2) / scale,
      this.centre[1] + (y - height / 2) / scale,
    ], this.state.cursor);
  }

  zoomBy(factor, at = [this.box.width / 2, this.box.height / 2]) {
    const before = this.scale;
    const least = 0.5, most = (MAXIMUM_SCALE / before) * this.zoom;
    this.zoom = Math.min(most, Math.max(least, this.zoom * factor));
    const after = this.scale;
    [this.box.width, this.box.height].forEach((length, axis) => {
      this.centre[axis] += (at[axis] - length / 2) * (1 / before - 1 / after);
    });
  }

  /** @param {number[]} distance in CSS pixels. */
  panBy([x, y]) {
    this.centre = [this.centre[0] - x / this.scale, this.centre[1] - y / this.scale];
  }

  // Move the image if the cross-hair is outside the canvas.
  reveal() {
    const position = this.toCanvas(this.state.cursor);
    const margin = 24, { width, height } = this.box;
    const isVisible = [width, height].every(
      (length, axis) => position[axis] >= margin && position[axis] <= length - margin);
    if (!isVisible) this.centre = this.grid.toImage(this.plane, this.state.cursor);
  }

  draw() {
    const { canvas, state } = this;
    const ratio = devicePixelRatio || 1, { width, height } = this.box;
    const wanted = [Math.round(width * ratio), Math.round(height * ratio)];
    if (canvas.width !== wanted[0] || canvas.height !== wanted[1]) [canvas.width, canvas.height] = wanted;
    const ink = canvas.getContext("2d", { alpha: false });
    ink.setTransform(ratio, 0, 0, ratio, 0, 0);
    ink.fillStyle = "#000";
    ink.fillRect(0, 0, width, height);
    if (!state.volume || !width || !height) return;
    if (!this.centre) this.fit();
    const index = Math.round(state.cursor[PLANES[this.plane].through]);
    const image = this.painter.paint(state.volume, this.plane, index, state.slabMm);
    const scale = this.scale, size = this.grid.imageSize(this.plane);
    ink.imageSmoothingEnabled = true;
    ink.imageSmoothingQuality = "low";
    ink.drawImage(image, width / 2 - this.centre[0] * scale, height / 2 - this.centre[1] * scale,
      size[0] * scale, size[1] * scale);
    if (state.showsMarks) drawFindings(this, ink);
    state.tools?.draw(this, ink);
    if (state.showsCross) this.drawCross(ink, width, height);
    this.drawTexts(ink, width, height);
  }

  drawCross(ink, width, height) {
    const [x, y] = this.toCanvas(this.state.cursor), gap = 14;
    ink.strokeStyle = "rgba(120, 200, 255, 0.55)";
    ink.lineWidth = 1;
    ink.beginPath();
    for (const [from, to] of [[0, x - gap], [x + gap, width]]) {
      ink.moveTo(from, y);
      ink.lineTo(to, y);
    }
    for (const [from, to] of [[0, y - gap], [y + gap, height]]) {
      ink.moveTo(x, from);
      ink.lineTo(x, to);
    }
    ink.stroke();
  }

  drawTexts(ink, width, height) {
    const [left, right, top, bottom] = PLANES[this.plane].letters;
    ink.font = "600 14px system-ui, sans-serif";
    ink.textBaseline = "middle";
    ink.textAlign = "center";
    const put = (text, x, y, colour = "#cfd8e3") => {
      ink.lineWidth = 3;
      ink.strokeStyle = "rgba(0, 0, 0, 0.75)";
      ink.strokeText(text, x, y);
      ink.fillStyle = colour;
      ink.fillText(text, x, y);
    };
    put(left, 12, height / 2);
    put(right, width - 12, height / 2);
    put(top, width / 2, 12);
    put(bottom, width / 2, height - 12);
    ink.font = "12px system-ui, sans-serif";
    ink.textAlign = "left";
    put(this.title(), 8, 14, this.state.active === this.plane ? "#7fbfe8" : "#9ca8b5");
    const value = this.pointer && this.describe(this.pointer);
    if (value) put(value, 8, height - 14, "#cfd8e3");
    this.drawBar(ink, width, height, put);
  }

  title() {
    const { through, text } = PLANES[this.plane];
    const at = Math.round(this.state.cursor[through]), count = this.grid.size[through];
    const shown = `${translate(text)} ${at + 1}/${count}`;
    return this.state.slabMm ? `${shown} · ${translate("slab", { mm: this.state.slabMm })}` : shown;
  }

  // HU and position of an index.
  describe(index) {
    const isInside = index.every((value, axis) => value > -0.5 && value < this.grid.size[axis] - 0.5);
    if (!isInside) return "";
    const hu = this.state.volume.hu(index);
    const position = this.grid.toWorld(index).map((value) => value.toFixed(1)).join(", ");
    return `${hu === null ? "…" : hu} HU · ${position} mm`;
  }

  drawBar(ink, width, height, put) {
    const scale = this.scale;
    const mm = BAR_MM.find((length) => length * scale <= width / 4) ?? BAR_MM.at(-1);
    const right = width - 14, y = height - 30, left = right - mm * scale;
    for (const [colour, thickness] of [["rgba(0, 0, 0, 0.75)", 4], ["#cfd8e3", 1.5]]) {
      ink.strokeStyle = colour;
      ink.lineWidth = thickness;
      ink.beginPath();
      ink.moveTo(left, y - 4);
      ink.lineTo(left, y);
      ink.lineTo(right, y);
      ink.lineTo(right, y - 4);
      ink.stroke();
    }
    ink.textAlign = "right";
    put(`${mm} mm`, right, y - 12);
  }
}
