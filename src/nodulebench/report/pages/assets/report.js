"use strict";
/* The page is complete without this script. First: read values off a plot and zoom into it. */
for (const figure of document.querySelectorAll("figure.chart")) {
  const data = JSON.parse(figure.querySelector("script").textContent);
  const [left, top, width, height] = data.frame;
  const canvas = figure.querySelector(".canvas");
  const plot = canvas.querySelector(".plot");
  const inside = plot.querySelector(".inside");
  const ticks = plot.querySelector(".ticks");
  const points = [...plot.querySelectorAll(".points .point")];
  const reading = figure.querySelector(".reading");
  const tools = figure.querySelector(".tools");
  const outputs = figure.querySelectorAll(".legend output");
  const wholeTicks = ticks.innerHTML;
  const octaves = Math.log2(data.x.high / data.x.low);
  let view = [0, 1, 0, 1];
  let place = 0.5;
  let start = null;
  tools.hidden = reading.hidden = false;

  const summed = (steps) => { let sum = 0; return steps.map((step) => (sum += step) / data.unit); };
  const series = data.series.map((member) => ({
    name: member.name, x: summed(member.x), y: summed(member.y), threshold: member.threshold,
    band: member.band && member.band.map(summed),
  }));

  const valueAt = (share) => data.x.log
    ? data.x.low * 2 ** (share * octaves) : data.x.low + share * (data.x.high - data.x.low);
  const shown = (value) => value < 1 && Number.isInteger(1 / value) ? `1/${1 / value}` : `${+value.toPrecision(3)}`;

  function between(x, y, at) {
    let low = 0, high = x.length;
    while (low < high) { const middle = (low + high) >> 1; if (x[middle] <= at) low = middle + 1; else high = middle; }
    if (!low) return [null, 0];
    const last = low - 1;
    if (low === x.length) return [y[last], last];
    return [y[last] + (at - x[last]) / (x[low] - x[last]) * (y[low] - y[last]), last];
  }

  function draw(kind, attributes, parent = plot) {
    const made = document.createElementNS(plot.namespaceURI, kind);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    parent.append(made);
    return made;
  }
  const cross = draw("path", { class: "cross", d: "" });
  const pick = draw("path", { class: "pick", d: "" });

  function read() {
    const at = valueAt(place);
    const across = left + width * (place - view[0]) / (view[1] - view[0]);
    cross.setAttribute("d", across < left || across > left + width ? "" : `M${across} ${top}v${height}`);
    reading.textContent = data.at.replace("{x}", +at.toPrecision(3));
    series.forEach((member, number) => {
      const [y, index] = between(member.x, member.y, at);
      let text = y === null ? "–" : y.toFixed(3);
      const band = member.band && member.band.slice(1).map((part) => between(member.band[0], part, at)[0]);
      if (band && band[0] !== null) text += ` (${band.map((bound) => bound.toFixed(3)).join("–")})`;
      const score = member.threshold[index];
      if (y !== null && score !== null && score !== undefined) text += data.score + score;
      outputs[number].textContent = text;
    });
  }

  function ticksBetween(low, high, steps, put) {
    const step = steps.find((size) => Math.floor(high / size) - Math.ceil(low / size) >= 2) || steps.at(-1);
    for (let n = Math.ceil(low / step - 1e-9); n * step <= high + 1e-9; n += 1) put(n * step);
  }

  function show() {
    const [u0, u1, v0, v1] = view;
    inside.setAttribute("viewBox", [u0 * width * 10, (1 - v1) * height * 10, (u1 - u0) * width * 10, (v1 - v0) * height * 10].join(" "));
    for (const point of points) {
      const [across, down] = point.dataset.at.split(" ").map(Number);
      const x = (across / width - u0) / (u1 - u0), y = 1 - (1 - down / height - v0) / (v1 - v0);
      point.setAttribute("transform", `translate(${left + width * x} ${top + height * y})`);
      point.style.display = x < -0.001 || x > 1.001 || y < -0.001 || y > 1.001 ? "none" : "";
    }
    if (u1 - u0 === 1 && v1 - v0 === 1) ticks.innerHTML = wholeTicks;
    else {
      ticks.textContent = "";
      const label = (attributes, text) => { draw("text", attributes, ticks).textContent = text; };
      const base = data.x.log ? Math.log2(data.x.low) : data.x.low;
      const span = data.x.log ? octaves : data.x.high - data.x.low;
      const finer = [0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001];
      ticksBetween(base + u0 * span, base + u1 * span, data.x.log ? [1, 0.5, 0.25, 0.125, 0.0625] : finer, (at) => {
        const x = left + width * ((at - base) / span - u0) / (u1 - u0);
        draw("path", { d: `M${x} ${top}v${height}` }, ticks);
        label({ x, y: top + height + 21 }, shown(data.x.log ? 2 ** at : at));
      });
      ticksBetween(v0, v1, finer, (at) => {
        const y = top + height * (1 - (at - v0) / (v1 - v0));
        draw("path", { d: `M${left} ${y}h${width}` }, ticks);
        label({ class: "y", x: left - 8, y: y + 4.5 }, `${+at.toFixed(3)}`);
      });
    }
    read();
  }

  function zoom(factor) {
    const clamp = (middle, size) => { const low = Math.min(Math.max(middle - size / 2, 0), 1 - size); return [low, low + size]; };
    const size = (low, high) => Math.min(1, Math.max((high - low) * factor, 1 / 32));
    const height = between(series[0].x, series[0].y, valueAt(place))[0] ?? 0.5;
    view = [...clamp(place, size(view[0], view[1])), ...clamp(height, size(view[2], view[3]))];
    show();
  }

  function locate(event) {
    const at = new DOMPoint(event.clientX, event.clientY).matrixTransform(plot.getScreenCTM().inverse());
    const share = (part) => Math.min(1, Math.max(0, part));
    return [share((at.x - left) / width), share(1 - (at.y - top) / height)];
  }

  canvas.addEventListener("pointerdown", (event) => { if (event.pointerType === "mouse" && event.button === 0) start = locate(event); });
  canvas.addEventListener("pointermove", (event) => {
    const now = locate(event);
    place = view[0] + now[0] * (view[1] - view[0]);
    read();
    if (!start) return;
    const x = left + width * Math.min(start[0], now[0]), y = top + height * (1 - Math.max(start[1], now[1]));
    pick.setAttribute("d", `M${x} ${y}h${width * Math.abs(now[0] - start[0])}v${height * Math.abs(now[1] - start[1])}H${x}z`);
  });
  addEventListener("pointerup", (event) => {
    if (!start) return;
    const now = locate(event);
    pick.setAttribute("d", "");
    if (Math.abs(now[0] - start[0]) > 0.02 && Math.abs(now[1] - start[1]) > 0.02) {
      const along = (low, high, share) => low + share * (high - low);
      view = [
        along(view[0], view[1], Math.min(start[0], now[0])), along(view[0], view[1], Math.max(start[0], now[0])),
        along(view[2], view[3], Math.min(start[1], now[1])), along(view[2], view[3], Math.max(start[1], now[1])),
      ];
      show();
    }
    start = null;
  });
  canvas.addEventListener("dblclick", () => { view = [0, 1, 0, 1]; show(); });
  canvas.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!step) return;
    event.preventDefault();
    place = Math.min(view[1], Math.max(view[0], place + step * (view[1] - view[0]) / 100));
    read();
  });
  tools.addEventListener("click", (event) => {
    const wanted = event.target.dataset.do;
    if (wanted === "in") zoom(0.5);
    if (wanted === "out") zoom(2);
    if (wanted === "all") { view = [0, 1, 0, 1]; show(); }
  });
}

