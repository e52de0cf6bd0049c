// What all modes share: three linked views of a scan, the list of scans, windows, keys.
import { Cine } from "./cine.js";
import { create, find } from "./dom.js";
import { fillHelp, fitAll, listen, nextSlab, viewKeys } from "./keys.js";
import { Hanging } from "./hanging.js";
import { attach } from "./mouse.js";
import { Prior } from "./prior.js";
import { Scans } from "./scans.js";
import { View } from "./view.js";
import { translate } from "./translations.js";

const SHORTLY_MS = 2500;
const CLOSE = { text: translate("close"), run: () => {} };

/**
 * Show a message over the views; an empty text hides it.
 * @param {string} text
 * @param {boolean} [isWrong]
 * @param {{ text: string, run: () => void } | null} [offer] a button of the message.
 */
export function notice(text, isWrong = false, offer = null) {
  const element = find("notice");
  element.textContent = text;
  element.hidden = !text;
  element.classList.toggle("wrong", isWrong);
  for (const choice of [offer, isWrong && CLOSE]) {
    if (!choice) continue;
    const button = create("button", { textContent: choice.text });
    button.addEventListener("click", () => {
      element.hidden = true;
      choice.run();
    });
    element.append(" ", button);
  }
}

export class Viewer {
  /** @param {import("./mouse.js").PointerTools} tools */
  constructor(tools) {
    const { state } = tools;
    this.state = state;
    this.cine = new Cine(state);
    for (const canvas of /** @type {NodeListOf<any>} */ (document.querySelectorAll("canvas[data-plane]"))) {
      const view = new View(canvas, canvas.dataset.plane, state);
      state.views.push(view);
      attach(view, tools);
    }
    state.tools = tools;
    this.scans = new Scans(state, find("scans"), notice);
    this.hanging = new Hanging(state, document.querySelector("main"));
    this.prior = new Prior(state, {
      canvas: find("prior"), select: find("prior-scan"), link: find("linked") });
    this.scans.onOpened.push(() => this.hanging.applyZoom());
    this.scans.onLeaving.push(() => this.prior.reset());
    state.listeners.push(() => this.show());
  }

  /** @param {number} step 1: the next scan of the list; -1: the previous one. */
  openNext(step) {
    const { scans } = this.state;
    let number = (this.state.number ?? -1) + step;
    while (number >= 0 && number < scans.length && !scans[number]) number += step;
    if (scans[number]) this.scans.open(number);
  }

  /**
   * Listen to keys and buttons, then open the first scan.
   * @param {import("./keys.js").Key[]} keys of this mode.
   * @param {Record<string, () => unknown>} actions of this mode, by the data-action of buttons.
   */
  async start(keys, actions) {
    const { state, cine, scans } = this, help = find("help");
    const table = [
      ...viewKeys(state, cine),
      ...keys,
      { keys: ["v"], text: "key.layout", run: () => this.hanging.next() },
      { keys: ["u"], text: "key.link", run: () => this.prior.toggle() },
      { keys: ["j"], text: "key.next_scan", run: () => this.openNext(1), isAlways: true },
      { keys: ["k"], text: "key.last_scan", run: () => this.openNext(-1), isAlways: true },
      { keys: ["?"], text: "key.help", run: () => help.showModal(), isAlways: true },
    ];
    fillHelp(find("keys"), table);
    listen(table, state);
    const all = {
      invert: () => state.invert(),
      slab: () => nextSlab(state),
      cine: () => cine.toggle(),
      fit: () => fitAll(state),
      layout: () => this.hanging.next(),
      save_hanging: () => this.saveHanging(),
      help: () => help.showModal(),
      ...actions,
    };
    for (const button of /** @type {NodeListOf<any>} */ (document.querySelectorAll("[data-preset]"))) {
      button.addEventListener("click", () => state.usePreset(button.dataset.preset));
    }
    for (const button of /** @type {NodeListOf<any>} */ (document.querySelectorAll("[data-action]"))) {
      button.addEventListener("click", () => all[button.dataset.action]());
    }
    // After a click, keys go to the viewer again; a button reached with Tab keeps the focus.
    document.querySelector("header").addEventListener("click", (event) => {
      if (event.detail) /** @type {any} */ (event.target).closest("button")?.blur();
    });
    this.releaseSelects();
    state.applyWindow();
    const hung = this.hanging.load().catch((error) => notice(error.message, true));
    await Promise.all([hung, scans.refresh()]);
    if (scans.first >= 0) await scans.open(scans.first);
    Object.assign(globalThis, { nodulebench: state }); // for tests and measurements
  }

  // After a choice by mouse, keys go to the viewer again; after a choice by keyboard they do not.
  releaseSelects() {
    let isByMouse = false;
    addEventListener("pointerdown", () => { isByMouse = true; }, true);
    addEventListener("keydown", () => { isByMouse = false; }, true);
    addEventListener("change", (event) => {
      const target = /** @type {any} */ (event.target);
      if (isByMouse && target.matches("select")) target.blur();
    });
  }

  async saveHanging() {
    try {
      await this.hanging.save();
      notice(translate("hanging.saved"));
      setTimeout(() => notice(""), SHORTLY_MS);
    } catch (error) {
      notice(error.message, true);
    }
  }

  show() {
    const { state } = this, { level, width } = state.window;
    find("window").textContent = translate("window.shown", { level, width });
    for (const button of /** @type {NodeListOf<any>} */ (document.querySelectorAll("[data-preset]"))) {
      button.setAttribute("aria-pressed", String(button.dataset.preset === state.preset));
    }
    const pressed = { invert: state.isInverted, cine: this.cine.isOn, slab: state.slabMm > 0 };
    for (const [name, isOn] of Object.entries(pressed)) {
      document.querySelector(`[data-action="${name}"]`).setAttribute("aria-pressed", String(isOn));
    }
    find("slab").textContent = state.slabMm ? translate("slab", { mm: state.slabMm }) : translate("slab.off");
    for (const view of state.views) {
      view.canvas.classList.toggle("active", view.plane === state.active);
    }
    find("layout").textContent = this.hanging.name;
    find("resampled").hidden = !state.isResampled;
  }
}
