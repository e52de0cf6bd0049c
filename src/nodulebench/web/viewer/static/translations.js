// The texts of the page, which the server put into it.
const element = /** @type {HTMLElement} */ (document.getElementById("translations"));
/** @type {Record<string, string>} */
const TEXTS = JSON.parse(element.textContent ?? "{}");

/**
 * The text with a key, with values in place of its {names}.
 * @param {string} key
 * @param {Record<string, unknown>} [values]
 */
export function translate(key, values = {}) {
  const text = TEXTS[key] ?? key;
  return text.replace(/\{(\w+)\}/g, (whole, name) => (name in values ? String(values[name]) : whole));
}