/* Of several charts one is shown at a time. */
for (const group of document.querySelectorAll(".switch")) {
  const panels = [...group.children];
  const bar = document.createElement("div");
  bar.className = "choices";
  const pick = (chosen) => panels.forEach((panel, number) => {
    panel.hidden = panel !== chosen;
    bar.children[number].setAttribute("aria-pressed", panel === chosen);
  });
  for (const panel of panels) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = panel.dataset.choice;
    button.addEventListener("click", () => pick(panel));
    bar.append(button);
  }
  group.prepend(bar);
  pick(panels[0]);
}

/* Tables: a click on a head sorts, words above a long one filter it. */
function sortable(cell) {
  const time = cell && cell.querySelector("time");
  const text = time ? time.dateTime : cell && cell.firstChild ? cell.firstChild.textContent.trim() : "";
  const number = Number(text.replace(/^[<>≤≥+]/, "").replace("−", "-").replace(/,/g, "").replace(/[\s\u00a0]*%$/, ""));
  return text === "–" || text === "" ? null : Number.isNaN(number) ? text : number;
}
function compared(first, second) {
  if (first === null || second === null) return (first === null) - (second === null);
  if (typeof first !== typeof second) return typeof first === "number" ? -1 : 1;
  return typeof first === "number" ? first - second : first.localeCompare(second, undefined, { numeric: true });
}
for (const table of document.querySelectorAll(".table table")) {
  const body = table.tBodies[0], rows = [...body.rows];
  const heads = table.tHead ? [...table.tHead.rows[table.tHead.rows.length - 1].cells] : [];
  if (rows.length < 3 || !heads.length || table.querySelector("tbody [rowspan], tbody [colspan]")) continue;
  table.classList.add("sortable");
  heads.forEach((head, column) => {
    if (!head.textContent.trim()) return;
    head.tabIndex = 0;
    const sort = () => {
      const way = head.getAttribute("aria-sort") === "ascending" ? -1 : 1;
      for (const heading of heads) heading.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", way > 0 ? "ascending" : "descending");
      const key = new Map(rows.map((row) => [row, sortable(row.cells[column])]));
      const none = (row) => key.get(row) === null;
      body.append(...[...rows].sort((a, b) => none(a) || none(b) ? none(a) - none(b) : way * compared(key.get(a), key.get(b))));
    };
    head.addEventListener("click", sort);
    head.addEventListener("keydown", (event) => { if (event.key === "Enter") sort(); });
  });
  if (rows.length <= 12) continue;
  const sought = document.createElement("input");
  sought.type = "search";
  sought.className = "sought";
  sought.placeholder = sought.ariaLabel = document.querySelector("main").dataset.find;
  sought.addEventListener("input", () => {
    const words = sought.value.toLowerCase().split(/\s+/);
    for (const row of rows) {
      const text = [row.textContent, ...[...row.cells].map((cell) => cell.title)].join(" ").toLowerCase();
      row.hidden = !words.every((word) => text.includes(word));
    }
  });
  table.closest(".scroll").before(sought);
}

/* A shortened name is shown whole, and copied, on a click. */
for (const cell of document.querySelectorAll("td.case[title]")) {
  cell.addEventListener("click", () => {
    cell.textContent = cell.title;
    if (navigator.clipboard) navigator.clipboard.writeText(cell.title).catch(() => {});
  });
}

/* What the address names is opened; paper shows everything. */
function reveal() {
  const target = location.hash.length > 1 && document.getElementById(location.hash.slice(1));
  const part = target && target.querySelector(":scope > details");
  if (part) part.open = true;
}
addEventListener("hashchange", reveal);
reveal();
let closed = [], aside = [];
addEventListener("beforeprint", () => {
  closed = [...document.querySelectorAll("details:not([open])")];
  aside = [...document.querySelectorAll(".switch > [hidden]")];
  for (const part of closed) part.open = true;
  for (const part of aside) part.hidden = false;
});
addEventListener("afterprint", () => {
  for (const part of closed) part.open = false;
  for (const part of aside) part.hidden = true;
});
