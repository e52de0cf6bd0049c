"use strict";
// times in the time zone and the format of the person who reads the page
const spoken = document.documentElement.lang.slice(0, 2);
const country = navigator.languages.find((locale) => locale.slice(0, 2) === spoken) || spoken;
for (const time of document.querySelectorAll("time[datetime]")) {
  const at = new Date(time.dateTime);
  if (!isNaN(at)) {
    time.title = time.textContent;
    time.textContent = at.toLocaleString(country, { dateStyle: "medium", timeStyle: "short" });
  }
}
// ask before an action that cannot be undone
for (const form of document.querySelectorAll("form[data-confirm]")) {
  form.addEventListener("submit", (event) => {
    if (!confirm(form.dataset.confirm)) event.preventDefault();
  });
}
// follow the progress of a job, and load the page again when its state changes
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
// apply a choice of rule or metric at once
for (const form of document.querySelectorAll('form[method="get"]')) {
  form.addEventListener("change", () => form.requestSubmit());
}
