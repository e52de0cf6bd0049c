"use strict";
(() => {
  const shown = document.getElementById("shown");
  const sought = document.getElementById("sought");
  const total = document.getElementById("total");
  const cards = [...document.querySelectorAll(".series article")];
  const texts = cards.map((card) => card.textContent.toLowerCase());
  const choose = () => {
    const words = sought.value.toLowerCase().split(/\s+/).filter(Boolean);
    let count = 0;
    cards.forEach((card, number) => {
      const fits = (shown.value === "all" || shown.value === card.dataset.code)
        && words.every((word) => texts[number].includes(word));
      card.hidden = !fits;
      count += fits;
    });
    total.textContent = total.dataset.words.replace("#", count);
  };
  shown.addEventListener("change", choose);
  sought.addEventListener("input", choose);
  choose();
})();
