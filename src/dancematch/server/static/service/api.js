/** The service over HTTP (docs/service.md): every error is a ServiceError with a sentence for people. */

import { visit } from "./storage.js";

export class ServiceError extends Error {
  /**
   * @param {number} status @param {string} error @param {string} message @param {number} [retry] seconds
   * @param {any} [body] of the answer, where it says more
   */
  constructor(status, error, message, retry = 0, body = {}) {
    super(message);
    this.status = status;
    this.error = error;
    this.retry = retry;
    this.body = body;
  }
}

const UNREACHABLE = new ServiceError(0, "unreachable", "The service does not answer. Is it still running?");
const TOKEN = "token",
  OPENING_SECONDS = 120;

/** What the app does when the service asks for a token, or is still opening. */
export const hooks = {
  /** @type {(wrong: boolean) => Promise<string | null>} */
  token: async () => null,
  /** @type {(waiting: boolean) => void} */
  opening: () => undefined,
};

const pause = (seconds) => new Promise((done) => setTimeout(done, 1000 * seconds));
const headers = () => {
  const token = visit.getItem(TOKEN);
  return token ? { Authorization: `Bearer ${token}` } : {};
};
export const hasToken = () => visit.getItem(TOKEN) !== null;
export const forgetToken = () => visit.removeItem(TOKEN);

/** @type {Promise<string | null> | null} */
let asking = null;

/** Ask for a token, once however many requests want one. @returns {Promise<boolean>} */
async function newToken() {
  asking =
    asking ||
    hooks.token(hasToken()).finally(() => {
      asking = null;
    });
  const token = await asking;
  if (token) visit.setItem(TOKEN, token);
  return Boolean(token);
}

/** @param {number} status @param {string} text @param {string | null} retry */
function problem(status, text, retry) {
  try {
    const body = JSON.parse(text);
    return new ServiceError(status, body.error, sentence(body.message), Number(retry) || 0, body);
  } catch {
    return new ServiceError(
      status,
      "internal",
      `The service answered with status ${status}.`,
      Number(retry) || 0,
    );
  }
}

const FILE_FIRST = /^(\S+\.[a-z]\w{1,4}\b|[^.:]*\.[a-z]\w{1,4}:)/i;

/** An error's words as people write them; the name of a file stays as it is. @param {string} text */
export function sentence(text) {
  const first = FILE_FIRST.test(text) ? text.charAt(0) : text.charAt(0).toUpperCase();
  return first + text.slice(1) + (/[.?!]$/.test(text) ? "" : ".");
}

/** One request; a missing token is asked for, an opening service waited for. @returns {Promise<Response>} */
async function request(path, options = {}, waited = 0) {
  let response;
  try {
    response = await fetch(path, { ...options, headers: { ...options.headers, ...headers() } });
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    throw UNREACHABLE;
  }
  if (response.ok) {
    if (waited) hooks.opening(false);
    return response;
  }
  const found = problem(response.status, await response.text(), response.headers.get("Retry-After"));
  if (found.status === 401 && (await newToken())) return request(path, options, waited);
  if (found.error === "not_ready" && waited < OPENING_SECONDS) {
    hooks.opening(true);
    await pause(1);
    return request(path, options, waited + 1);
  }
  throw found;
}

/** @param {string} path @param {AbortSignal} [signal] @returns {Promise<any>} */
export const ask = async (path, signal = undefined) => (await request(path, { signal })).json();

/** What a change is made to; the service refuses it if that is not what it has any more. @param {string} [etag] */
const ifMatch = (etag) => (etag ? { "If-Match": `"${etag}"` } : {});

/** @param {string} path @param {string} [etag] @param {boolean} [keepalive] also when the tab is closed */
export const forget = (path, etag = undefined, keepalive = false) =>
  request(path, { method: "DELETE", headers: ifMatch(etag), keepalive });

/**
 * Say something to the service in JSON.
 * @param {"POST" | "PATCH"} method @param {string} path @param {any} [body] @param {string} [etag]
 * @returns {Promise<any>}
 */
export async function say(method, path, body = undefined, etag = undefined) {
  const kind = body === undefined ? {} : { "Content-Type": "application/json" };
  const options = { method, headers: { ...kind, ...ifMatch(etag) }, body: body && JSON.stringify(body) };
  return (await request(path, options)).json();
}

/** Send a text of some kind. @param {string} path @param {string} kind @param {string} text @returns {Promise<any>} */
export const sendText = async (path, kind, text) =>
  (await request(path, { method: "POST", headers: { "Content-Type": kind }, body: text })).json();

/** @param {string} path */
export const blobOf = async (path) => (await request(path)).blob();

/**
 * Let the browser save what is at a path, or what comes of sending a file there.
 * @param {string} path @param {string} name to save it by @param {File} [file]
 */
