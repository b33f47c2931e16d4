// A panel of the plot: axes by uPlot, and in it for each channel the band from the least
// to the greatest sample of each column of pixels, the line of the means, and samples as
// dots where they are that far apart.

import { color, short } from "./dom.js";
import { ticks } from "./seriestime.js";

export const axisWidth = 62, edge = 24; // pixels left and right of the plot
const axisHeight = 40, dotApart = 7; // pixels between samples that have dots
const spike = 6; // pixels by which a column that stands out is drawn in full ink

let library = null;

// load fetches uPlot, which is a script of its own.
export function load() {
  library ??= new Promise((good, bad) => {
    const s = document.createElement("script"), css = document.createElement("link");
    css.rel = "stylesheet";
    css.href = new URL("./vendor/uPlot/uPlot.min.css", import.meta.url).href;
    s.src = new URL("./vendor/uPlot/uPlot.iife.min.js", import.meta.url).href;
    s.onload = () => good(window.uPlot);
    s.onerror = () => { library = null; bad(new Error("the script of the plot did not load")); };
    document.head.append(css, s);
  });
  return library;
}

// A Panel draws lines: [{strip, channel, ink}] of which each is shown or not. window()
// gives the times at its edges.
export class Panel {
  constructor(uPlot, box, { lines, last, height, origin, window, named }) {
    Object.assign(this, { lines, last, box, window, kept: null, robust: false, beyond: false, drawn: 0, range: [0, 1] });
    const dim = color("--dim"), grid = { stroke: color("--line"), width: 1 }, font = "12px system-ui, sans-serif";
    const axis = { stroke: dim, grid, ticks: { ...grid, size: 5 }, font, gap: 4 };
    let list = [];
    const time = { ...axis, side: 2, size: last ? axisHeight : 0, ticks: { ...grid, size: 5, show: last },
      splits: (u) => { const [a, b] = this.window(); list = ticks(a, b, u.over.clientWidth, origin); return list.map((t) => t.t); },
      values: (u, at) => (last ? at.map((t, i) => (list[i].below ? `${list[i].text}\n${list[i].below}` : list[i].text)) : at.map(() => "")),
      filter: (u, at) => at };
    this.colors = lines.map((l) => ({ line: color(l.ink), band: color(l.ink), dot: color(l.ink) }));
    this.plot = new uPlot({
      width: Math.max(box.clientWidth, 120), height, legend: { show: false }, padding: [named ? 26 : 10, edge, last ? 0 : 4, 0], ms: 1,
      cursor: { show: false }, select: { show: false },
      scales: { x: { time: false, range: () => this.window() }, y: { range: () => this.range } },
      axes: [time, { ...axis, size: axisWidth, space: 34, values: (u, at) => at.map((v) => short(v, 6)) }],
      series: [{}, ...lines.map((l, i) => ({ stroke: this.colors[i].line, fill: fade(this.colors[i].band, 0.32), width: 1.1, points: { show: false }, paths: () => this.paths(i) }))],
      hooks: { drawSeries: [(u, i) => this.dots(u, i - 1)] },
    }, [[0, 1], ...lines.map(() => [0, 0])], box);
  }

  destroy() { this.plot.destroy(); }
  size(width, height) { this.plot.setSize({ width: Math.max(width, 120), height }); }

  // draw draws what the strips have.
  draw() {
    this.scale();
    const [a, b] = this.window();
    this.plot.batch(() => {
      this.lines.forEach((l, i) => { if (this.plot.series[i + 1].show !== l.shown) this.plot.setSeries(i + 1, { show: l.shown }); });
      this.plot.setScale("x", { min: a, max: b });
      this.plot.setScale("y", { min: this.range[0], max: this.range[1] });
    });
    this.drawn++;
  }

  // scale chooses the range of values: of all that is in sight, or of all but the least
  // and the greatest hundredth of the columns.
  scale() {
    if (this.kept) { this.range = this.kept; return; }
    let lo = Infinity, hi = -Infinity;
    const [a, b] = this.window(), lows = [], highs = [];
    for (const { strip: s, channel: c, shown } of this.lines) {
      if (!shown) continue;
      const from = a * s.track.rate, to = b * s.track.rate;
      for (let i = 0; i < s.n; i++) {
        if (s.b[i] < from || s.a[i] > to) continue;
        const l = s.lo[c][i], h = s.hi[c][i];
        if (this.robust) { if (Number.isFinite(l)) lows.push(l); if (Number.isFinite(h)) highs.push(h); }
        if (l < lo && l !== -Infinity) lo = l;
        if (h > hi && h !== Infinity) hi = h;
      }
    }
    if (!(lo <= hi)) { if (!(this.range[1] > this.range[0])) this.range = [0, 1]; return; }
    this.beyond = false;
    if (this.robust && lows.length > 20) {
      const order = (x, y) => x - y, cut = Math.floor(lows.length / 100);
      lows.sort(order); highs.sort(order);
      const l = lows[cut], h = highs[highs.length - 1 - cut];
      this.beyond = l > lo || h < hi;
      [lo, hi] = [l, h];
    }
    const room = hi > lo ? (hi - lo) * 0.06 : Math.abs(hi) * 0.05 || 1;
    this.range = [lo - room, hi + room];
  }

