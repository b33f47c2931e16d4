// The shell: routes, the view of a dataset, errors, keys, theme, and what it cost.

import * as api from "./api.js";
import { bytes, el } from "./dom.js";

const $ = (id) => document.getElementById(id);
const main = $("main"), crumbs = $("crumbs"), live = $("live"), keysBox = $("keys");

// The view of a dataset, by its format; of other formats, by what it can do.
const views = { zoomcache: "series", gulp: "frames", bloscpack: "items" };
const abilities = [["view", "series"], ["slice", "array"], ["images", "frames"], ["items", "items"]];

// likely is the view that a name promises: it is fetched while the server looks.
const likely = { b2nd: "array", npy: "array", zoom: "series", gulp: "frames", gmeta: "frames", blp: "items" };

function viewOf(info) {
  if (info.format === "") return "browse";
  if (info.can.includes("slice")) { info.shape ??= []; return "array"; }
  return views[info.format] ?? abilities.find(([can]) => info.can.includes(can) && can !== "slice")?.[1] ?? "other";
}

// preload asks for all files of a view at once, once: the server lists them in the document.
const needs = new Map(document.querySelector("[name=needs]").content.split(";").map((s) => s.split(" ")).map(([view, ...files]) => [view, files]));

function preload(view) {
  for (const f of needs.get(view) ?? []) {
    const kind = f.endsWith(".css") ? { rel: "preload", as: "style" } : f.startsWith("vendor/") ? { rel: "preload", as: "script" } : { rel: "modulepreload" };
    document.head.append(el("link", { ...kind, href: new URL(f, import.meta.url).href }));
  }
  needs.delete(view);
}

// ---- routes: #/ROOT/KEY?state, and #token=… once

// plain is a part of a link without escapes: as it stands, if it is not written with any.
function plain(s) { try { return decodeURIComponent(s); } catch { return s; } }

function takeToken() {
  const m = /^#token=([^&#/]*)[&#]?(\/.*)?$/.exec(location.hash);
  if (!m) return;
  api.setToken(plain(m[1]));
  history.replaceState(null, "", `#${m[2] ?? "/"}`);
}

