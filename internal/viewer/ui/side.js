// Beside a plane: the range of the colours over a histogram of what is in sight, and a
// profile.

import { color, digits, el, field, short } from "./dom.js";
import { frame, histogram, line, sharp, span } from "./chart.js";

const samples = 16384, bars = 64;

// sample takes some of the numbers of tiles, evenly: at most about `samples`.
function sample(tiles) {
  const all = tiles.reduce((n, t) => n + t.h * t.w, 0), step = Math.max(1, Math.sqrt(all / samples)), out = [];
  let holes = 0;
  for (const t of tiles) {
    for (let y = 0; y < t.h; y += step) {
      for (let x = 0; x < t.w; x += step) {
        const v = t.items.number(t.off + Math.floor(y) * t.sy + Math.floor(x) * t.sx);
        if (v - v === 0) out.push(v); else holes++;
      }
    }
  }
  return { values: Float64Array.from(out).sort(), holes };
}

// robust is the range without the lowest and the highest hundredth.
function robust(values, map) {
  if (!values.length) return [0, 1];
  let lo = values[Math.floor((values.length - 1) * 0.01)], hi = values[Math.ceil((values.length - 1) * 0.99)];
  if (map === "blue-red" && lo < 0 && hi > 0) { hi = Math.max(-lo, hi); lo = -hi; } // white is nought
  if (lo === hi) { const d = Math.abs(lo) * 0.01 || 0.5; lo -= d; hi += d; }
  return [lo, hi];
}

export class Side {
  constructor(box, model, tiles, plane) {
    Object.assign(this, { m: model, tiles, plane, values: new Float64Array(0), holes: 0 });
    this.hist = el("canvas", { class: "hist", role: "img", "aria-label": "Histogram of what is in sight" });
    const number = (label) => el("input", { type: "number", step: "any", "aria-label": label, onchange: () => this.typed() });
    this.lo = number("Value of the lowest colour");
    this.hi = number("Value of the highest colour");
    this.auto = el("input", { type: "checkbox", checked: !model.range.fixed, onchange: () => { model.range.fixed = !this.auto.checked; if (this.auto.checked) this.find(); model.change("range"); } });
    this.note = el("small", {});
    box.append(el("section", { class: "panel" }, el("h2", {}, "Colours"), this.hist, el("div", { class: "ends" }, this.lo, this.hi),
      el("label", { class: "field", title: "Without the lowest and the highest hundredth of what is in sight" }, this.auto, el("span", {}, "follow what is in sight, 1–99 %")), this.note));
    const m = model;
    this.kind = el("select", { onchange: () => this.choose(this.kind.value) });
    this.chart = el("canvas", { class: "profile", role: "img", "aria-label": "Profile", onclick: (e) => this.jump(e) });
    this.said = el("small", {}, "");
    this.where = el("section", { class: "panel" }, el("h2", {}, "Profile"), field("along", this.kind), this.chart, this.said);
    this.fill();
    box.append(this.where);
    this.profile = null; // {xs, ys, text}
    this.resize = new ResizeObserver(() => { this.drawHistogram(); this.drawProfile(); });
    this.resize.observe(this.hist);
    this.resize.observe(this.chart);
    this.lane = m.ctx.api.lane("profile", 1);
  }

  destroy() { this.resize.disconnect(); this.lane.clear(); }

  fill() {
    const m = this.m;
    this.kind.replaceChildren(el("option", { value: "" }, "nothing"), ...m.shape.map((n, i) => (n > 1 ? el("option", { value: String(i) }, m.names[i]) : null)).filter(Boolean), el("option", { value: "line" }, "a line (shift and drag)"));
    this.kind.value = m.profile;
  }

  // ---- colours

  typed() {
    const r = this.m.range, lo = Number(this.lo.value), hi = Number(this.hi.value);
    if (this.lo.value === "" || this.hi.value === "" || !(lo < hi)) { this.showRange(); return; }
    Object.assign(r, { lo, hi, fixed: true });
    this.auto.checked = false;
    this.m.change("range");
  }

  showRange() { const { lo, hi } = this.m.range, n = digits(lo, hi) + 1; this.lo.value = short(lo, n); this.hi.value = short(hi, n); }

  // settled takes the tiles in sight, now that they are there.
  settled(tiles) {
    if (!tiles.length) return;
    ({ values: this.values, holes: this.holes } = sample(tiles));
    const before = `${this.m.range.lo},${this.m.range.hi}`;
    if (!this.m.range.fixed) this.find();
    if (before !== `${this.m.range.lo},${this.m.range.hi}`) this.plane.draw();
    this.showRange();
    this.drawHistogram();
    this.update("settled");
  }

  find() { [this.m.range.lo, this.m.range.hi] = robust(this.values, this.m.map); }

  drawHistogram() {
    const { lo, hi } = this.m.range, counts = new Array(bars).fill(0), v = this.values;
    if (!(lo < hi)) return;
    for (let i = 0; i < v.length; i++) counts[Math.min(bars - 1, Math.max(0, Math.floor(((v[i] - lo) / (hi - lo)) * bars)))]++;
    const w = this.hist.clientWidth, h = this.hist.clientHeight;
    histogram(sharp(this.hist, w, h), w, h, counts, this.m.map);
    const all = v.length + this.holes;
    this.note.textContent = this.holes ? `${short((this.holes / all) * 100, 2)} % are not finite, and transparent.` : "";
    this.hist.setAttribute("aria-label", v.length ? `Histogram of what is in sight: from ${short(v[0])} to ${short(v.at(-1))}, half of it below ${short(v[v.length >> 1])}` : "Nothing is in sight");
  }

