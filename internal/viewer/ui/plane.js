// A plane of an array on a canvas: drawing, gestures, what is asked for.

import { teller } from "./viewkit.js";
import { el, color, short, later } from "./dom.js";
import { paint } from "./colors.js";
import { sharp, ticks } from "./chart.js";

const margin = { l: 50, t: 8, r: 8, b: 24 };
const most = 96; // pixels of an item

export class PlaneView {
  constructor(box, model, tiles, hooks) {
    Object.assign(this, { box, m: model, tiles, hooks, stats: { draws: 0, drawMs: 0 } });
    this.canvas = el("canvas", { tabIndex: 0, role: "img", class: "plane", "aria-describedby": "reading" });
    this.reading = el("p", { class: "readout", id: "reading" });
    box.append(this.canvas, this.reading);
    this.teller = teller(model.ctx.announce);
    this.shown = null; // {axes, at}: the plane in the picture
    this.pointers = new Map();
    this.asked = 0;
    this.askLater = later(90, () => this.ask());
    this.settleLater = later(60, () => this.settle());
    this.slow = later(130, () => { if (this.m.hasty) { this.m.hasty = false; this.ask(); } });
    this.resize = new ResizeObserver(() => { this.room(); this.ask(); this.draw(); });
    this.resize.observe(this.canvas);
    this.hands();
  }

  destroy() { this.gone = true; this.resize.disconnect(); for (const l of [this.askLater, this.settleLater, this.slow]) l.stop(); }

  // ---- the window

  get plot() { return { w: Math.max(40, this.canvas.clientWidth - margin.l - margin.r), h: Math.max(40, this.canvas.clientHeight - margin.t - margin.b) }; }

  // room makes the canvas as high as the picture needs, within what the style sheet gives.
  room() {
    const c = this.canvas, [rows, cols] = this.m.size;
    c.style.height = "";
    const most = c.clientHeight, need = (this.plot.w * rows) / cols + margin.t + margin.b;
    if (!this.m.stretch && need < most) c.style.height = `${Math.max(Math.round(need), 200)}px`;
  }

  // whole is the view of all, or of a part.
  whole({ x0, y0, x1, y1 } = { x0: 0, y0: 0, x1: this.m.size[1], y1: this.m.size[0] }) {
    const { w, h } = this.plot;
    let kx = w / (x1 - x0), ky = h / (y1 - y0);
    if (!this.m.stretch) kx = ky = Math.min(kx, ky);
    return { x: (x0 + x1 - w / kx) / 2, y: (y0 + y1 - h / ky) / 2, kx, ky };
  }

  get view() { return this.m.view ?? this.whole(this.m.win ?? undefined); }

  // window is what is in sight, in whole items.
  window(v = this.view) {
    const [rows, cols] = this.m.size, { w, h } = this.plot;
    return { x0: Math.max(0, Math.floor(v.x)), y0: Math.max(0, Math.floor(v.y)), x1: Math.min(cols, Math.ceil(v.x + w / v.kx)), y1: Math.min(rows, Math.ceil(v.y + h / v.ky)) };
  }

  // level is that of about an item a pixel.
  level(v = this.view) {
    const of = (k, size) => Math.max(0, Math.min(Math.floor(Math.log2(1 / k) + 0.4), Math.floor(Math.log2(Math.max(size - 1, 1)))));
    const [rows, cols] = this.m.size;
    return [of(v.ky, rows), of(v.kx, cols)];
  }

  // move shows another part; gesture: more moves will follow at once.
  move(v, gesture = false) {
    const all = this.whole(), [rows, cols] = this.m.size, { w, h } = this.plot;
    const bound = (k, least) => Math.min(Math.max(k, least / 2), Math.max(most, least));
    const kx = bound(v.kx, all.kx), ky = bound(v.ky, all.ky);
    const hold = (p, k, size, room) => Math.min(Math.max(p, Math.min(-room / k / 2, size - room / k)), Math.max(size - room / k / 2, 0));
    this.m.win = null;
    this.m.view = { x: hold(v.x, kx, cols, w), y: hold(v.y, ky, rows, h), kx, ky };
    this.change("view", gesture);
  }

