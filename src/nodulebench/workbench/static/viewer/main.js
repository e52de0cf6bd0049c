// The reading room: three linked views of a scan, the list of scans, and what is drawn in them.
import { Cine } from "./cine.js";
import { fillHelp, fitAll, listen, lookingKeys, nextSlab } from "./keys.js";
import { attach } from "./mouse.js";
import { Scans } from "./scans.js";
import { State } from "./state.js";
import { Findings } from "./findings.js";
import { drawingKeys, Tools } from "./tools.js";
import { View } from "./view.js";
import { say } from "./words.js";

const CLOSES = { text: say("close"), run: () => {} };
const find = (id) => document.getElementById(id);
const state = new State();
const cine = new Cine(state);
const tools = new Tools(state);

function notice(text, isWrong = false, offer = null) {
  const place = find("notice");
  place.textContent = text;
  place.hidden = !text;
  place.classList.toggle("wrong", isWrong);
  for (const { text: words, run } of [offer, isWrong && CLOSES].filter(Boolean)) {
    const button = document.createElement("button");
    button.textContent = words;
    button.addEventListener("click", () => {
      place.hidden = true;
      run();
    });
    place.append(" ", button);
  }
}

for (const canvas of document.querySelectorAll("canvas[data-plane]")) {
  const view = new View(canvas, canvas.dataset.plane, state);
  state.views.push(view);
  attach(view, tools);
}

const scans = new Scans(state, find("scans"), notice);
const findings = new Findings(state, notice);
tools.findings = findings;
findings.onShown = () => scans.show();
state.tools = tools;
scans.onOpened.push((number) => findings.opened(number));
scans.onLeaving.push(() => findings.leaving());

function openAt(way) {
  const number = (state.number ?? -1) + way;
  if (number >= 0 && number < state.scans.length) scans.open(number);
}

const help = find("help");
const table = [
  ...lookingKeys(state, cine),
  ...drawingKeys(state, tools, findings),
  { keys: ["j"], word: "key.next_scan", run: () => openAt(1), isAlways: true },
  { keys: ["k"], word: "key.last_scan", run: () => openAt(-1), isAlways: true },
  { keys: ["?"], word: "key.help", run: () => help.showModal(), isAlways: true },
];
fillHelp(find("keys"), table);
listen(table, state);

for (const button of document.querySelectorAll("[data-preset]")) {
  button.addEventListener("click", () => state.usePreset(button.dataset.preset));
}
const actions = {
  invert: () => state.invert(),
  slab: () => nextSlab(state),
  cine: () => cine.toggle(),
  fit: () => fitAll(state),
  help: () => help.showModal(),
  undo: () => findings.undo(),
  redo: () => findings.redo(),
  fill: () => findings.fill(),
  remove_slice: () => findings.removeSlice(),
  remove: () => findings.removeChosen(),
  hand_in: () => find("sure").showModal(),
};
for (const button of document.querySelectorAll("[data-tool]")) {
  button.addEventListener("click", () => tools.use(button.dataset.tool));
}
find("sure").addEventListener("close", async () => {
  if (find("sure").returnValue !== "yes") return;
  await findings.handIn();
  scans.refresh();
});
for (const button of document.querySelectorAll("[data-do]")) {
  button.addEventListener("click", () => actions[button.dataset.do]());
}

state.listeners.push(() => {
  const { level, width } = state.window;
  find("window").textContent = say("window.shown", { level, width });
  for (const button of document.querySelectorAll("[data-preset]")) {
    button.setAttribute("aria-pressed", String(button.dataset.preset === state.preset));
  }
  for (const button of document.querySelectorAll("[data-tool]")) {
    button.setAttribute("aria-pressed", String(button.dataset.tool === state.tool));
  }
  const pressed = { invert: state.isInverted, cine: cine.isOn, slab: state.slabMm > 0 };
  for (const [name, isOn] of Object.entries(pressed)) {
    document.querySelector(`[data-do="${name}"]`).setAttribute("aria-pressed", String(isOn));
  }
  find("slab").textContent = state.slabMm ? say("slab", { mm: state.slabMm }) : say("slab.off");
  for (const view of state.views) {
    view.canvas.classList.toggle("active", view.plane === state.active);
  }
  find("resampled").hidden = !state.isResampled;
});

// after a click the keys are the viewer's again; whoever tabs to a button keeps it
document.querySelector("header").addEventListener("click", (event) => {
  if (event.detail) event.target.closest("button")?.blur();
});
state.applyWindow();
await scans.refresh();
if (state.scans.length) await scans.open(0);
globalThis.nodulebench = state; // for tests, and for whoever wants to measure