  // paths are the band and the line of a channel. Columns of pixels have the least and the
  // greatest value of all points that touch them, so that no spike is too thin to be seen.
  paths(i) {
    const { strip: s, channel: c } = this.lines[i], u = this.plot, stroke = new Path2D(), fill = new Path2D();
    const { left, width, top, height } = u.bbox, [t0, t1] = this.window(), rate = s.track.rate;
    const x0 = t0 * rate, k = width / ((t1 - t0) * rate), [y0, y1] = this.range, ky = height / (y1 - y0);
    const X = (o) => left + (o - x0) * k, Y = (v) => top + height - (v - y0) * ky;
    const w = Math.ceil(width) + 2, low = new Float64Array(w).fill(Infinity), high = new Float64Array(w).fill(-Infinity);
    const least = 1 / k; // offsets of a pixel
    let pen = false;
    for (let p = 0; p < s.n; p++) {
      const l = s.lo[c][p], h = s.hi[c][p], m = s.mean[c][p];
      if (!(l <= h)) { pen = false; continue; }
      const single = s.count[p] === 1, from = Math.floor(X(s.a[p]) - left), end = single ? from : Math.ceil(X(s.b[p] + 1) - left) - 1;
      const lp = Math.max(l, y0 - (y1 - y0) * 8), hp = Math.min(h, y1 + (y1 - y0) * 8); // beyond the scale, and infinite ones
      for (let x = Math.max(0, from), e = Math.min(w - 1, Math.max(from, end)); x <= e; x++) { if (lp < low[x]) low[x] = lp; if (hp > high[x]) high[x] = hp; }
      if (!Number.isFinite(m)) { pen = false; continue; }
      const x = single ? X(s.a[p]) : (X(s.a[p]) + X(s.b[p] + 1)) / 2, y = Y(Math.min(Math.max(m, y0 - (y1 - y0) * 8), y1 + (y1 - y0) * 8));
      if (pen && !s.apart(p, least)) stroke.lineTo(x, y); else { stroke.moveTo(x, y); if (!single) stroke.lineTo(x + 0.01, y); }
      pen = true;
    }
    band(fill, low, high, Y, left);
    this.lines[i].spikes = spikes(low, high, Y, left);
    return { stroke, fill, clip: null, band: null, gaps: null, flags: 0 };
  }

  // dots draws samples that are far enough from each other, and those that stand alone;
  // and spikes, which would be faint in the colour of the band.
  dots(u, i) {
    const line = this.lines[i];
    if (!line?.shown) return;
    const { strip: s, channel: c } = line, [t0, t1] = this.window(), rate = s.track.rate, k = u.bbox.width / ((t1 - t0) * rate);
    const ctx = u.ctx, near = dotApart * devicePixelRatio / k;
    ctx.save();
    ctx.beginPath();
    ctx.rect(u.bbox.left - 4, u.bbox.top - 4, u.bbox.width + 8, u.bbox.height + 8);
    ctx.clip();
    ctx.fillStyle = this.colors[i].dot;
    if (line.spikes) ctx.fill(line.spikes);
    ctx.beginPath();
    let n = 0;
    for (let p = 0; p < s.n; p++) {
      if (s.count[p] !== 1 || !Number.isFinite(s.mean[c][p])) continue;
      const before = p > 0 && s.a[p] - s.b[p - 1] < near, after = p + 1 < s.n && s.a[p + 1] - s.b[p] < near;
      if (before || after) continue;
      const x = u.bbox.left + (s.a[p] / rate - t0) / (t1 - t0) * u.bbox.width, y = u.valToPos(s.mean[c][p], "y", true), r = 2.6 * devicePixelRatio;
      ctx.moveTo(x + r, y);
      ctx.arc(x, y, r, 0, 2 * Math.PI);
      n++;
    }
    if (n) ctx.fill();
    ctx.restore();
    line.dots = n;
  }
}

// band outlines columns of pixels that lie side by side.
function band(path, low, high, Y, left) {
  for (let x = 0; x < low.length; x++) {
    if (!(low[x] <= high[x])) continue;
    let e = x;
    while (e + 1 < low.length && low[e + 1] <= high[e + 1]) e++;
    const top = (i) => { const y = Y(high[i]), b = Y(low[i]); return b - y < 1 ? (y + b) / 2 - 0.5 : y; };
    const bottom = (i) => { const y = Y(high[i]), b = Y(low[i]); return b - y < 1 ? (y + b) / 2 + 0.5 : b; };
    path.moveTo(left + x, top(x));
    for (let i = x; i <= e; i++) { path.lineTo(left + i, top(i)); path.lineTo(left + i + 1, top(i)); }
    for (let i = e; i >= x; i--) { path.lineTo(left + i + 1, bottom(i)); path.lineTo(left + i, bottom(i)); }
    path.closePath();
    x = e;
  }
}

// spikes are the ends of columns that reach beyond those on both sides.
function spikes(low, high, Y, left) {
  const path = new Path2D(), far = spike * devicePixelRatio;
  let n = 0;
  for (let x = 0; x < low.length; x++) {
    if (!(low[x] <= high[x])) continue;
    const up = Math.max(side(high, x, -1, Math.max), side(high, x, 1, Math.max)), down = Math.min(side(low, x, -1, Math.min), side(low, x, 1, Math.min));
    const enough = Math.max(far, (Y(down) - Y(up)) * 0.6); // of noise, all columns stand out a little
    if (Number.isFinite(up) && Y(up) - Y(high[x]) > enough) { path.rect(left + x, Y(high[x]), 1, Y(up) - Y(high[x])); n++; }
    if (Number.isFinite(down) && Y(low[x]) - Y(down) > enough) { path.rect(left + x, Y(down), 1, Y(low[x]) - Y(down)); n++; }
  }
  return n ? path : null;
}

// side is the outermost of three columns beside one, but not the next.
const side = (list, x, by, most) => [2, 3, 4].reduce((v, i) => { const w = list[x + by * i]; return Number.isFinite(w) ? (Number.isFinite(v) ? most(v, w) : w) : v; }, NaN);

// fade is an rgb(…) with an opacity.
const fade = (rgb, a) => rgb.replace(/^rgb\((.*)\)$/, `rgba($1, ${a})`);
