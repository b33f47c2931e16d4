// What has no view of its own: what is known of it, its first bytes, and a way to get it.

import { bytes, count, el } from "./dom.js";
import { sheet } from "./sheet.js";
import { hex, printable, utf8 } from "./viewkit.js";

const peek = 4096;

// Words that /info has for people to read, in this order; the rest follows.
const order = ["format", "refused", "entries", "shape", "dtype", "nbytes", "cbytes", "typesize", "chunksize", "blocksize", "codec", "clevel", "filters", "metadata", "source", "version"];
const names = { nbytes: "in all", cbytes: "stored", clevel: "level", typesize: "bytes of an item", chunksize: "chunk", blocksize: "block" };
const sizes = new Set(["nbytes", "cbytes", "chunksize", "blocksize", "size"]);

export async function mount(box, ctx) {
  await sheet();
  const { root, key, api, info } = ctx, name = key.split("/").pop(), facts = info?.format !== "unknown" ? info : null;
  const lane = api.lane("other");
  ctx.elsewhere(() => ({ kind: "other" }));
  if (facts) box.append(table(facts, order, ["can", "place", "pinned", "dims"]));
  else box.append(el("p", { class: "note" }, "No format that can be shown. These are its stored bytes."));
  if (facts?.refused) box.prepend(el("p", { class: "note" }, `It cannot be read: ${facts.refused}.`));
  if (key.endsWith("/") || key === "") return { destroy() {} };
  box.append(el("p", { class: "bar" }, el("button", { type: "button", onclick: () => api.download(api.plainUrl("raw", root, key), name).catch(ctx.fail) }, `Save ${name}`), api.hasToken() ? null : el("a", { href: api.plainUrl("raw", root, key) }, "stored bytes"))); // a link sends no token
  try {
    const p = await first(lane, api.plainUrl("raw", root, key));
    if (p) box.append(el("h2", {}, p.all ? "Its bytes" : `The first ${bytes(p.data.length)}${p.size ? ` of ${bytes(p.size)}` : ""}`), look(p.data, p.all));
  } catch (e) { if (!api.aborted(e)) box.append(el("p", { class: "note" }, e.code === "bad-range" ? "It is empty." : e.words ?? e.message)); }
  return { destroy() { lane.clear(); } };
}

// first reads the beginning of an object.
async function first(lane, address) {
  const p = await lane.get(address, { fresh: true, range: `0-${peek - 1}` });
  return p.length ? { data: p.subarray(0, peek), all: p.length < peek, size: 0 } : null;
}

function look(data, all) {
  const text = utf8(data, !all);
  return el("pre", { tabIndex: 0, "aria-label": "Bytes" }, text !== null && printable(text) ? text : hex(data.subarray(0, 1024)));
}

// table shows a description: names, and what they have.
function table(d, first, leave) {
  const keys = [...first.filter((k) => d[k] !== undefined), ...Object.keys(d).filter((k) => !first.includes(k) && !leave.includes(k))];
  return el("dl", { class: "facts-list wide" }, keys.filter((k) => d[k] !== -1 && d[k] !== "" && d[k] !== null).flatMap((k) => [el("dt", {}, names[k] ?? k), el("dd", {}, value(k, d[k]))]));
}

function value(k, v) {
  if (sizes.has(k) && typeof v === "number") return `${count(v)} bytes`;
  if (typeof v === "number") return count(v) || String(v);
  if (Array.isArray(v) && v.every((x) => typeof x !== "object")) return v.join(k === "shape" ? " × " : ", ");
  if (k === "source") return table(v, ["size", "modified", "etag"], ["id"]);
  if (typeof v === "object") return el("pre", { tabIndex: 0, "aria-label": k }, JSON.stringify(v, null, 2));
  return String(v);
}
