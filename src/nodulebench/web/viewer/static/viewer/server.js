// What the server is asked: addresses are relative, so that the page works wherever it is mounted.
export class Refused extends Error {
  constructor(status, told) {
    super(told?.problem ?? told?.detail?.code ?? String(status));
    this.status = status;
    this.told = told;
  }
}

async function answered(answer) {
  if (answer.ok) return answer;
  const isPlain = answer.headers.get("Content-Type")?.startsWith("text/plain");
  const told = isPlain ? { problem: await answer.text() } : await answer.json().catch(() => ({}));
  throw new Refused(answer.status, told);
}

export async function ask(path) {
  const answer = await answered(await fetch(path));
  return { status: answer.status, told: await answer.json() };
}

export async function askVoxels(path, signal) {
  const answer = await answered(await fetch(path, { signal }));
  return new Int16Array(await answer.arrayBuffer());
}

const MOST_KEPT_ALIVE = 30000; // bytes that browsers send on after the page is gone

export async function sendFile(path, file) {
  const headers = { "Content-Type": "application/octet-stream", "X-Requested-With": "nodulebench" };
  return (await answered(await fetch(path, { method: "POST", headers, body: file }))).json();
}

export async function send(path, body) {
  const text = JSON.stringify(body);
  const answer = await fetch(path, {
    method: "POST",
    headers: { "Content-Type": "application/json", "X-Requested-With": "nodulebench" },
    body: text,
    keepalive: text.length < MOST_KEPT_ALIVE,
  });
  return (await answered(answer)).json();
}
