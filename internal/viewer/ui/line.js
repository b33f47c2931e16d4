// An array of one axis, as a line.

import { teller } from "./viewkit.js";
import { el, field, later } from "./dom.js";
import { frame, line, sharp, span } from "./chart.js";
import { picker } from "./members.js";
import { Model } from "./model.js";
import { fileName, tilesOf } from "./array.js";

const room = 4; // items a pixel, before they are drawn with a step

export function mount(box, ctx) {
  const v = new LineView(box, ctx);
  return { destroy: () => v.destroy() };
}

class LineView {
  constructor(box, ctx) {
    this.ctx = ctx;
    this.m = new Model(ctx);
    this.m.on(() => this.draw());
    this.size = this.m.shape[0];
    this.tiles = tilesOf(ctx, this.m, { side: [1, 8192], changed: () => this.draw(), again: () => this.askLater() });
    this.canvas = el("canvas", { class: "plane line", tabIndex: 0, role: "img", "aria-describedby": "reading" });
    this.reading = el("p", { class: "readout", id: "reading" }, "Point at the line to read a value.");
    const button = (text, title, onclick) => el("button", { type: "button", title, "aria-label": title, onclick }, text);
    box.append(el("div", { class: "bar" }, this.picker(), el("span", { class: "group", role: "group", "aria-label": "Zoom" },
      button("−", "Smaller (−)", () => this.zoom(1 / 1.6)), button("Fit", "Fit all of it (0)", () => this.show(0, this.size)), button("+", "Larger (+)", () => this.zoom(1.6))),
    button("Save npy", "Save npy of what is in sight", () => ctx.api.download(ctx.api.url("slice", ctx.root, ctx.key, { s: this.text(), field: this.m.member?.name }), fileName(ctx, "npy")).catch(ctx.fail))), this.canvas, this.reading);
    this.teller = teller(ctx.announce);
    const v = this.m.view;
    this.from = v ? v.x : this.m.win?.x0 ?? 0;
    this.to = v ? v.x + v.kx : this.m.win?.x1 ?? this.size;
    this.askLater = later(90, () => this.ask());
    this.resize = new ResizeObserver(() => this.ask());
    this.resize.observe(this.canvas);
    this.redraw = () => this.draw();
    document.addEventListener("themechange", this.redraw);
    ctx.elsewhere(() => ({ kind: "array", slice: this.text(), field: this.m.member?.name }));
    ctx.keys([["ArrowLeft", "move back", () => this.pan(-0.15)], ["ArrowRight", "move on", () => this.pan(0.15)], [["+", "="], "zoom in", () => this.zoom(1.6)], ["-", "zoom out", () => this.zoom(1 / 1.6)], ["0", "all of it", () => this.show(0, this.size)],
      ["Shift+ArrowLeft", "the item before", () => this.step(-1)], ["Shift+ArrowRight", "the next item", () => this.step(1)]]);
    this.hands();
  }

  destroy() { document.removeEventListener("themechange", this.redraw); this.resize.disconnect(); this.askLater.stop(); this.tiles.clear(); this.gone = true; }

  picker() {
    const m = this.m;
    return m.member && picker(this.ctx, m.member.name, (name) => { m.member = m.members.find((x) => x.name === name); m.chosen = 0; Object.assign(this.tiles, { inner: m.inner, chosen: 0 }); this.tiles.clear(); m.save(); this.ask(); });
  }

  get window() { return { y0: 0, y1: 1, x0: Math.max(0, Math.floor(this.from)), x1: Math.min(this.size, Math.ceil(this.to)) }; }
  get level() { const w = Math.max(this.canvas.clientWidth - 60, 50); return [0, Math.max(0, Math.ceil(Math.log2((this.to - this.from) / (w * room))))]; }
  text() { const { x0, x1 } = this.window, l = this.level[1]; return `${x0}:${x1}${l ? `:${2 ** l}` : ""}`; }

  show(from, to, gesture = false) {
    const d = Math.min(Math.max(to - from, 8), this.size), a = Math.min(Math.max((from + to - d) / 2, 0), this.size - d);
    this.from = a;
    this.to = a + d;
    this.m.win = null;
    this.m.view = d === this.size ? null : { x: a, y: 0, kx: d, ky: 1 };
    this.m.save();
    if (gesture) this.askLater(); else this.ask();
    this.draw();
  }

