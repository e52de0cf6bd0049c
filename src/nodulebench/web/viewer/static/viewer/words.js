// The page's words, which the server put into it: a key and values -> text.
const WORDS = JSON.parse(document.getElementById("words").textContent);

export function translate(key, values = {}) {
  const text = WORDS[key] ?? key;
  return text.replace(/\{(\w+)\}/g, (whole, name) => (name in values ? values[name] : whole));
}
