// The page in which a reader marks nodules: in a folder, an exam or a project.
import { find } from "./dom.js";
import { Findings } from "./findings.js";
import { ProjectFindings } from "./project.js";
import { State } from "./state.js";
import { drawingKeys, listenToButtons, Tools } from "./tools.js";
import { notice, Viewer } from "./viewer.js";

const state = new State();
const tools = new Tools(state);
const viewer = new Viewer(tools);
const isProject = document.body.dataset.project !== undefined;
const findings = isProject ? new ProjectFindings(state, notice, viewer) : new Findings(state, notice);
tools.findings = findings;
findings.onShown = () => viewer.scans.show();
viewer.scans.onOpened.push((number) => findings.opened(number));
viewer.scans.onLeaving.push(() => findings.leaving());

listenToButtons(tools);
find("confirm").addEventListener("close", async () => {
  if (find("confirm").returnValue !== "yes") return;
  await findings.submit();
  viewer.scans.refresh();
});

const keys = [...drawingKeys(state, tools, findings), ...findings.keys()];
await viewer.start(keys, {
  undo: () => findings.undo(),
  redo: () => findings.redo(),
  fill: () => findings.fill(),
  remove_slice: () => findings.removeSlice(),
  remove: () => findings.removeSelected(),
  submit: () => findings.maySubmit() && find("confirm").showModal(),
  reset: () => findings.reset(),
  answer_yes: () => findings.answer("yes"),
  answer_no: () => findings.answer("no"),
});