  zoom(f, at = (this.from + this.to) / 2, gesture = false) { this.show(at - (at - this.from) / f, at + (this.to - at) / f, gesture); }
  pan(part, gesture = false) { const d = (this.to - this.from) * part; this.show(this.from + d, this.to + d, gesture); }

  ask() { if (!this.gone) { this.tiles.want(this.m.axes, this.m.at, this.window, this.level, false); this.draw(); } }

  draw() { this.drawing ||= requestAnimationFrame(() => { this.drawing = 0; if (!this.gone) this.drawNow(); }); }

  drawNow() {
    const c = this.canvas, g = sharp(c, c.clientWidth, c.clientHeight), xs = [], ys = [], { x0, x1 } = this.window;
    const list = this.tiles.inSight(this.m.axes, this.m.at, this.window, this.level);
    const best = list.at(-1)?.dx;
    for (const t of list.filter((t) => t.dx === best).sort((a, b) => a.x - b.x)) {
      for (let i = Math.max(0, Math.floor((x0 - t.x) / t.dx) - 1), n = Math.min(t.w, Math.ceil((x1 - t.x) / t.dx) + 1); i < n; i++) { xs.push(t.x + i * t.dx); ys.push(t.items.number(t.off + i * t.sx)); }
    }
    const [y0, y1] = span(ys);
    this.frame = frame(g, c.clientWidth, c.clientHeight, { x0: this.from, x1: this.to - 1, y0, y1, wholeX: true });
    line(g, this.frame, xs, ys);
    const done = this.tiles.covered(this.m.axes, this.m.at, this.window, this.level) === 0, p = this.hover ?? this.m.point?.x;
    c.dataset.done = done ? "1" : "";
    if (done) this.m.find();
    c.setAttribute("aria-label", `${this.m.names[0]}: items ${this.text()}`);
    if (p != null) {
      const text = this.reading.textContent = this.say(p), it = this.tiles.item(this.m.axes, this.m.at, 0, p);
      if (it) this.teller.now(p, text);
      const x = this.frame.X(it?.x ?? p);
      g.fillStyle = getComputedStyle(c).color;
      g.fillRect(Math.round(x), this.frame.a.t, 1, this.frame.a.b - this.frame.a.t);
    }
  }

  say(p) {
    const it = this.tiles.item(this.m.axes, this.m.at, 0, p);
    return it ? `[${it.x}] = ${it.tile.items.text(it.index)}${this.m.lies([it.x])}${it.tile.dx > 1 ? `   (drawn with the step ${it.tile.dx})` : ""}` : `[${p}] …`;
  }

  itemAt(e) {
    const b = this.canvas.getBoundingClientRect(), { a } = this.frame, f = (e.clientX - b.left - a.l) / (a.r - a.l);
    return this.from + f * (this.to - 1 - this.from);
  }

  step(by) {
    const p = Math.min(Math.max((this.m.point?.x ?? Math.floor((this.from + this.to) / 2)) + by * 2 ** this.level[1], 0), this.size - 1);
    this.m.point = { y: 0, x: p };
    this.hover = null;
    this.m.save();
    if (p < this.from || p >= this.to) this.pan(by / 2);
    this.teller.move(p);
    this.draw();
  }

  hands() {
    const c = this.canvas;
    let grab = null;
    c.addEventListener("wheel", (e) => { e.preventDefault(); if (this.frame) this.zoom(Math.exp(-Math.min(Math.max(e.deltaY, -150), 150) * 0.003), this.itemAt(e), true); }, { passive: false });
    c.addEventListener("pointerdown", (e) => { if (e.button === 0) { c.setPointerCapture(e.pointerId); grab = { x: e.clientX, from: this.from, to: this.to }; } });
    c.addEventListener("pointermove", (e) => {
      if (!this.frame) return;
      if (grab) { const d = ((grab.x - e.clientX) / (this.frame.a.r - this.frame.a.l)) * (grab.to - grab.from); this.show(grab.from + d, grab.to + d, true); return; }
      this.hover = Math.min(Math.max(Math.round(this.itemAt(e)), 0), this.size - 1);
      this.draw();
    });
    for (const n of ["pointerup", "pointercancel"]) c.addEventListener(n, () => { grab = null; });
    c.addEventListener("pointerleave", () => { this.hover = null; this.draw(); });
    c.addEventListener("dblclick", () => this.show(0, this.size));
  }
}
