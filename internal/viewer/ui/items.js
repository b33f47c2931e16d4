// A list of items of any length: pages of a table, a search, and one item as text, JSON
// or hex.

import { bytes, count, el, field, later, plural } from "./dom.js";
import { sheet } from "./sheet.js";
import { copyButton, hex, mediaOf, pretty, printable, utf8 } from "./viewkit.js";

const pages = [20, 50, 100, 200];
const hexMost = 64 << 10, textMost = 1 << 20; // bytes of an item that are shown
const foundMost = 100; // items that one search shows before it asks
const runMost = 5000; // items of one request of a search

export async function mount(box, ctx) {
  await sheet();
  const v = new Items(box, ctx);
  await v.begin();
  return v;
}

// itemOf takes a line of an answer: its bytes, its text or null, and its size.
function itemOf(line) {
  const { n, text, base64 } = JSON.parse(line);
  if (text !== undefined) { const data = new TextEncoder().encode(text); return { n, text, data, size: data.length }; }
  const data = Uint8Array.from(atob(base64 ?? ""), (c) => c.charCodeAt(0));
  return { n, text: null, data, size: data.length };
}

class Items {
  constructor(box, ctx) {
    Object.assign(this, { box, ctx, dead: false, lane: ctx.api.lane("items"), names: new Map(), named: true, total: ctx.info.entries });
    const [a, b] = /^(\d+):(\d+)$/.exec(ctx.state.items ?? "")?.slice(1).map(Number) ?? [0, 50];
    this.size = pages.includes(b - a) ? b - a : 50;
    this.from = Math.max(0, Math.min(a, Math.max(0, (this.total < 0 ? Infinity : this.total) - 1)));
    this.open = /^\d+$/.test(ctx.state.item ?? "") ? Number(ctx.state.item) : null;
    this.as = ctx.state.as ?? "";
    this.search = later(250, () => this.look());
  }

  async begin() {
    const { ctx } = this, button = (text, label, fn) => el("button", { type: "button", "aria-label": label, title: label, onclick: fn }, text);
    this.find = el("input", { type: "search", name: "find", placeholder: "words", value: ctx.state.find ?? "", autocomplete: "off", spellcheck: false, oninput: () => this.search() });
    this.where = el("span", { class: "note", role: "status" });
    this.first = button("«", "First page", () => this.turn(0));
    this.before = button("‹", "Page before ([)", () => this.turn(this.from - this.size));
    this.after = button("›", "Next page (])", () => this.turn(this.from + this.size));
    this.last = button("»", "Last page", () => this.turn(Math.floor((this.total - 1) / this.size) * this.size));
    this.per = el("select", { onchange: () => { this.size = Number(this.per.value); this.turn(this.from); } }, pages.map((n) => el("option", { value: n, selected: n === this.size }, n)));
    this.number = el("input", { type: "number", min: 0, max: Math.max(0, this.total - 1), class: "small", name: "item", onkeydown: (e) => { if (e.key === "Enter") this.goTo(); } });
    this.turns = el("span", { class: "group" }, this.first, this.before, this.after, this.last);
    this.body = el("tbody");
    this.head = el("tr", {}, el("th", { scope: "col", class: "num itemcol" }, "item"), this.nameHead = el("th", { scope: "col", class: "namecol", hidden: true }, "name"), el("th", { scope: "col", class: "num sizecol" }, "size"), el("th", { scope: "col" }, "content"));
    this.more = el("p", { class: "bar" });
    this.detail = el("section", { class: "detail panel", hidden: true, "aria-label": "Item" });
    this.table = el("div", { class: "tablebox" }, el("table", { class: "list items-table" }, el("thead", {}, this.head), this.body), this.more);
    this.box.append(el("div", { class: "bar" }, field("Search", this.find), field("Go to", this.number), this.turns, field("a page", this.per), this.where), el("div", { class: "split" }, this.table, this.detail));
    ctx.keys([["/", "search", () => this.find.focus()], ["]", "next page", () => this.turn(this.from + this.size)], ["[", "page before", () => this.turn(this.from - this.size)],
      [["j", "ArrowDown"], "next item", () => this.next(1)], [["k", "ArrowUp"], "item before", () => this.next(-1)], ["Escape", "close the item", () => (this.open === null ? false : void this.show(null))]]);
    ctx.elsewhere(() => this.shown());
    if (this.total === 0) { this.where.textContent = "No items."; return; }
    if (this.find.value) await this.look(); else await this.page();
    if (this.open !== null) await this.show(this.open, false);
  }

