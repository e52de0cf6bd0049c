// Order of the results of the search: pages that tell how to do something come before reference,
// explanations and decisions. Phrases of a page's `keywords` are index entries, which count most.
var Scorer = {
  score: ([page, , , , score]) => score + (Scorer.folders.find(([start]) => page.startsWith(start)) ?? ["", 0])[1],
  folders: [
    ["start/", 3],
    ["how-to/", 3],
    ["tutorials/", 1],
    ["decisions/", -4],
    ["explanation/", -1],
    ["reference/generated/command-", 0.5],
  ],
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