export async function save(path, name, file = undefined) {
  const response = await request(path, file ? { method: "POST", body: file } : {});
  const url = URL.createObjectURL(await response.blob()),
    link = document.createElement("a");
  Object.assign(link, { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}

/**
 * A path with its parameters, those without a value left out; a list is one parameter per value.
 * @param {string} path @param {Record<string, any>} query
 */
export function withQuery(path, query) {
  const given = Object.entries(query)
    .flatMap(([name, value]) => [value].flat().map((one) => [name, one]))
    .filter(([, value]) => value !== null && value !== undefined && value !== "");
  return given.length
    ? `${path}?${new URLSearchParams(given.map(([name, value]) => [name, String(value)]))}`
    : path;
}

/** @param {string} dance by id or name */
export const dancePath = (dance) => `dances/${encodeURIComponent(dance)}`;

/** @param {string} recording_id */
export const recordingPath = (recording_id) => `recordings/${encodeURIComponent(recording_id)}`;

/**
 * Send a file. XMLHttpRequest, because fetch does not tell how much has gone out.
 * @param {string} method @param {string} path @param {Blob} file
 * @param {(share: number) => void} tell @param {AbortSignal} [signal]
 * @returns {Promise<{status: number, body: any}>}
 */
export async function send(method, path, file, tell, signal = undefined) {
  for (;;) {
    try {
      return await sendOnce(method, path, file, tell, signal);
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error;
      if (error.status === 401 && (await newToken())) continue;
      if (error.status !== 429 || signal?.aborted) throw error;
      await pause(error.retry || 2); // the queue is full: come back when it said
    }
  }
}

function sendOnce(method, path, file, tell, signal) {
  return new Promise((done, fail) => {
    const exchange = new XMLHttpRequest();
    exchange.open(method, path);
    for (const [name, value] of Object.entries(headers())) exchange.setRequestHeader(name, value);
    exchange.upload.onprogress = (event) => tell(event.total ? event.loaded / event.total : 0);
    exchange.onload = () => {
      const { status, responseText: text } = exchange;
      if (status < 300) done({ status, body: text ? JSON.parse(text) : null });
      else fail(problem(exchange.status, exchange.responseText, exchange.getResponseHeader("Retry-After")));
    };
    exchange.onerror = () => fail(UNREACHABLE);
    exchange.onabort = () => fail(new DOMException("", "AbortError"));
    signal?.addEventListener("abort", () => exchange.abort());
    exchange.send(file);
  });
}

const OVER = ["done", "failed", "cancelled"],
  MOST_FAILURES = 60;

/**
 * Follow a job until it is over; its last state is the answer. A stream of events that is refused or breaks off
 * is taken up again, and the job asked for meanwhile.
 * @param {string} job_id @param {(job: any) => void} tell what is known of the job
 * @param {AbortSignal} [signal] @returns {Promise<any>}
 */
export async function follow(job_id, tell, signal = undefined) {
  for (let failures = 0; ;) {
    for (const look of [lookByEvents, lookOnce]) {
      try {
        const job = await look(job_id, tell, signal);
        failures = 0;
        if (OVER.includes(job.state)) return job;
      } catch (error) {
        if (isLasting(error) || ++failures > MOST_FAILURES) throw error;
      }
    }
    await pause(1);
  }
}

/** Whether it is of no use to ask again. @param {any} error */
const isLasting = (error) =>
  error instanceof ServiceError
    ? error.status > 0 && error.status < 500 && error.status !== 429
    : !(error instanceof TypeError); // a stream that broke off

/** What is known of a job when its stream of events ends. */
async function lookByEvents(job_id, tell, signal) {
  const response = await request(`jobs/${job_id}/events`, { signal });
  /** @type {any} */
  let job = {};
  for await (const { name, data } of events(response)) {
    job = withEvent(job, name, data);
    tell(job);
  }
  return job;
}

/** What is known of a job after an event: of a scan, what it finds is a list. */
function withEvent(job, name, data) {
  if (name === "answer") return { ...job, partial: data };
  if (name === "segment") return { ...job, segments: [...(job.segments || []), data] };
  if (name === "recognised") return { ...job, recognised: [...(job.recognised || []), data] };
  return { ...job, ...data };
}

async function lookOnce(job_id, tell, signal) {
  const job = await ask(`jobs/${job_id}`, signal);
  tell(job);
  return job;
}

/** The events of a stream, by name. @param {Response} response */
async function* events(response) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  for (let held = ""; ;) {
    const { value, done } = await reader.read();
    if (done) return;
    const parts = (held + value).split("\n\n");
    held = parts.pop();
    for (const part of parts) {
      const lines = part.split("\n");
      const field = (name) =>
        lines
          .filter((line) => line.startsWith(`${name}:`))
          .map((line) => line.slice(name.length + 1).trim())
          .join("");
      if (field("data")) yield { name: field("event"), data: JSON.parse(field("data")) };
    }
  }
}

/** @type {any} */
let known = null;

/** What the service is; asked for again when dances came or went. @param {boolean} [anew] */
export async function about(anew = false) {
  if (anew || known === null) known = await ask("about");
  return known;
}
/** The suffixes of the files that the service reads, once `about` has been asked. */
export const suffixes = () => ({ motion: known.motion_suffixes, video: known.video_suffixes });
export const mayWrite = () => Boolean(known?.scopes.includes("write"));
