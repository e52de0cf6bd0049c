// Requests to the server. Addresses are relative, so that the page works under any path.

/** A response with an error status. */
export class ServerError extends Error {
  /**
   * @param {number} status
   * @param {{ problem?: string, detail?: { code?: string, current?: any } }} body
   */
  constructor(status, body) {
    super(body?.problem ?? body?.detail?.code ?? String(status));
    this.status = status;
    this.body = body;
  }
}

/** @param {Response} response */
async function checked(response) {
  if (response.ok) return response;
  const isPlain = response.headers.get("Content-Type")?.startsWith("text/plain");
  const body = isPlain ? { problem: await response.text() } : await response.json().catch(() => ({}));
  throw new ServerError(response.status, body);
}

/**
 * @param {string} path
 * @returns {Promise<{ status: number, body: any }>}
 */
export async function get(path) {
  const response = await checked(await fetch(path));
  return { status: response.status, body: await response.json() };
}

/**
 * @param {string} path
 * @param {AbortSignal} signal
 */
export async function getVoxels(path, signal) {
  const response = await checked(await fetch(path, { signal }));
  return new Int16Array(await response.arrayBuffer());
}

const KEEPALIVE_BYTES = 30000; // browsers still send a body of this size after the page is closed

/**
 * @param {string} path
 * @param {File} file
 * @returns {Promise<any>}
 */
export async function sendFile(path, file) {
  const headers = { "Content-Type": "application/octet-stream", "X-Requested-With": "nodulebench" };
  return (await checked(await fetch(path, { method: "POST", headers, body: file }))).json();
}

/**
 * @param {string} path
 * @param {unknown} body
 * @returns {Promise<any>}
 */
export async function send(path, body) {
  const text = JSON.stringify(body);
  const response = await fetch(path, {
    method: "POST",
    headers: { "Content-Type": "application/json", "X-Requested-With": "nodulebench" },
    body: text,
    keepalive: text.length < KEEPALIVE_BYTES,
  });
  return (await checked(response)).json();
}
