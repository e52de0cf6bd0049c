// Order of the results of the search. Pages that tell how to do something come before reference,
// explanations and decisions. Each word of the question that is in the title or in the keywords
// of a page lifts it. Phrases of the keywords are main entries of the index, which count most.
var Scorer = {
  folders: [
    ["start/", 3],
    ["how-to/", 3],
    ["tutorials/", 2],
    ["decisions/", -4],
    ["explanation/", -1],
  ],
  sharedWord: 4,

  score: ([page, , , , score]) => {
    const folder = Scorer.folders.find(([start]) => page.startsWith(start));
    const known = Scorer.wordsOf(page);
    const asked = Search._parseQuery(new URLSearchParams(location.search).get("q") ?? "")[1];
    const shared = [...asked].filter((word) => known.has(word)).length;
    return score + (folder ? folder[1] : 0) + Scorer.sharedWord * shared;
  },

  wordsOf: (page) => {
    Scorer.words ??= Scorer.collectWords();
    return Scorer.words.get(page) ?? new Set();
  },

  // the stems of the title and the keywords of each page
  collectWords: () => {
    const { docnames, titles, indexentries } = Search._index;
    const stemmer = new Stemmer();
    const words = new Map(docnames.map((page) => [page, new Set()]));
    const add = (number, text) =>
      splitQuery(text.toLowerCase()).forEach((word) =>
        words.get(docnames[number]).add(stemmer.stemWord(word)),
      );
    titles.forEach((title, number) => add(number, title));
    Object.entries(indexentries).forEach(([phrase, places]) =>
      places.forEach(([number]) => add(number, phrase)),
    );
    return words;
  },

  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