  // load gets items. What is too large at once is asked for in halves.
  async load(a, b, signal) {
    const { root, key, api } = this.ctx;
    try {
      const text = await this.lane.get(api.url("get", root, key, { items: `${a}:${b}` }), { as: "text", signal });
      return text.split("\n").filter(Boolean).map(itemOf);
    } catch (e) {
      if (e.code !== "too-large" && e.code !== "too-much" || b - a < 2) {
        if (b - a === 1 && (e.code === "too-large" || e.code === "too-much")) return [{ n: a, text: null, data: null, size: -1, why: e.words }];
        throw e;
      }
      const mid = Math.floor((a + b) / 2);
      return (await Promise.all([this.load(a, mid, signal), this.load(mid, b, signal)])).flat();
    }
  }

  // names lists the names of items, if they have any.
  async namesOf(a, b, signal) {
    if (!this.named) return;
    const { root, key, api } = this.ctx;
    try {
      const l = await this.lane.get(api.url("ls", root, key, { after: a ? a - 1 : "", limit: b - a }), { as: "json", signal });
      this.named = l.entries.some((e) => e.name);
      for (const e of l.entries) if (e.name) this.names.set(e.n, e.name);
    } catch (e) { if (this.ctx.api.aborted(e)) throw e; this.named = false; }
  }

  async page() {
    this.halt?.abort();
    const stop = this.halt = new AbortController(), a = this.from, b = this.total < 0 ? a + this.size : Math.min(a + this.size, this.total);
    this.ctx.setState({ items: a === 0 && this.size === 50 ? null : `${a}:${a + this.size}`, find: null });
    this.where.textContent = "…";
    try {
      const [list] = await Promise.all([this.load(a, b, stop.signal), this.namesOf(a, b, stop.signal)]);
      if (this.dead || stop.signal.aborted) return;
      this.rows(list);
      const end = a + list.length;
      this.where.textContent = list.length ? `${count(a)} to ${count(end - 1)}${this.total >= 0 ? ` of ${plural(this.total, "item")}` : ""}` : "no items here";
      this.more.replaceChildren();
      this.turnable();
    } catch (e) { if (!this.dead && !this.ctx.api.aborted(e)) { this.where.textContent = ""; this.ctx.fail(e); } }
  }

  turnable() {
    const end = this.total >= 0 && this.from + this.size >= this.total;
    for (const b of [this.first, this.before]) b.disabled = this.from === 0;
    for (const b of [this.after, this.last]) b.disabled = end;
    this.last.disabled ||= this.total < 0;
  }

  turn(to) {
    const a = Math.max(0, to);
    if (this.total >= 0 && a >= this.total || a === this.from && to < 0) return;
    this.from = a;
    this.find.value = "";
    this.page();
  }

  goTo() {
    const n = Number(this.number.value);
    if (!Number.isInteger(n) || n < 0 || this.total >= 0 && n >= this.total) { this.where.textContent = `There is no item ${this.number.value}.`; return; }
    this.from = Math.floor(n / this.size) * this.size;
    this.find.value = "";
    this.page().then(() => this.show(n));
  }

  rows(list) { this.list = list; this.nameHead.hidden = !this.named; this.body.replaceChildren(...list.map((x) => this.row(x))); this.mark(); }

