// The grid of ids. Only rows near the part in sight are in the document, and only their
// first frames are asked for.

import { el, later } from "./dom.js";
import { address, labels } from "./framesids.js";
import { mediaOf } from "./viewkit.js";

const least = 156, gap = 12, caption = 46; // pixels of a card and what is below its picture
const tallest = 12e6; // pixels that every browser can scroll
const heldMost = 240; // pictures
const beside = 1; // rows above and below what is in sight

export class Grid {
  constructor(ctx, ids, open) {
    Object.assign(this, { ctx, ids, open, list: null, cards: new Map(), pictures: new Map(), at: 0, marked: null });
    this.lane = ctx.api.lane("thumbs");
    this.preview = ctx.api.lane("preview");
    this.box = el("div", { class: "ids", role: "list", "aria-label": "Ids", onkeydown: (e) => this.key(e) });
    this.stop = new AbortController();
    this.soon = () => { this.frame ??= requestAnimationFrame(() => { this.frame = null; this.lay(); }); };
    addEventListener("scroll", this.soon, { capture: true, passive: true, signal: this.stop.signal });
    this.seen = new ResizeObserver(this.soon);
    this.seen.observe(this.box);
    ids.listeners.add(this.soon);
    this.rest = later(120, () => this.load());
  }

  get length() { return this.list ? this.list.length : this.ids.length; }
  entry(i) { return this.list ? this.list[i] : this.ids.known(i); }
  all() { this.list = null; this.lay(true); }
  some(list) { this.list = list; this.lay(true); }

  // lay puts the cards in sight where they belong.
  lay(anew = false) {
    if (this.dead) return;
    const wide = this.box.clientWidth;
    if (!wide) return;
    const across = Math.max(1, Math.floor((wide + gap) / (least + gap))), w = (wide - gap * (across - 1)) / across, high = Math.round(w * 0.75) + caption, row = high + gap;
    const rows = Math.min(Math.ceil(this.length / across), Math.floor(tallest / row)), shown = Math.min(this.length, rows * across);
    this.cut = shown < this.length ? shown : 0;
    this.across = across;
    this.box.style.height = `${Math.max(0, rows * row - gap)}px`;
    const top = -this.box.getBoundingClientRect().top, from = Math.max(0, Math.floor(top / row) - beside) * across;
    const to = Math.min(shown, (Math.floor((top + innerHeight) / row) + 1 + beside) * across);
    const want = new Map();
    for (let i = from; i < to; i++) want.set(i, this.entry(i));
    if (this.focused !== undefined && this.focused < shown && !want.has(this.focused)) want.set(this.focused, this.entry(this.focused)); // focus stays
    for (const [i, c] of this.cards) if (anew || !want.has(i) || c.entry !== want.get(i)) { if (want.get(i)?.n !== c.entry?.n || !want.has(i) || !c.entry) { c.card.remove(); this.cards.delete(i); } }
    let before = null;
    for (const [i, e] of [...want].sort((a, b) => a[0] - b[0])) {
      let c = this.cards.get(i);
      if (!c) this.cards.set(i, c = this.card(i, e));
      const s = c.card.style;
      s.width = `${w}px`; s.height = `${high}px`;
      s.transform = `translate(${(i % across) * (w + gap)}px, ${Math.floor(i / across) * row}px)`;
      c.card.setAttribute("aria-posinset", i + 1);
      c.card.setAttribute("aria-setsize", this.length);
      if (c.card.parentNode !== this.box || c.card.previousSibling !== before) this.box.insertBefore(c.card, before ? before.nextSibling : this.box.firstChild);
      before = c.card;
    }
    this.box.dataset.shown = want.size;
    this.span = [from, to];
    for (let i = from; i < to; i += 100) if (!this.list && !this.ids.known(i)) this.ids.page(Math.floor(i / 500)).catch((e) => this.ctx.fail(e));
    if (!this.list && to > from && !this.ids.known(to - 1)) this.ids.page(Math.floor((to - 1) / 500)).catch((e) => this.ctx.fail(e));
    this.tabs();
    this.rest();
    if (!this.begun) { this.begun = true; this.load(); }
  }

  card(i, entry) {
    const image = el("div", { class: "thumb" }), name = entry?.name ?? "…";
    const facts = entry ? [...new Set(labels(entry).map(([, v]) => v).filter((v) => v !== "" && v !== "null"))].join(" · ") : "";
    const slash = name.lastIndexOf("/") + 1, hidden = (text) => el("span", { class: "hidden" }, text);
    const button = el("button", { type: "button", class: "id", tabIndex: -1, title: `${name}${facts ? `\n${facts}` : ""}`,
      onclick: () => { if (entry) this.open(entry, 0); }, onfocus: () => { this.focused = this.at = i; this.tabs(); }, onblur: () => { this.focused = undefined; } },
    image, el("span", { class: "idname" }, el("b", {}, slash ? hidden(name.slice(0, slash)) : null, name.slice(slash)), entry ? el("span", {}, ` ${entry.images}`, hidden(" frames ")) : null),
    el("span", { class: "idfacts" }, facts || name.slice(0, Math.max(0, slash - 1))));
    const card = el("div", { class: "card", role: "listitem" }, button);
    const c = { i, entry, card, button, image };
    if (entry) { button.classList.toggle("on", this.marked === entry.n); this.paint(c); this.hover(c); }
    return c;
  }