  zoom(factor, px = this.plot.w / 2, py = this.plot.h / 2, gesture = false) {
    const v = this.view, all = this.whole();
    const f = Math.min(Math.max(factor, Math.max(all.kx / 2 / v.kx, all.ky / 2 / v.ky)), Math.max(most, all.kx) / v.kx);
    this.move({ kx: v.kx * f, ky: v.ky * f, x: v.x + (px / v.kx) * (1 - 1 / f), y: v.y + (py / v.ky) * (1 - 1 / f) }, gesture);
  }

  pan(px, py, gesture = false) { const v = this.view; this.move({ ...v, x: v.x + px / v.kx, y: v.y + py / v.ky }, gesture); }

  fit() { this.m.view = this.m.win = null; this.change("view"); }

  change(kind, gesture = false) {
    this.gesture = gesture;
    this.m.change(kind);
  }

  // ---- what is asked for

  // update follows a change of the model.
  update(kind) {
    if (kind === "plane") { this.hover = null; if (this.m.hasty) this.slow(); }
    if (kind === "plane" || kind === "view") this.room();
    if (kind === "plane" || kind === "view") {
      const idle = performance.now() - this.asked > 250;
      if (!this.gesture || idle) { this.askLater.stop(); this.ask(); } else this.askLater();
      this.gesture = false;
    }
    this.draw();
  }

  ask() {
    if (this.gone) return;
    if (this.waits = this.m.hasty && this.tiles.lane.busy) return; // what is on its way is shown meanwhile
    this.asked = performance.now();
    const m = this.m, win = this.window();
    if (win.x1 > win.x0 && win.y1 > win.y0) this.tiles.want(m.axes, m.at, win, this.level(), m.hasty);
    this.settleLater();
    this.draw();
  }

  // idle: nothing is on its way.
  idle() { if (this.waits) this.ask(); else this.ahead(); }

  // ahead asks for the plane that comes next, if one step leads to another.
  ahead() {
    const m = this.m;
    if (this.gone || !m.moved || m.hasty || this.tiles.missing(m.axes, m.at, this.window(), this.level()).length) return;
    const at = m.at.slice();
    at[m.moved.axis] += m.moved.by;
    if (at[m.moved.axis] >= 0 && at[m.moved.axis] < m.shape[m.moved.axis]) this.tiles.fetchAhead(m.axes, at, this.window(), this.level());
  }

  // arrived: tiles are there, of a place. While a slider is on the move, that may be one that
  // was passed; it is shown all the same.
  arrived(at) {
    const m = this.m;
    if (m.hasty && this.tiles.covered(m.axes, at, this.window(), this.level()) >= 0) this.shown = { axes: m.axes.slice(), at };
    this.settleLater.stop();
    this.settle();
    this.draw();
  }

  // settle finds the range of what is in sight, once that is there.
  settle() {
    if (this.gone) return;
    const m = this.m;
    const depth = this.tiles.covered(m.axes, m.at, this.window(), this.level());
    if (depth >= 0) this.hooks.settled(this.tiles.inSight(m.axes, m.at, this.window(), this.level()), depth === 0);
  }

  // ---- the picture

  draw() { if (!this.drawing) { this.drawing = requestAnimationFrame(() => { this.drawing = 0; if (!this.gone) this.drawNow(); }); } }