  row(x) {
    const name = this.names.get(x.n), line = x.text !== null && printable(x.text) ? x.text.slice(0, 240) : x.data ? [...x.data.subarray(0, 24)].map((b) => b.toString(16).padStart(2, "0")).join(" ") + (x.size > 24 ? " …" : "") : x.why;
    const r = el("tr", { class: x.text === null || !printable(x.text) ? "binary" : "", onclick: (e) => { if (!getSelection().toString() && e.target.tagName !== "BUTTON") this.show(x.n); } },
      el("td", { class: "num" }, el("button", { type: "button", class: "quiet open", "aria-label": `Open item ${count(x.n) || "0"}`, onclick: () => this.show(x.n) }, count(x.n) || "0")), this.named ? el("td", { class: "itemname" }, name ?? "") : null,
      el("td", { class: "num" }, x.size >= 0 ? bytes(x.size) : ""), el("td", { class: "content" }, el("span", {}, line)));
    r.dataset.n = x.n;
    return r;
  }

  mark() { for (const r of this.body.children) r.classList.toggle("on", Number(r.dataset.n) === this.open); }

  // ---- one item

  next(by) {
    if (!this.list?.length) return;
    const at = this.list.findIndex((x) => x.n === this.open), to = at < 0 ? (by > 0 ? 0 : this.list.length - 1) : at + by;
    if (to < 0 || to >= this.list.length) return;
    this.show(this.list[to].n, false);
    this.body.children[to].scrollIntoView({ block: "nearest" });
    this.ctx.announce(`item ${this.list[to].n}`);
  }

  async show(n, focus = true) {
    this.open = n;
    this.mark();
    this.detail.hidden = n === null;
    this.ctx.setState({ item: n, as: n === null ? null : this.as || null });
    if (n === null) { this.detail.replaceChildren(); return; }
    let x = this.list?.find((i) => i.n === n);
    if (!x) {
      try { [x] = await this.load(n, n + 1); } catch (e) { if (!this.dead && !this.ctx.api.aborted(e)) this.ctx.fail(e); return; }
      if (this.dead || this.open !== n) return;
      if (!x) { this.detail.hidden = true; this.where.textContent = `There is no item ${n}.`; return; }
    }
    this.item = x;
    this.draw();
    if (focus) this.detail.querySelector("h2").focus({ preventScroll: false });
  }

  // draw shows the item in the way that was chosen, or that suits it.
  draw() {
    const x = this.item, { root, key, api } = this.ctx, name = this.names.get(x.n), json = x.text !== null && x.size <= textMost ? pretty(x.text) : null, picture = x.data && mediaOf(x.data);
    const ways = [x.text !== null && "text", json !== null && "json", picture && "picture", x.data && "hex"].filter(Boolean);
    const suits = json !== null ? "json" : picture ? "picture" : x.text !== null && printable(x.text) ? "text" : "hex", as = ways.includes(this.as) ? this.as : suits;
    const tabs = el("span", { class: "group", role: "group", "aria-label": "Show as" }, ways.map((w) => el("button", { type: "button", "aria-pressed": String(w === as), onclick: () => { this.as = w; this.ctx.setState({ as: w }); this.draw(); this.detail.querySelector(`[aria-pressed=true]`)?.focus(); } }, { text: "Text", json: "JSON", hex: "Hex", picture: "Picture" }[w])));
    const cutAt = as === "hex" ? hexMost : textMost, cut = x.data && x.data.length > cutAt;
    let content = null;
    if (!x.data) content = el("p", {}, x.why);
    else if (as === "picture") content = el("img", { alt: name ?? `item ${x.n}`, src: this.blob(x.data, picture) });
    else content = el("pre", { tabIndex: 0, "aria-label": `Item ${x.n}` }, as === "json" ? json : as === "text" ? x.text.slice(0, textMost) : hex(x.data.subarray(0, hexMost)));
    this.detail.replaceChildren(el("div", { class: "playerhead" }, el("h2", { tabIndex: -1 }, name ? `${x.n} · ${name}` : `Item ${x.n}`), el("button", { type: "button", class: "quiet", "aria-label": "Close the item (Escape)", title: "Close (Escape)", onclick: () => this.show(null) }, "✕")),
      el("p", { class: "note" }, x.size >= 0 ? `${count(x.size) || "0"} bytes${cut ? `, the first ${bytes(cutAt)} are shown` : ""}` : ""),
      el("div", { class: "bar" }, tabs, x.data && content?.tagName === "PRE" ? copyButton(() => content.textContent, "Copy the item", this.ctx.announce) : null,
        el("button", { type: "button", onclick: () => api.download(api.url("get", root, key, { item: x.n }), name?.split("/").pop() ?? `item-${x.n}`).catch((e) => this.ctx.fail(e)) }, "Save")), content);
  }

