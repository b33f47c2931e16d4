// A folder, or the roots: a page of names, searched.

import { el, bytes, count, later, plural } from "./dom.js";

const words = { b2nd: "array", npy: "array", cframe: "frame", zoomcache: "series", gulp: "images", bloscpack: "items", fri: "index" };

export async function mount(box, ctx) {
  const b = new Browse(box, ctx);
  await b.begin();
  return { destroy() {} };
}

class Browse {
  constructor(box, ctx) {
    Object.assign(this, { box, ctx, entries: [], next: "" });
    this.search = el("input", { type: "search", value: ctx.state.q ?? "", placeholder: "Filter", "aria-label": "Filter names", spellcheck: false, autocomplete: "off", oninput: later(80, () => this.filter()),
      onkeydown: (e) => { if (e.key === "Enter") this.enter(); if (e.key === "Escape") { this.search.value = ""; this.filter(); this.search.blur(); } if (e.key === "ArrowDown") { e.preventDefault(); this.focus(0); } } });
    this.found = el("span", { class: "note", role: "status" });
    this.body = el("tbody", {});
    this.table = el("table", { class: "list" }, el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "Name"), el("th", { scope: "col" }, "What"), el("th", { scope: "col", class: "num" }, "Size"), el("th", { scope: "col", class: "num when" }, "Changed"))), this.body);
    this.more = el("div", { class: "bar more" });
  }

  async begin() {
    const { ctx, ctx: { root, key } } = this;
    if (ctx.info.page) this.take(ctx.info.page, ctx.state.after ?? ""); else await this.load(ctx.state.after ?? "");
    if (!root && this.entries.length === 1) { // nothing to choose
      location.replace(ctx.href(this.entries[0].name) + (this.entries[0].dir ? "/" : ""));
      return;
    }
    const name = key.split("/").filter(Boolean).pop() ?? root;
    this.box.append(el("h1", {}, name || "What is served here"), el("div", { class: "bar" }, this.search, this.found), this.table, this.more);
    ctx.keys([["/", "filter the names", () => this.search.focus()], [["ArrowDown", "j"], "the next line", () => this.focus(1)], [["ArrowUp", "k"], "the line before", () => this.focus(-1)]]);
    this.filter();
  }

  // load gets a page of at most 1,000 names.
  async load(after) {
    const { api, root, key } = this.ctx;
    this.take(await api.get(api.url("ls", root, key, { after }), { as: "json", fresh: true }), after);
  }

  take(page, after) {
    this.entries = page.entries;
    this.next = page.next;
    this.after = after;
  }

  async turn(after) {
    try { await this.load(after); } catch (e) { this.ctx.fail(e); return; }
    this.ctx.setState({ after: after || null }, { replace: false });
    this.filter();
    scrollTo(0, 0);
  }

  // href of a line. Of a folder it ends in a slash.
  href(e) {
    const { root, key, href } = this.ctx, name = e.dir && !e.name.endsWith("/") ? `${e.name}/` : e.name;
    return root ? href(root, (key && !key.endsWith("/") ? `${key}/` : key) + name) : href(e.name) + (e.dir ? "/" : "");
  }

  filter() {
    const q = this.search.value.trim().toLowerCase(), parts = q.split(/\s+/).filter(Boolean);
    this.shown = this.entries.filter((e) => { const n = e.name.toLowerCase(), f = `${e.format ?? ""} ${words[e.format] ?? ""}`; return parts.every((p) => n.includes(p) || f.includes(p)); });
    this.body.replaceChildren(...this.shown.map((e) => this.row(e)));
    this.table.classList.toggle("hidden", !this.shown.length);
    this.found.textContent = !this.entries.length ? "There is nothing here." : q ? `${count(this.shown.length)} of ${count(this.entries.length)}${this.next || this.after ? " on this page" : ""}` : `${plural(this.entries.length, "name")}${this.next || this.after ? " on this page" : ""}`;
    this.ctx.setState({ q: q || null });
    this.pages(q);
  }

  row(e) {
    const dir = e.dir, when = e.modified ? new Date(e.modified) : null;
    return el("tr", {}, el("td", {}, el("a", { href: this.href(e), class: dir ? "dir" : "" }, e.name)), el("td", { class: "what" }, dir ? "folder" : words[e.format] ? `${words[e.format]} · ${e.format}` : e.format ?? ""),
      el("td", { class: "num" }, dir ? "" : bytes(e.size ?? (this.ctx.root ? 0 : -1))), el("td", { class: "num when" }, when ? el("time", { dateTime: when.toISOString(), title: when.toISOString() }, when.toISOString().slice(0, 16).replace("T", " ")) : ""));
  }

  // pages offers the pages after this one, and a jump to names that begin with the filter.
  pages(q) {
    const kids = [];
    if (this.after) kids.push(el("button", { type: "button", onclick: () => this.turn("") }, "First page"));
    if (this.next) kids.push(el("button", { type: "button", onclick: () => this.turn(this.next) }, "Next 1,000"));
    if ((this.next || this.after) && q) kids.push(el("button", { type: "button", onclick: () => this.jump() }, `Names from “${this.search.value.trim()}” on`));
    this.more.replaceChildren(...kids);
  }

  // jump goes to the page that begins with what is typed: one request, however many names
  // there are.
  jump() {
    const q = this.search.value.trim(), last = q.codePointAt(q.length - 1);
    this.search.value = "";
    this.turn(q.slice(0, -1) + (last > 0x21 ? String.fromCodePoint(last - 1) + "\u{10fffd}" : ""));
  }

  enter() {
    if (this.shown.length === 1) location.hash = this.href(this.shown[0]);
    else if (!this.shown.length && (this.next || this.after)) this.jump();
    else this.focus(0);
  }

  focus(by) {
    const links = [...this.body.querySelectorAll("a")], i = links.indexOf(document.activeElement);
    links[Math.min(Math.max(i < 0 ? 0 : i + by, 0), links.length - 1)]?.focus();
  }
}