  drawNow() {
    const begun = performance.now(), m = this.m, v = this.view, win = this.window(), level = this.level();
    const depth = this.tiles.covered(m.axes, m.at, win, level);
    if (depth >= 0 || !this.shown || String(this.shown.axes) !== String(m.axes) || !this.tiles.planes.has(this.tiles.id(this.shown.axes, this.shown.at))) this.shown = { axes: m.axes.slice(), at: m.at.slice() };
    const c = this.canvas, g = sharp(c, c.clientWidth, c.clientHeight), r = devicePixelRatio || 1, [rows, cols] = m.size, { w, h } = this.plot;
    const px = (x) => Math.round(((x - v.x) * v.kx + margin.l) * r) / r, py = (y) => Math.round(((y - v.y) * v.ky + margin.t) * r) / r;
    g.save();
    g.beginPath();
    g.rect(margin.l, margin.t, w, h);
    g.clip();
    g.beginPath();
    g.rect(px(0), py(0), px(cols) - px(0), py(rows) - py(0));
    g.fillStyle = color("--soft");
    g.fill();
    g.clip();
    g.imageSmoothingEnabled = false;
    if (Number.isFinite(m.range.lo)) {
      for (const t of this.tiles.inSight(this.shown.axes, this.shown.at, win, level)) {
        const x = px(t.x), y = py(t.y);
        g.drawImage(this.painted(t), 0, 0, t.w, t.h, x, y, px(t.x + t.w * t.dx) - x, py(t.y + t.h * t.dy) - y);
      }
    }
    this.marks(g, px, py, v);
    g.restore();
    this.rulers(g, px, py, win);
    const same = String(this.shown.at) === String(m.at);
    c.dataset.done = depth === 0 && same && Number.isFinite(m.range.lo) ? "1" : "";
    c.setAttribute("aria-label", `${m.names[m.axes[0]]} down, ${m.names[m.axes[1]]} across: items ${m.text(win)}`);
    this.read();
    this.stats.draws++;
    this.stats.drawMs += performance.now() - begun;
  }

  // painted is a tile in the colours of now.
  painted(t) {
    const { range: { lo, hi }, map } = this.m, stamp = `${lo},${hi},${map},${t.off}`;
    if (t.stamp === stamp) return t.canvas;
    t.canvas ??= el("canvas", { width: t.w, height: t.h });
    const image = new ImageData(t.w, t.h);
    paint(new Uint32Array(image.data.buffer), t, t.h, t.w, { lo, hi, map });
    t.canvas.getContext("2d").putImageData(image, 0, 0);
    t.stamp = stamp;
    return t.canvas;
  }

  // marks draws the point and the line of the profile.
  marks(g, px, py, v) {
    const m = this.m, cross = (draw) => { g.strokeStyle = "#000"; g.lineWidth = 3.5; draw(); g.strokeStyle = "#fff"; g.lineWidth = 1.5; draw(); };
    if (m.win) cross(() => { g.beginPath(); g.rect(px(m.win.x0), py(m.win.y0), px(m.win.x1) - px(m.win.x0), py(m.win.y1) - py(m.win.y0)); g.stroke(); });
    if (m.point) {
      const x = px(m.point.x + 0.5), y = py(m.point.y + 0.5), s = Math.max(6, Math.min(v.kx, 40) / 2);
      cross(() => { g.beginPath(); g.rect(x - s, y - s, 2 * s, 2 * s); g.stroke(); });
    }
    if (m.profile === "line" && m.line) cross(() => { g.beginPath(); g.moveTo(px(m.line.x0), py(m.line.y0)); g.lineTo(px(m.line.x1), py(m.line.y1)); g.stroke(); });
    const k = m.profile === "" || m.profile === "line" || !m.point ? -1 : m.axes.indexOf(Number(m.profile));
    if (k === 0) cross(() => { g.beginPath(); g.moveTo(px(m.point.x + 0.5), py(0)); g.lineTo(px(m.point.x + 0.5), py(m.size[0])); g.stroke(); });
    if (k === 1) cross(() => { g.beginPath(); g.moveTo(px(0), py(m.point.y + 0.5)); g.lineTo(px(m.size[1]), py(m.point.y + 0.5)); g.stroke(); });
  }