  blob(data, type) { if (this.url) URL.revokeObjectURL(this.url); this.url = URL.createObjectURL(new Blob([data], { type })); return this.url; }

  // ---- search: items are read in runs, two at a time, until there are enough

  async look() {
    const text = this.find.value.trim();
    if (!text) { await this.page(); return; }
    this.ctx.setState({ find: text, items: null });
    this.halt?.abort();
    const stop = this.halt = new AbortController(), words = text.toLowerCase().split(/\s+/);
    const fits = (x) => { const all = `${x.text ?? ""} ${this.names.get(x.n) ?? ""}`.toLowerCase(); return words.every((w) => all.includes(w)); };
    this.rows([]);
    for (const b of [this.first, this.before, this.after, this.last]) b.disabled = true;
    let at = 0, run = 500;
    const go = async (want) => {
      this.more.replaceChildren(el("button", { type: "button", onclick: () => stop.abort() }, "Stop"));
      try {
        while (this.list.length < want && (this.total < 0 || at < this.total)) {
          const to = this.total < 0 ? at + run : Math.min(at + run, this.total);
          const [list] = await Promise.all([this.load(at, to, stop.signal), to - at <= 1000 ? this.namesOf(at, to, stop.signal) : null]);
          if (this.dead || stop.signal.aborted) break;
          const all = list.filter(fits), hits = all.slice(0, want - this.list.length), size = list.reduce((s, x) => s + Math.max(x.size, 0), 0);
          this.list.push(...hits);
          this.nameHead.hidden = !this.named;
          this.body.append(...hits.map((x) => this.row(x)));
          at = hits.length < all.length ? hits.at(-1).n + 1 : to;
          this.say(at);
          if (this.total < 0 && list.length < run) break;
          run = Math.min(this.named ? 1000 : runMost, Math.max(1, Math.floor(run * Math.min(2, 1e6 / Math.max(size, 1))))); // about a megabyte
        }
      } catch (e) { if (!this.dead && !this.ctx.api.aborted(e)) this.ctx.fail(e); }
      if (this.dead || this.halt !== stop) return;
      this.mark();
      const left = this.total < 0 || at < this.total;
      this.more.replaceChildren(left && !stop.signal.aborted ? el("button", { type: "button", onclick: () => go(this.list.length + foundMost) }, "Search on") : "");
    };
    await go(foundMost);
  }

  say(at) { this.where.textContent = `${plural(this.list.length, "item")} found in ${this.total >= 0 && at >= this.total ? "all" : `the first ${count(at)} of`} ${count(this.total)}`; }

  shown() { return this.open !== null ? { kind: "item", item: this.open, from: this.from, to: this.from + this.size } : { kind: "items", from: this.from, to: this.total < 0 ? this.from + this.size : Math.min(this.from + this.size, this.total) }; }

  destroy() { this.dead = true; this.search.stop(); this.halt?.abort(); this.lane.clear(); if (this.url) URL.revokeObjectURL(this.url); }
}