function parseRoute() {
  const [path, query = ""] = location.hash.replace(/^#\/?/, "").split(/\?(.*)/s);
  const [root, ...rest] = path.split("/").map(plain);
  return { root, key: rest.join("/"), folder: rest.at(-1) === "", state: Object.fromEntries(new URLSearchParams(query)) };
}

export function hrefOf(root, key = "", state = {}) {
  return withState(`#/${[root, ...(key ? key.split("/") : [])].map(encodeURIComponent).join("/")}`, state);
}

function withState(path, state) {
  const q = new URLSearchParams(Object.entries(state).filter(([, v]) => v != null && v !== "")).toString().replace(/%2C/g, ",").replace(/%3A/g, ":");
  return path + (q ? `?${q}` : "");
}

let went = 0; // views that were shown
let current = null; // what is shown: {view, stop, keys, hash, ...}

async function show() {
  takeToken();
  const hash = location.hash;
  if (current?.hash === hash) return;
  close();
  const route = parseRoute(), stop = new AbortController();
  const mine = current = { hash, stop, keys: [], shown: () => null, ...route };
  trail(route);
  document.title = route.key.split("/").filter(Boolean).pop() || route.root || "farread";
  if (mine.hash !== hash) return;
  const wait = setTimeout(() => main.replaceChildren(el("p", { class: "wait" }, "Opening …")), 150);
  // What the server says and the scripts of the likely view are asked for side by side.
  const asked = describe(route, stop.signal), guess = route.folder ? "browse" : likely[(route.key || route.root).split(".").pop()];
  if (guess) preload(guess);
  try {
    const info = await asked;
    api.pin(route.root, route.key, info.pinned && info.version);
    const name = viewOf(info);
    preload(name);
    const module = await import(`./${name}.js`);
    clearTimeout(wait);
    if (current !== mine) return;
    main.replaceChildren();
    const ctx = context(mine, info);
    if (name !== "browse") head(ctx);
    const box = el("div", { class: `pane ${name}` });
    main.append(box);
    const view = await module.mount(box, ctx);
    if (current !== mine) { view?.destroy?.(); return; }
    mine.view = view;
    if (went++) announce(document.title); // a screen reader tells of the first page by itself
    if (name !== "browse") await elsewhere(mine, ctx);
  } catch (e) {
    clearTimeout(wait);
    if (current !== mine || api.aborted(e)) return;
    main.replaceChildren(el("h1", {}, document.title));
    // What is no dataset may be a folder that is not listed by itself.
    if (e.status === 400 || e.status === 404) return fail(e, { byHand: route.root !== "" });
    fail(e);
  }
}

// describe tells what a place is. Of a folder the names are enough, unless they are those
// of a dataset in parts; so that costs one listing.
async function describe({ root, key, folder, state }, signal) {
  const o = { as: "json", signal, fresh: true };
  if (!root) return { format: "", can: [] };
  if (folder) {
    try {
      const page = await api.get(api.url("ls", root, key, { after: state.after }), o);
      if (!page.entries.some((e) => /\.gmeta$|^chunks\.b2frame$/.test(e.name))) return { format: "", can: [], page };
    } catch (e) {
      if (![400, 404, 422].includes(e.status)) throw e;
    }
  }
  try {
    return await api.get(api.url("info", root, key), o);
  } catch (e) {
    // Bytes that are no dataset can be looked at, and saved.
    if (e.code === "unsupported" && key) return { format: "unknown", can: [], refused: e.message };
    throw e;
  }
}

function close() {
  current?.stop.abort();
  current?.view?.destroy?.();
  api.clearLanes();
  current = null;
}

// context is what a view is given.
function context(mine, info) {
  const ctx = {
    root: mine.root, key: mine.key, info, state: mine.state, api, announce, fail,
    // setState writes the deep link: a patch of strings; null removes.
    setState(patch, { replace = true } = {}) {
      if (current !== mine) return;
      for (const [k, v] of Object.entries(patch)) if (v == null || v === "") delete mine.state[k]; else mine.state[k] = String(v);
      mine.hash = withState(mine.hash.split("?")[0], mine.state);
      if (!replace) history.pushState(null, "", mine.hash);
      else { clearTimeout(mine.writing); mine.writing = setTimeout(() => { if (current === mine) history.replaceState(null, "", mine.hash); }, 120); }
    },
    // elsewhere registers what tells what is shown, for the panel below.
    elsewhere(fn) { mine.shown = fn; },
    // keys registers keys: [key, what it does, fn]. They do nothing in a field.
    keys(list) { mine.keys.push(...list); },
    href: hrefOf,
  };
  return ctx;
}

async function elsewhere(mine, ctx) {
  const module = await import("./elsewhere.js");
  if (current !== mine) return;
  const box = el("div");
  main.append(box);
  const panel = await module.mount(box, ctx, () => mine.shown());
  const view = mine.view;
  mine.view = { destroy() { view?.destroy?.(); panel?.destroy?.(); } };
}

function head({ key, root, info }) {
  const name = key.split("/").filter(Boolean).pop() ?? root;
  main.append(el("div", { class: "head" }, el("h1", {}, name), el("p", { class: "facts" }, facts(info))));
}

// facts is the line below the name.
function facts(info) {
  const list = [info.format];
  if (info.shape) list.push(info.shape.join(" × ") || "one value");
  if (typeof info.dtype === "string") list.push(info.dtype.length > 40 ? "structured" : info.dtype);
  if (info.codec) list.push(info.codec);
  if (info.source?.size) list.push(`${bytes(info.source.size)} stored`);
  if (info.nbytes > 0) list.push(`${bytes(info.nbytes)} in all`);
  return list.join(" · ");
}

function trail({ root, key }) {
  const parts = key.split("/"), kids = [];
  if (root) kids.push(key ? el("a", { href: `${hrefOf(root)}/` }, root) : el("span", { "aria-current": "page" }, root));
  let at = "";
  parts.forEach((p, i) => {
    if (p === "") return;
    const last = i === parts.length - 1 || (i === parts.length - 2 && parts[i + 1] === "");
    at += p + (i < parts.length - 1 ? "/" : "");
    kids.push(last ? el("span", { "aria-current": "page" }, p) : el("a", { href: hrefOf(root, at) }, p));
  });
  crumbs.replaceChildren(...kids);
}

// ---- errors

// fail shows an error as words, with a way out where there is one. It stays until the
// next view, or until it is closed: by hand, or by what fail returns.
export function fail(error, { byHand = false } = {}) {
  if (api.aborted(error)) return () => {};
  const words = error instanceof api.Fault ? error.words : `This went wrong: ${error?.message ?? error}`;
  main.querySelector(".fault")?.remove();
  const box = el("div", { class: "fault", role: "alert" }, el("p", {}, words));
  const way = el("p", { class: "ways" });
  if (error.code === "unauthorized") box.append(tokenForm());
  if (error.code === "changed") way.append(el("button", { type: "button", onclick: reload }, "Open the new version"));
  else if (error.offer) way.append(el("button", { type: "button", onclick: () => { box.remove(); error.offer.run(); } }, error.offer.label));
  else if (error.code !== "unauthorized") way.append(el("button", { type: "button", onclick: reload }, "Try again"));
  if (byHand) box.append(keyForm());
  way.append(el("button", { type: "button", class: "quiet", onclick: () => box.remove() }, "Close"));
  if (error.id) way.append(el("small", {}, `in the server's log: ${error.id}`));
  box.append(way);
  main.prepend(box);
  return () => box.remove();
}

function reload() {
  api.forget();
  if (current) history.replaceState(null, "", current.hash);
  close();
  show();
}

function tokenForm() {
  const input = el("input", { type: "password", autocomplete: "off", name: "token", "aria-label": "Token" });
  return el("form", { class: "bar", onsubmit: (e) => { e.preventDefault(); api.setToken(input.value.trim()); reload(); } }, input, el("button", {}, "Use this token"),
    el("small", {}, "It stays in this tab. A link may bring it along: #token=…"));
}

// keyForm takes a key by hand, where nothing can be listed.
export function keyForm() {
  const { root, key } = parseRoute();
  const input = el("input", { type: "text", name: "key", value: key, spellcheck: false, autocomplete: "off", "aria-label": "Key of a dataset" });
  return el("form", { class: "bar", onsubmit: (e) => { e.preventDefault(); location.hash = hrefOf(root, input.value.replace(/^\/+/, "")); } },
    el("span", {}, `${root} / `), input, el("button", {}, "Open"));
}

// ---- announcements, keys, theme, cost

export function announce(text) { live.textContent = ""; requestAnimationFrame(() => { live.textContent = text; }); }

const common = [
  ["?", "these keys", () => help()],
  ["t", "dark or light", () => nextTheme()],
  ["u", "the folder above", () => crumbs.querySelectorAll("a").length && [...crumbs.querySelectorAll("a")].pop().click()],
];

const names = { " ": "space", ArrowLeft: "←", ArrowRight: "→", ArrowUp: "↑", ArrowDown: "↓" };

function help() {
  const lines = new Map(); // what keys do → their names
  for (const [k, text] of [...(current?.keys ?? []), ...common]) lines.set(text, [...(lines.get(text) ?? []), ...[k].flat()]);
  const key = (k) => el("kbd", {}, k.replace(/Shift\+/, "Shift ").replace(/Arrow\w+|^ $/, (n) => names[n]));
  keysBox.replaceChildren(el("h2", { id: "keys-title" }, "Keys"),
    el("table", {}, el("tbody", {}, ...[...lines].map(([text, keys]) => el("tr", {}, el("td", {}, ...keys.map(key)), el("td", {}, text))))),
    el("form", { method: "dialog" }, el("button", {}, "Close")));
  keysBox.showModal();
}

// keyName is a key with its modifiers, as views name it: "Shift+ArrowLeft", "+", "a".
function keyName(e) { return (e.shiftKey && e.key.length > 1 ? "Shift+" : "") + e.key; }

document.addEventListener("keydown", (e) => {
  if (e.defaultPrevented || e.ctrlKey || e.metaKey || e.altKey || keysBox.open) return;
  const typing = e.target.closest?.("input:not([type=range]):not([type=checkbox]), textarea, select");
  if (typing) return;
  if (e.target.type === "range" && /^(Arrow|Page|Home|End)/.test(e.key)) return;
  if (e.key === " " && e.target.closest?.("button, summary, a, [type=checkbox]")) return;
  const name = keyName(e);
  const hit = [...(current?.keys ?? []), ...common].find(([k]) => [k].flat().includes(name));
  if (hit?.[2] && hit[2](e) !== false) e.preventDefault(); // false: the key means nothing now
});

const themes = ["auto", "light", "dark"], themeName = "farread-theme";
function setTheme(t) {
  document.documentElement.dataset.theme = t;
  const b = $("theme");
  b.textContent = { auto: "◐", light: "☀", dark: "☾" }[t];
  b.setAttribute("aria-label", `Theme: ${t === "auto" ? "as the system" : t}`);
  b.title = `Theme: ${t === "auto" ? "as the system" : t} (t)`;
  document.dispatchEvent(new Event("themechange"));
}
function nextTheme() {
  const t = themes[(themes.indexOf(document.documentElement.dataset.theme) + 1) % themes.length];
  try { localStorage.setItem(themeName, t); } catch { return setTheme(t); } // a browser that keeps nothing
  setTheme(t);
}
let begun;
try { begun = localStorage.getItem(themeName); } catch { begun = "auto"; }
setTheme(themes.includes(begun) ? begun : "auto");
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => document.dispatchEvent(new Event("themechange")));

$("theme").addEventListener("click", nextTheme);
$("help").addEventListener("click", help);
document.querySelector(".skip").addEventListener("click", (e) => { e.preventDefault(); main.focus(); });
api.onCost(() => { $("cost").textContent = api.costText(); });
addEventListener("hashchange", show);
addEventListener("popstate", show);
show();