  // rulers draws the indices along the edges.
  rulers(g, px, py, win) {
    const { w, h } = this.plot, m = this.m;
    g.fillStyle = color("--dim");
    g.strokeStyle = color("--line");
    g.textBaseline = "top";
    g.textAlign = "center";
    const bottom = Math.min(margin.t + h, py(m.size[0])), left = Math.max(margin.l, px(0));
    for (const t of ticks(win.x0, win.x1 - 1, w / 90, true)) {
      const x = px(t + 0.5);
      if (x < margin.l || x > margin.l + w) continue;
      g.fillRect(Math.round(x), bottom + 1, 1, 4);
      g.fillText(short(t, 12), x, bottom + 8);
    }
    g.textAlign = "right";
    g.textBaseline = "middle";
    for (const t of ticks(win.y0, win.y1 - 1, h / 60, true)) {
      const y = py(t + 0.5);
      if (y < margin.t || y > margin.t + h) continue;
      g.fillRect(left - 5, Math.round(y), 4, 1);
      g.fillText(short(t, 12), left - 8, y);
    }
  }

  // ---- the value below the pointer, or at the point

  read() {
    const m = this.m, p = this.hover ?? m.point;
    this.reading.textContent = p ? this.say(p) : "Point at the picture to read a value.";
    this.tell();
  }

  // tell tells screen readers the value at the point that keys have moved.
  tell(moved = false) {
    const m = this.m, p = m.point, place = p && String([m.axes, m.at, p.y, p.x]);
    if (moved) this.teller.move(place);
    if (p && this.tiles.item(m.axes, m.at, p.y, p.x)) this.teller.now(place, this.say(p));
  }

  // say is an item as text: NumPy's index, and the value as it is stored.
  say({ y, x }) {
    const m = this.m, it = this.tiles.item(m.axes, m.at, y, x);
    const index = m.coordinates(it?.y ?? y, it?.x ?? x), where = `[${index.join(", ")}]`;
    if (!it) return `${where} …${m.lies(index)}`;
    const { dy, dx } = it.tile, step = dy > 1 || dx > 1 ? `   (drawn with the step ${dy === dx ? dx : `${dy}, ${dx}`})` : "";
    return `${where} = ${it.tile.items.text(it.index)}${m.lies(index)}${step}`;
  }

  // ---- hands

  // itemAt is the item below a place of the canvas, or null.
  itemAt(e, free = false) {
    const b = this.canvas.getBoundingClientRect(), v = this.view, [rows, cols] = this.m.size;
    const x = (e.clientX - b.left - margin.l) / v.kx + v.x, y = (e.clientY - b.top - margin.t) / v.ky + v.y;
    if (free) return { x, y };
    return x >= 0 && y >= 0 && x < cols && y < rows ? { x: Math.floor(x), y: Math.floor(y) } : null;
  }

  hands() {
    const c = this.canvas, on = (name, fn, o) => c.addEventListener(name, fn, o);
    on("wheel", (e) => {
      e.preventDefault();
      const b = c.getBoundingClientRect(), d = Math.min(Math.max(e.deltaY * (e.deltaMode ? 30 : 1), -150), 150);
      this.zoom(Math.exp(-d * 0.003), e.clientX - b.left - margin.l, e.clientY - b.top - margin.t, true);
    }, { passive: false });
    on("pointerdown", (e) => this.down(e));
    on("pointermove", (e) => this.motion(e));
    for (const n of ["pointerup", "pointercancel"]) on(n, (e) => this.up(e));
    on("pointerleave", () => { this.hover = null; this.read(); });
    on("dblclick", () => this.fit());
  }

  down(e) {
    if (e.button > 0) return;
    this.canvas.setPointerCapture(e.pointerId);
    this.pointers.set(e.pointerId, e);
    const free = this.itemAt(e, true);
    this.grab = { x: e.clientX, y: e.clientY, view: this.view, far: false, line: e.shiftKey || this.drawLine, from: free };
  }

