// The page in which a reader marks nodules.
import { Findings } from "./findings.js";
import { find, notice, Room } from "./room.js";
import { State } from "./state.js";
import { drawingKeys, listenToButtons, Tools } from "./tools.js";
import { Work } from "./work.js";

const state = new State();
const tools = new Tools(state);
const room = new Room(tools);
const isWork = document.body.dataset.work !== undefined;
const findings = isWork ? new Work(state, notice, room) : new Findings(state, notice);
tools.findings = findings;
findings.onShown = () => room.scans.show();
room.scans.onOpened.push((number) => findings.opened(number));
room.scans.onLeaving.push(() => findings.leaving());

listenToButtons(tools);
find("sure").addEventListener("close", async () => {
  if (find("sure").returnValue !== "yes") return;
  await findings.handIn();
  room.scans.refresh();
});

const keys = drawingKeys(state, tools, findings);
await room.start(isWork ? [...keys, ...findings.keys()] : keys, {
  undo: () => findings.undo(),
  redo: () => findings.redo(),
  fill: () => findings.fill(),
  remove_slice: () => findings.removeSlice(),
  remove: () => findings.removeChosen(),
  hand_in: () => findings.mayHandIn() && find("sure").showModal(),
  reset: () => findings.reset(),
  answer_yes: () => findings.answer("yes"),
  answer_no: () => findings.answer("no"),
});
