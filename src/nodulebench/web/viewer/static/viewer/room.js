// What every page of the room has: three linked views of a scan, the list of scans, windows, keys.
import { Cine } from "./cine.js";
import { fillHelp, fitAll, listen, lookingKeys, nextSlab } from "./keys.js";
import { Hanging } from "./hanging.js";
import { attach } from "./mouse.js";
import { Prior } from "./prior.js";
import { Scans } from "./scans.js";
import { State } from "./state.js";
import { View } from "./view.js";
import { translate } from "./words.js";

const SHORTLY_MS = 2500;
const CLOSES = { text: translate("close"), run: () => {} };
export const find = (id) => document.getElementById(id);

export function notice(text, isWrong = false, offer = null) {
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

export class Room {
  // tools: what the pointer does beside looking.
  constructor(tools) {
    const state = tools.state;
    this.state = state;
    this.cine = new Cine(state);
    for (const canvas of document.querySelectorAll("canvas[data-plane]")) {
      const view = new View(canvas, canvas.dataset.plane, state);
      state.views.push(view);
      attach(view, tools);
    }
    state.tools = tools;
    this.scans = new Scans(state, find("scans"), notice);
    this.hanging = new Hanging(state, document.querySelector("main"));
    this.prior = new Prior(state, {
      canvas: find("prior"), select: find("prior-scan"), link: find("linked") });
    this.scans.onOpened.push(() => this.hanging.hang());
    this.scans.onLeaving.push(() => this.prior.left());
    state.listeners.push(() => this.show());
  }

  openAt(way) {
    const { scans } = this.state;
    let number = (this.state.number ?? -1) + way;
    while (number >= 0 && number < scans.length && !scans[number]) number += way;
    if (scans[number]) this.scans.open(number);
  }

  // keys and actions: what this page has besides.
  async start(keys, actions) {
    const { state, cine, scans } = this, help = find("help");
    const table = [
      ...lookingKeys(state, cine),
      ...keys,
      { keys: ["v"], word: "key.layout", run: () => this.hanging.next() },
      { keys: ["u"], word: "key.link", run: () => this.prior.toggle() },
      { keys: ["j"], word: "key.next_scan", run: () => this.openAt(1), isAlways: true },
      { keys: ["k"], word: "key.last_scan", run: () => this.openAt(-1), isAlways: true },
      { keys: ["?"], word: "key.help", run: () => help.showModal(), isAlways: true },
    ];
    fillHelp(find("keys"), table);
    listen(table, state);
    const all = {
      invert: () => state.invert(),
      slab: () => nextSlab(state),
      cine: () => cine.toggle(),
      fit: () => fitAll(state),
      layout: () => this.hanging.next(),
      keep: () => this.keep(),
      help: () => help.showModal(),
      ...actions,
    };
    for (const button of document.querySelectorAll("[data-preset]")) {
      button.addEventListener("click", () => state.usePreset(button.dataset.preset));
    }
    for (const button of document.querySelectorAll("[data-do]")) {
      button.addEventListener("click", () => all[button.dataset.do]());
    }
    // after a click the keys are the viewer's again; whoever tabs to a button keeps it
    document.querySelector("header").addEventListener("click", (event) => {
      if (event.detail) event.target.closest("button")?.blur();
    });
    this.freeSelects();
    state.applyWindow();
    const hung = this.hanging.begin().catch((error) => notice(error.message, true));
    await Promise.all([hung, scans.refresh()]);
    if (scans.first >= 0) await scans.open(scans.first);
    globalThis.nodulebench = state; // for tests, and for whoever wants to measure
  }

  // A list that was chosen from by mouse gives the keys back; whoever works by keyboard stays in it.
  freeSelects() {
    let isByMouse = false;
    addEventListener("pointerdown", () => { isByMouse = true; }, true);
    addEventListener("keydown", () => { isByMouse = false; }, true);
    addEventListener("change", ({ target }) => isByMouse && target.matches("select") && target.blur());
  }

  async keep() {
    try {
      await this.hanging.keep();
      notice(translate("hanging.kept"));
      setTimeout(() => notice(""), SHORTLY_MS);
    } catch (error) {
      notice(error.message, true);
    }
  }

  show() {
    const { state } = this, { level, width } = state.window;
    find("window").textContent = translate("window.shown", { level, width });
    for (const button of document.querySelectorAll("[data-preset]")) {
      button.setAttribute("aria-pressed", String(button.dataset.preset === state.preset));
    }
    const pressed = { invert: state.isInverted, cine: this.cine.isOn, slab: state.slabMm > 0 };
    for (const [name, isOn] of Object.entries(pressed)) {
      document.querySelector(`[data-do="${name}"]`).setAttribute("aria-pressed", String(isOn));
    }
    find("slab").textContent = state.slabMm ? translate("slab", { mm: state.slabMm }) : translate("slab.off");
    for (const view of state.views) {
      view.canvas.classList.toggle("active", view.plane === state.active);
    }
    find("layout").textContent = this.hanging.name;
    find("resampled").hidden = !state.isResampled;
  }
}
