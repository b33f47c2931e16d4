// What an array view shows: axes, place, window, colours, point. The link holds it.

import { members, kindOf } from "./npy.js";
import { maps } from "./colors.js";

const clamp = (v, lo, hi) => Math.min(Math.max(v, lo), hi);
const ints = (text) => (text ?? "").split(",").map((s) => (/^\d+$/.test(s) ? Number(s) : NaN));
const numbers = (text, n) => { const v = (text ?? "").split(",").map(Number); return v.length === n && v.every(Number.isFinite) ? v : null; };

export class Model {
  constructor(ctx) {
    const { info, state } = ctx;
    this.ctx = ctx;
    this.shape = info.shape;
    this.names = info.dims ?? info.shape.map((_, i) => `axis ${i}`);
    this.watchers = new Set();
    this.coords = []; // of each axis, the text of an index; see coords.js
    const n = this.shape.length;
    this.members = members(info.dtype)?.filter((m) => kindOf(m.descr)) ?? null;
    this.member = this.members?.find((m) => m.name === state.field) ?? this.members?.[0] ?? null;
    this.chosen = clamp(ints(state.of)[0] || 0, 0, this.inner - 1);
    const ax = ints(state.ax);
    this.axes = n > 1 ? (ax.length === 2 && ax[0] !== ax[1] && ax.every((a) => a < n) ? ax : [n - 2, n - 1]) : [-1, 0];
    const at = ints(state.i);
    this.at = this.shape.map((size, i) => clamp(at[i] || 0, 0, Math.max(size - 1, 0)));
    this.map = maps.includes(state.map) ? state.map : "viridis";
    const fixed = numbers(state.range, 2);
    this.range = { lo: fixed?.[0] ?? NaN, hi: fixed?.[1] ?? NaN, fixed: Boolean(fixed) };
    const v = numbers(state.view, 4);
    this.view = v && v[2] > 0 && v[3] > 0 ? { x: v[0], y: v[1], kx: v[2], ky: v[3] } : null; // null: all of it
    const [rows, cols] = this.size, win = ints(state.win), fit = ([a, b], size) => a < b && b <= size;
    // win is a part that a link chose: all of it is in sight until the view is moved.
    this.win = this.view || !(n > 1 ? win.length === 4 && fit(win, rows) && fit(win.slice(2), cols) : win.length === 2 && fit(win, cols)) ? null
      : n > 1 ? { y0: win[0], y1: win[1], x0: win[2], x1: win[3] } : { y0: 0, y1: 1, x0: win[0], x1: win[1] };
    this.stretched = state.stretch ? state.stretch === "1" : null; // null: if the plane is long
    const p = numbers(state.point, 2);
    this.point = p ? { y: clamp(p[0], 0, rows - 1), x: clamp(p[1], 0, cols - 1) } : null;
    this.profile = /^(line|\d+)$/.test(state.profile ?? "") ? state.profile : "";
    const l = numbers(state.line, 4);
    this.line = l ? { x0: l[0], y0: l[1], x1: l[2], y1: l[3] } : null;
    this.moved = null; // {axis, by}: the last step
    this.hasty = false; // a slider is on the move
  }

  // inner is the number of numbers of a member at each place.
  get inner() { return this.member?.shape.reduce((a, b) => a * b, 1) ?? 1; }
  get dtype() { return this.member ? this.member.descr : this.ctx.info.dtype; }
  get size() { return this.axes.map((a) => (a < 0 ? 1 : this.shape[a])); }
  get stretch() { const [rows, cols] = this.size; return this.stretched ?? Math.max(rows / cols, cols / rows) > 12; }
  // others are the axes with a slider.
  get others() { return this.shape.map((_, i) => i).filter((i) => !this.axes.includes(i) && this.shape[i] > 1); }

  on(fn) { this.watchers.add(fn); return () => this.watchers.delete(fn); }

  // change tells all what kind of change there was: "plane" (axes, place, member), "view",
  // "colors", "range", "point", "profile".
  change(kind) {
    for (const fn of this.watchers) fn(kind);
    if (kind !== "hover") this.save();
  }

  save() {
    const n = this.shape.length, v = this.view, round = (x) => Number(x.toPrecision(7));
    this.ctx.setState({
      ax: n > 1 && String(this.axes) !== `${n - 2},${n - 1}` ? this.axes.join(",") : null,
      i: this.at.some((x) => x) ? this.at.join(",") : null,
      map: this.map === "viridis" ? null : this.map,
      range: this.range.fixed ? `${this.range.lo},${this.range.hi}` : null,
      view: v ? [v.x, v.y, v.kx, v.ky].map(round).join(",") : null,
      win: !v && this.win ? (n > 1 ? [this.win.y0, this.win.y1] : []).concat(this.win.x0, this.win.x1).join(",") : null,
      stretch: this.stretched == null ? null : this.stretched ? "1" : "0",
      point: this.point ? `${this.point.y},${this.point.x}` : null,
      profile: this.profile || null,
      line: this.profile === "line" && this.line ? [this.line.x0, this.line.y0, this.line.x1, this.line.y1].map((x) => Math.round(x * 10) / 10).join(",") : null,
      field: this.member && this.member !== this.members[0] ? this.member.name : null,
      of: this.chosen ? this.chosen : null,
    });
  }

  // go moves to an index of an axis.
  go(axis, index, hasty = false) {
    const to = clamp(Math.trunc(index) || 0, 0, this.shape[axis] - 1);
    if (to === this.at[axis] && hasty === this.hasty) return;
    if (to !== this.at[axis]) this.moved = { axis, by: Math.sign(to - this.at[axis]) };
    this.at[axis] = to;
    this.hasty = hasty;
    this.change("plane");
  }

  // setAxes shows other axes, from the start of the one that was not shown before.
  setAxes(down, across) {
    if (down === across) { [down, across] = [this.axes[1], this.axes[0]]; }
    this.axes = [down, across];
    this.view = this.win = this.point = this.line = null;
    this.moved = null;
    this.change("plane");
  }

  // text is the slice of the window, for a link elsewhere.
  text(win, level = [0, 0]) {
    const part = (a, b, i, l) => (a === 0 && b === this.shape[i] && l === 0 ? ":" : `${a}:${b}${l ? `:${2 ** l}` : ""}`);
    return this.at.map((n, i) => (i === this.axes[1] ? part(win.x0, win.x1, i, level[1]) : i === this.axes[0] ? part(win.y0, win.y1, i, level[0]) : n)).join(",");
  }

  // find looks for coordinates, once.
  async find() {
    if (this.sought || !this.ctx.info.dims) return;
    this.sought = true;
    const { load } = await import("./coords.js");
    await load(this.ctx, (axis, text) => { this.coords[axis] = text; this.change("hover"); });
  }

  // lies says where an item lies, as far as that is known: time 2025-03-01, lat 48.5
  lies(index) {
    const list = index.map((n, axis) => this.coords[axis] && `${this.names[axis]} ${this.coords[axis](n)}`).filter(Boolean);
    return list.length ? `   at ${list.join(", ")}` : "";
  }

  // coordinates of an item of the plane, in the order of the axes.
  coordinates(y, x) { return this.at.map((n, i) => (i === this.axes[1] ? x : i === this.axes[0] ? y : n)); }
}
