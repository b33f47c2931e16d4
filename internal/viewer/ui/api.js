// Requests to the gateway: few at a time, given up when nobody wants them any more, kept
// for a while, counted, and their errors as words.

import { bytes, plural } from "./dom.js";
import { Fault } from "./fault.js";
import { parse } from "./npy.js";

export { Fault };

const base = new URL(".", document.baseURI);
const pins = new Map(); // ROOT/KEY → version

export const aborted = (e) => e?.name === "AbortError";

// ---- the token: it stays in this tab

const tokenName = "farread-token";
export function setToken(t) { t ? sessionStorage.setItem(tokenName, t) : sessionStorage.removeItem(tokenName); }
export const hasToken = () => Boolean(sessionStorage.getItem(tokenName));
const headers = () => { const t = sessionStorage.getItem(tokenName); return t ? { Authorization: `Bearer ${t}` } : {}; };

// ---- what requests cost

// cost counts the last action: what began after a pause of this page.
export const cost = { requests: 0, bytes: 0, aborted: 0, flying: 0, sourceRequests: 0, sourceBytes: 0, kept: 0, ms: 0, total: 0 };
let begun = 0, ended = 0;
const watchers = new Set();
export const onCost = (fn) => { watchers.add(fn); return () => watchers.delete(fn); };
const tell = () => { for (const fn of watchers) fn(cost); };
const pause = 500; // ms without a request end an action

function begins() {
  const now = performance.now();
  if (cost.flying === 0 && now - ended > pause) {
    Object.assign(cost, { requests: 0, bytes: 0, aborted: 0, sourceRequests: 0, sourceBytes: 0, kept: 0 });
    begun = now;
  }
  cost.requests++; cost.total++; cost.flying++;
  tell();
}

function ends(r, size) {
  ended = performance.now();
  cost.flying--;
  cost.ms = ended - begun;
  if (r) {
    const seen = performance.getEntriesByName(r.url).at(-1);
    if (seen && seen.transferSize === 0 && seen.decodedBodySize > 0) cost.kept++; // the browser had it
    else {
      cost.bytes += Number(r.headers.get("Content-Length") ?? size);
      const [, n, b] = /src;desc="(\d+) req, (\d+) B/.exec(r.headers.get("Server-Timing") ?? "") ?? [];
      cost.sourceRequests += Number(n ?? 0);
      cost.sourceBytes += Number(b ?? 0);
    }
    performance.clearResourceTimings();
  }
  tell();
}

// costText is the line in the corner.
export function costText() {
  if (!cost.total) return "";
  const c = cost;
  return [plural(c.requests, "request"), bytes(c.bytes), `source ${plural(c.sourceRequests, "request")}, ${bytes(c.sourceBytes)}`,
    c.kept ? `${c.kept} kept` : "", c.aborted ? `${c.aborted} given up` : "", c.flying ? "…" : `${Math.round(c.ms)} ms`].filter(Boolean).join(" · ");
}

// ---- addresses

const escaped = (root, key) => [root, ...(key ? key.split("/") : [])].map(encodeURIComponent).join("/");

// pin makes url ask for one version of a dataset.
export function pin(root, key, version) { if (version) pins.set(`${root}/${key}`, version); else pins.delete(`${root}/${key}`); }

const pinned = new Set(["slice", "get", "view"]);

// url is the address of an answer. Parameters that are null or "" are left out.
export function url(verb, root, key = "", params = {}) {
  const v = pinned.has(verb) && pins.get(`${root}/${key}`);
  const u = new URL(`${verb}${v ? `~v-${v}` : ""}/${escaped(root, key)}`, base);
  for (const [k, x] of Object.entries(params)) if (x != null && x !== "") u.searchParams.set(k, x);
  return u.href;
}

// plainUrl is the same without a version, to be copied.
export function plainUrl(verb, root, key = "", params = {}) {
  const u = new URL(`${verb}/${escaped(root, key)}`, base);
  const q = Object.entries(params).filter(([, x]) => x != null && x !== "")
    .map(([k, x]) => `${k}=${encodeURIComponent(x).replace(/%3A/g, ":").replace(/%2C/g, ",")}`).join("&");
  return u.href + (q ? `?${q}` : "");
}

// ---- requests

async function load(address, as, signal, range) {
  begins();
  let r = null, body = null;
  try {
    r = await fetch(address, { signal, headers: { ...headers(), ...(range && { Range: `bytes=${range}` }) } });
    if (!r.ok) throw await fault(r);
    body = await (as === "blob" ? r.blob() : r.arrayBuffer());
  } catch (e) {
    if (aborted(e)) cost.aborted++;
    else if (!(e instanceof Fault)) throw new Fault(0, "network", e.message);
    throw e;
  } finally {
    ends(r?.ok ? r : null, body?.byteLength ?? body?.size ?? 0);
  }
  switch (as) {
    case "json": return JSON.parse(new TextDecoder().decode(body));
    case "text": return new TextDecoder().decode(body);
    case "npy": return parse(body);
    case "blob": return body;
    default: return new Uint8Array(body);
  }
}

