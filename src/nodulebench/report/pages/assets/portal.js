"use strict";
// times in the viewer's own zone, and as their own country writes them
const spoken = document.documentElement.lang.slice(0, 2);
const country = navigator.languages.find((one) => one.slice(0, 2) === spoken) || spoken;
for (const one of document.querySelectorAll("time[datetime]")) {
  const at = new Date(one.dateTime);
  if (!isNaN(at)) {
    one.title = one.textContent;
    one.textContent = at.toLocaleString(country, { dateStyle: "medium", timeStyle: "short" });
  }
}
// what cannot be taken back is asked twice
for (const form of document.querySelectorAll("form[data-confirm]")) {
  form.addEventListener("submit", (event) => {
    if (!confirm(form.dataset.confirm)) event.preventDefault();
  });
}
// how far a job is; the page is loaded again when its state changes
for (const place of document.querySelectorAll("[data-progress]")) {
  const source = new EventSource(place.dataset.progress);
  const shown = [...place.classList].find((name) => name !== "job");
  source.onmessage = (event) => {
    if (JSON.parse(event.data).state !== shown) {
      source.close();
      location.reload();
    }
  };
}
// a choice of rule or figure is shown at once
for (const form of document.querySelectorAll('form[method="get"]')) {
  form.addEventListener("change", () => form.requestSubmit());
}