  // hover plays some frames of an id while the mouse is on it.
  hover(c) {
    if (c.entry.images < 2 || matchMedia("(prefers-reduced-motion: reduce)").matches) return;
    const n = Math.min(c.entry.images, 10);
    let timer = 0, k = 0;
    const step = async () => {
      k = (k + 1) % n;
      const frame = Math.floor(k * c.entry.images / n);
      try {
        const p = await this.picture(c.entry, frame, this.preview);
        if (!timer) return;
        if (p) c.image.replaceChildren(el("img", { src: p, alt: "" }));
        c.card.dataset.preview = frame;
      } catch {
        // the first frame stays
      }
      if (timer) timer = setTimeout(step, 150);
    };
    c.button.addEventListener("pointerenter", (e) => { if (e.pointerType === "mouse") timer = setTimeout(step, 250); });
    c.button.addEventListener("pointerleave", () => { clearTimeout(timer); timer = 0; k = 0; this.preview.clear(); delete c.card.dataset.preview; this.paint(c); });
  }

  // paint shows the first frame if it is there.
  paint(c) {
    const p = this.pictures.get(`${c.entry.name}\0${0}`);
    if (p === undefined) { c.image.replaceChildren(); return; }
    if (p && c.image.firstChild?.src === p) return;
    c.image.replaceChildren(p ? el("img", { src: p, alt: "", decoding: "async" }) : el("span", {}, c.entry.images ? "no picture" : "no frames"));
  }

  // load asks for the first frames of what is in sight, and no longer for others.
  load() {
    if (this.dead) return;
    const [from, to] = this.span ?? [0, 0], list = [];
    for (let i = from; i < to; i++) {
      const c = this.cards.get(i), id = c?.entry && `${c.entry.name}\0${0}`;
      if (!id || this.pictures.has(id)) continue;
      if (!c.entry.images) { this.pictures.set(id, ""); this.paint(c); continue; }
      list.push({ address: address(this.ctx, c.entry, 0), as: "bytes", keep: false, done: (p) => { this.hold(id, p); const now = this.cards.get(i); if (now?.entry === c.entry) this.paint(now); },
        fail: (e) => { if (!this.ctx.api.aborted(e)) { this.pictures.set(id, ""); this.paint(c); } } });
    }
    this.lane.want(list);
  }

  hold(id, bytes) {
    const media = mediaOf(bytes), p = media ? URL.createObjectURL(new Blob([bytes], { type: media })) : "";
    this.pictures.set(id, p);
    for (const [old, u] of this.pictures) { if (this.pictures.size <= heldMost) break; if (u && !this.used(u)) { URL.revokeObjectURL(u); this.pictures.delete(old); } else { this.pictures.delete(old); this.pictures.set(old, u); break; } }
    return p;
  }

  used(u) { for (const c of this.cards.values()) if (c.image.firstChild?.src === u) return true; return false; }

  async picture(e, frame, lane) {
    const id = `${e.name}\0${frame}`, have = this.pictures.get(id);
    if (have !== undefined) return have;
    return this.hold(id, await lane.get(address(this.ctx, e, frame), { fresh: true }));
  }

  // ---- keys: one card is in the order of Tab, arrows go to the others

  tabs() {
    const last = this.length - 1;
    if (this.at > last) this.at = Math.max(0, last);
    const there = this.cards.has(this.at) ? this.at : this.span?.[0] ?? 0;
    for (const [i, c] of this.cards) c.button.tabIndex = i === there ? 0 : -1;
  }

  key(e) {
    const by = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: this.across, ArrowUp: -this.across, Home: -this.at, End: this.length - 1 - this.at, PageDown: 3 * this.across, PageUp: -3 * this.across }[e.key];
    if (by === undefined || e.ctrlKey || e.metaKey || e.altKey) return;
    e.preventDefault();
    this.go(Math.min(Math.max(this.at + by, 0), (this.cut || this.length) - 1));
  }

  go(i) {
    this.focused = this.at = i;
    this.lay();
    const c = this.cards.get(i);
    c?.card.scrollIntoView({ block: "nearest" });
    c?.button.focus({ preventScroll: true });
  }

  focus(entry) { const i = this.list ? this.list.findIndex((e) => e.n === entry.n) : entry.n; if (i >= 0 && i < (this.cut || this.length)) this.go(i); }

  mark(entry) {
    this.marked = entry?.n ?? null;
    for (const c of this.cards.values()) c.button.classList.toggle("on", c.entry !== undefined && c.entry.n === this.marked);
  }

  destroy() {
    this.dead = true;
    this.stop.abort();
    this.seen.disconnect();
    this.rest.stop();
    this.lane.clear();
    this.preview.clear();
    for (const u of this.pictures.values()) if (u) URL.revokeObjectURL(u);
  }
}