  // ---- profile

  // choose shows a profile along an axis, through the point or the middle.
  choose(kind) {
    const m = this.m;
    m.profile = kind;
    if (kind !== "" && kind !== "line" && !m.point) { const w = this.plane.window(); m.point = { y: (w.y0 + w.y1) >> 1, x: (w.x0 + w.x1) >> 1 }; }
    if (kind === "line" && !m.line) { const w = this.plane.window(); m.line = { x0: w.x0, y0: w.y0, x1: w.x1, y1: w.y1 }; }
    m.change("profile");
  }

  // next goes on to the next kind of profile.
  next() {
    const kinds = [...this.kind.options].map((o) => o.value);
    this.choose(kinds[(kinds.indexOf(this.m.profile) + 1) % kinds.length]);
    this.m.ctx.announce(`Profile along ${this.kind.selectedOptions[0].textContent}`);
  }

  update(kind) {
    const m = this.m;
    if (kind === "colors") { if (!m.range.fixed) this.find(); this.showRange(); this.drawHistogram(); }
    if (kind === "range") { this.auto.checked = !m.range.fixed; this.showRange(); this.drawHistogram(); }
    if (!["plane", "point", "profile", "settled"].includes(kind)) return;
    if (this.kind.value !== m.profile) this.kind.value = m.profile;
    this.where.classList.toggle("open", m.profile !== "");
    if (m.profile === "") { this.profile = null; this.said.textContent = ""; this.lane.want([]); return; }
    if (m.profile === "line") { if (m.line) this.fromTiles(); return; }
    this.fromSource(Number(m.profile));
  }

  // fromTiles takes what is drawn along the line.
  fromTiles() {
    const m = this.m, l = m.line, n = Math.max(2, Math.min(1024, Math.ceil(Math.hypot(l.x1 - l.x0, l.y1 - l.y0)) + 1)), xs = [], ys = [], far = Math.hypot(l.x1 - l.x0, l.y1 - l.y0);
    for (let i = 0; i < n; i++) {
      const f = i / (n - 1), it = this.tiles.item(m.axes, m.at, l.y0 + (l.y1 - l.y0) * f, l.x0 + (l.x1 - l.x0) * f);
      xs.push(f * far);
      ys.push(it ? it.tile.items.number(it.index) : NaN);
    }
    const p = (y, x) => `${Math.floor(y)}, ${Math.floor(x)}`;
    this.set(xs, ys, `from ${p(l.y0, l.x0)} to ${p(l.y1, l.x1)}, of the items that are drawn`, false);
  }

  // fromSource asks for the items along an axis through the point: one request.
  fromSource(axis) {
    const m = this.m;
    if (!m.point) return;
    const n = m.shape[axis], step = 2 ** Math.max(0, Math.ceil(Math.log2(n / 4096))), at = m.coordinates(m.point.y, m.point.x);
    const text = at.map((v, i) => (i === axis ? `0:${n}${step > 1 ? `:${step}` : ""}` : v)).join(",");
    if (text === this.text && this.profile) { this.drawProfile(); return; }
    this.text = "";
    this.lane.want([{ address: this.tiles.url(text), as: "npy", done: (items) => {
      this.text = text;
      const k = this.tiles.inner, ys = Array.from({ length: Math.floor(items.size / k) }, (_, i) => items.number(i * k + this.tiles.chosen));
      this.set(ys.map((_, i) => i * step), ys, `${m.names[axis]}, at [${at.map((v, i) => (i === axis ? ":" : v)).join(", ")}]${step > 1 ? `, with the step ${step}` : ""}`, true);
    }, fail: (e) => m.ctx.fail(e) }]);
  }

  set(xs, ys, text, whole) {
    this.profile = { xs, ys, whole };
    this.said.textContent = text;
    const [lo, hi] = span(ys, 0);
    this.chart.setAttribute("aria-label", `Profile of ${ys.length} items: ${text}; from ${short(lo)} to ${short(hi)}`);
    this.drawProfile();
  }

  drawProfile() {
    if (!this.profile || !this.chart.clientWidth) return;
    const w = this.chart.clientWidth, h = this.chart.clientHeight, g = sharp(this.chart, w, h), { xs, ys, whole } = this.profile, [y0, y1] = span(ys);
    const f = this.frame = frame(g, w, h, { x0: xs[0], x1: xs.at(-1), y0, y1, wholeX: whole });
    const axis = Number(this.m.profile), here = this.m.axes[1] === axis ? this.m.point?.x : this.m.axes[0] === axis ? this.m.point?.y : this.m.at[axis];
    if (whole && here != null) { g.fillStyle = color("--edge"); g.fillRect(Math.round(f.X(here)), f.a.t, 1, f.a.b - f.a.t); }
    line(g, f, xs, ys);
  }

  // jump goes to the place of a profile that is clicked.
  jump(e) {
    if (!this.profile?.whole) return;
    const { a } = this.frame, x = (e.clientX - this.chart.getBoundingClientRect().left - a.l) / (a.r - a.l), m = this.m, axis = Number(m.profile), n = m.shape[axis];
    const to = Math.min(Math.max(Math.round(x * (n - 1)), 0), n - 1);
    if (!m.axes.includes(axis)) m.go(axis, to);
    else this.plane.setPoint(m.axes[1] === axis ? { y: m.point.y, x: to } : { y: to, x: m.point.x });
  }
}