async function fault(r) {
  let d = {};
  try { d = await r.json(); } catch { d = {}; } // no JSON: the status says it
  return new Fault(r.status, d.code ?? "http", d.message ?? r.statusText, d.id);
}

// Answers used last are kept, up to so many of about so many bytes in all.
const keepMost = 64, keepBytes = 24e6;
const answers = new Map();
let held = 0;

function kept(id) {
  const a = answers.get(id);
  if (a) { answers.delete(id); answers.set(id, a); }
  return a;
}

function keep(id, value, size) {
  if (size > keepBytes / 4) return;
  answers.set(id, { value, size });
  held += size;
  for (const [k, a] of answers) {
    if (answers.size <= keepMost && held <= keepBytes) break;
    answers.delete(k);
    held -= a.size;
  }
}

const sizeOf = (as, v) => (as === "npy" ? v.data.byteLength : as === "json" ? 4096 : v.byteLength ?? v.size ?? v.length * 2);

// forget drops what is kept, so that the next requests are made anew.
export function forget() { answers.clear(); held = 0; }

// A Lane is a queue that has at most `width` requests in flight.
export class Lane {
  constructor(width = 2) {
    this.width = width;
    this.queue = []; // {address, as, signal, stop, good, bad}
    this.flying = new Set();
    this.idle = () => {};
  }

  // get asks for an answer: as "json", "npy", "text", "blob", or else as a Uint8Array. range
  // ("0-4095") asks for some of its bytes.
  get(address, { signal, as = "bytes", fresh = false, range = "" } = {}) {
    const id = `${as} ${address}`, have = !fresh && kept(id);
    if (have) return Promise.resolve(have.value);
    return new Promise((good, bad) => {
      if (signal?.aborted) { bad(new DOMException("given up", "AbortError")); return; }
      const stop = new AbortController();
      const job = { id, address, as, stop, good, bad, range, keep: !fresh && !range };
      signal?.addEventListener("abort", () => this.drop(job), { once: true });
      this.queue.push(job);
      this.pump();
    });
  }

  // want says what is wanted now, most urgent first: [{address, as, done(answer), fail(fault)}].
  // What is in flight or waiting and no longer wanted is given up; what is still wanted
  // goes on.
  want(list) {
    const wanted = new Map(list.map((w) => [`${w.as} ${w.address}`, w]));
    for (const job of [...this.flying, ...this.queue]) {
      const w = wanted.get(job.id);
      if (!w) { this.drop(job); continue; }
      wanted.delete(job.id);
      Object.assign(job, { good: w.done, bad: w.fail });
    }
    for (const [id, w] of wanted) {
      const have = kept(id);
      if (have) w.done(have.value);
      else this.queue.push({ id, address: w.address, as: w.as, stop: new AbortController(), good: w.done, bad: w.fail, keep: w.keep !== false });
    }
    const order = new Map(list.map((w, i) => [`${w.as} ${w.address}`, i]));
    this.queue.sort((a, b) => order.get(a.id) - order.get(b.id));
    this.pump();
  }

  drop(job) {
    const i = this.queue.indexOf(job);
    if (i >= 0) { this.queue.splice(i, 1); job.bad(new DOMException("given up", "AbortError")); }
    else job.stop.abort();
  }

  // clear gives everything up.
  clear() { for (const job of [...this.queue, ...this.flying]) this.drop(job); }

  get busy() { return this.flying.size + this.queue.length > 0; }

  pump() {
    while (this.flying.size < this.width && this.queue.length) {
      const job = this.queue.shift();
      this.flying.add(job);
      load(job.address, job.as, job.stop.signal, job.range).then((v) => {
        if (job.keep) keep(job.id, v, sizeOf(job.as, v));
        return v;
      }).finally(() => this.flying.delete(job)).then((v) => job.good(v), (e) => job.bad(e)).finally(() => {
        this.pump();
        if (!this.busy) this.idle();
      });
    }
  }
}

const lanes = new Map();

// lane is the lane of a name; it exists until clearLanes.
export function lane(name, width = 2) {
  if (!lanes.has(name)) lanes.set(name, new Lane(width));
  return lanes.get(name);
}

// clearLanes gives up what a view asked for that is left.
export function clearLanes() { for (const l of lanes.values()) l.clear(); lanes.clear(); }

// get asks for an answer in a lane: two requests of a lane are in flight at most.
export const get = (address, o = {}) => lane(o.lane ?? "main").get(address, o);

// download saves an answer as a file.
export async function download(address, name) {
  saveBlob(await get(address, { as: "blob", fresh: true, lane: "download" }), name);
}

export function saveBlob(blob, name) {
  const a = document.createElement("a");
  a.href = URL.createObjectURL(blob);
  a.download = name;
  a.click();
  setTimeout(() => URL.revokeObjectURL(a.href), 60_000);
}