  motion(e) {
    const g = this.grab;
    if (!g || !this.pointers.has(e.pointerId)) { this.hover = this.itemAt(e); this.read(); return; }
    const before = [...this.pointers.values()];
    this.pointers.set(e.pointerId, e);
    if (before.length === 2) { this.pinch(before, [...this.pointers.values()]); g.far = true; return; }
    g.far ||= Math.hypot(e.clientX - g.x, e.clientY - g.y) > 4;
    if (!g.far) return;
    if (g.line) {
      const to = this.itemAt(e, true);
      Object.assign(this.m, { profile: "line", line: { x0: g.from.x, y0: g.from.y, x1: to.x, y1: to.y } });
      this.m.change("profile");
      return;
    }
    this.canvas.classList.add("held");
    this.hover = null;
    this.move({ ...g.view, x: g.view.x - (e.clientX - g.x) / g.view.kx, y: g.view.y - (e.clientY - g.y) / g.view.ky }, true);
  }

  pinch([a, b], [c, d]) {
    const was = Math.hypot(a.clientX - b.clientX, a.clientY - b.clientY), is = Math.hypot(c.clientX - d.clientX, c.clientY - d.clientY), r = this.canvas.getBoundingClientRect();
    const mid = (p, q) => [(p.clientX + q.clientX) / 2 - r.left - margin.l, (p.clientY + q.clientY) / 2 - r.top - margin.t];
    const [x0, y0] = mid(a, b), [x1, y1] = mid(c, d);
    this.zoom(is / Math.max(was, 1), x0, y0, true);
    this.pan(x0 - x1, y0 - y1, true);
  }

  up(e) {
    const g = this.grab;
    this.pointers.delete(e.pointerId);
    if (this.pointers.size) { const [rest] = this.pointers.values(); this.grab = { ...g, x: rest.clientX, y: rest.clientY, view: this.view }; return; }
    this.grab = null;
    this.canvas.classList.remove("held");
    if (!g || e.type === "pointercancel") return;
    if (!g.far) { this.setPoint(this.itemAt(e)); return; }
    this.askLater.now();
  }

  // setPoint marks an item, or none.
  setPoint(p) { this.m.point = p; this.hover = null; this.m.change("point"); this.read(); }

  // step moves the point by items, of those that are drawn.
  step(dy, dx) {
    const m = this.m, win = this.window(), [ly, lx] = this.level(), [rows, cols] = m.size;
    const p = m.point ?? { y: Math.floor((win.y0 + win.y1) / 2), x: Math.floor((win.x0 + win.x1) / 2) };
    const y = Math.min(Math.max(p.y + dy * 2 ** ly, 0), rows - 1), x = Math.min(Math.max(p.x + dx * 2 ** lx, 0), cols - 1);
    this.setPoint({ y, x });
    if (x < win.x0 || x >= win.x1 || y < win.y0 || y >= win.y1) this.pan((dx * this.plot.w) / 2, (dy * this.plot.h) / 2);
    this.tell(true);
  }

  // picture is what is in sight as a PNG, a pixel for each item that is drawn.
  picture() {
    const m = this.m, win = this.window(), level = this.level(), [dy, dx] = level.map((n) => 2 ** n);
    const x0 = Math.floor(win.x0 / dx), y0 = Math.floor(win.y0 / dy), c = el("canvas", { width: Math.ceil(win.x1 / dx) - x0, height: Math.ceil(win.y1 / dy) - y0 }), g = c.getContext("2d");
    g.imageSmoothingEnabled = false;
    for (const t of this.tiles.inSight(m.axes, m.at, win, level)) g.drawImage(this.painted(t), 0, 0, t.w, t.h, t.x / dx - x0, t.y / dy - y0, (t.w * t.dx) / dx, (t.h * t.dy) / dy);
    return new Promise((done) => c.toBlob(done, "image/png"));
  }
}
