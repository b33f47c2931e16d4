// Small charts on a canvas: ticks, a line, a histogram.

import { color, digits, short } from "./dom.js";
import { table } from "./colors.js";

// ticks are about n even steps between two numbers; whole ones if asked for.
export function ticks(lo, hi, n, whole = false) {
  const raw = (hi - lo) / Math.max(n, 1), p = 10 ** Math.floor(Math.log10(raw || 1));
  let step = [1, 2, 5, 10].map((f) => f * p).find((s) => s >= raw) ?? p;
  if (whole) step = Math.max(1, Math.round(step));
  const out = [];
  for (let v = Math.ceil(lo / step) * step; v <= hi + step * 1e-9 && out.length < 100; v += step) out.push(Number(v.toPrecision(15)));
  return out;
}

// sharp makes a canvas as large as it is shown, in pixels of the screen, and returns its
// context with CSS pixels as units.
export function sharp(canvas, w, h) {
  const r = devicePixelRatio || 1, W = Math.max(1, Math.round(w * r)), H = Math.max(1, Math.round(h * r));
  if (canvas.width !== W || canvas.height !== H) { canvas.width = W; canvas.height = H; }
  const g = canvas.getContext("2d");
  g.setTransform(r, 0, 0, r, 0, 0);
  g.clearRect(0, 0, w, h);
  g.font = `11px ${getComputedStyle(document.body).fontFamily}`;
  return g;
}

// frame draws the axes of a chart and returns how numbers become pixels.
export function frame(g, w, h, { x0, x1, y0, y1, wholeX = false }) {
  const labels = ticks(y0, y1, Math.max(2, h / 36)), n = digits(y0, y1), left = 10 + Math.max(...labels.map((v) => g.measureText(short(v, n)).width), 20);
  const a = { l: left, t: 8, r: w - 10, b: h - 22 };
  const X = (v) => a.l + ((v - x0) / (x1 - x0 || 1)) * (a.r - a.l), Y = (v) => a.b - ((v - y0) / (y1 - y0 || 1)) * (a.b - a.t);
  g.strokeStyle = color("--line");
  g.fillStyle = color("--dim");
  g.lineWidth = 1;
  g.textAlign = "right";
  g.textBaseline = "middle";
  for (const v of labels) { const y = Math.round(Y(v)) + 0.5; g.beginPath(); g.moveTo(a.l, y); g.lineTo(a.r, y); g.stroke(); g.fillText(short(v, n), a.l - 6, y); }
  g.textBaseline = "top";
  for (const v of ticks(x0, x1, (a.r - a.l) / 80, wholeX)) {
    const x = Math.round(X(v)) + 0.5, half = g.measureText(short(v, 9)).width / 2;
    g.beginPath(); g.moveTo(x, a.b); g.lineTo(x, a.b + 4); g.stroke();
    if (x + half > w) continue;
    g.textAlign = "center";
    g.fillText(short(v, 9), x, a.b + 7);
  }
  return { a, X, Y };
}

// span is the least and greatest finite number of a list, widened a little.
export function span(values, pad = 0.05) {
  let lo = Infinity, hi = -Infinity;
  for (const v of values) if (v - v === 0) { if (v < lo) lo = v; if (v > hi) hi = v; }
  if (lo > hi) return [0, 1];
  const d = (hi - lo || Math.abs(hi) || 1) * pad;
  return [lo - d, hi + d];
}

// line draws values over places; several that share a column of pixels become a band from
// the least to the greatest. Nothing is drawn where values are not finite.
export function line(g, { a, X, Y }, xs, ys) {
  g.save();
  g.beginPath();
  g.rect(a.l, a.t, a.r - a.l, a.b - a.t);
  g.clip();
  g.strokeStyle = color("--c1");
  g.lineWidth = 1.4;
  g.lineJoin = "round";
  g.beginPath();
  let pen = false, column = NaN, lo = 0, hi = 0;
  for (let i = 0; i < xs.length; i++) {
    const y = ys[i];
    if (y - y !== 0) { pen = false; continue; }
    const px = X(xs[i]), py = Y(y), c = Math.floor(px * 2);
    if (pen && c === column && py >= lo && py <= hi) continue; // inside of what this column has
    if (c !== column) { column = c; lo = hi = py; } else { lo = Math.min(lo, py); hi = Math.max(hi, py); }
    if (pen) g.lineTo(px, py); else { g.moveTo(px, py); g.lineTo(px + 0.01, py); }
    pen = true;
  }
  g.stroke();
  if (xs.length > 1 && (a.r - a.l) / xs.length > 7) {
    g.fillStyle = color("--c1");
    for (let i = 0; i < xs.length; i++) if (ys[i] - ys[i] === 0) { g.beginPath(); g.arc(X(xs[i]), Y(ys[i]), 2.2, 0, 7); g.fill(); }
  }
  g.restore();
}

// histogram draws counts of numbers between lo and hi, in the colours that they have.
export function histogram(g, w, h, counts, map) {
  const t = table(map), most = Math.max(...counts, 1), n = counts.length, base = h - 8;
  for (let i = 0; i < n; i++) {
    const c = t[Math.floor(((i + 0.5) / n) * 256)], x = Math.round((i / n) * w), x1 = Math.round(((i + 1) / n) * w);
    g.fillStyle = `rgb(${c & 255} ${(c >> 8) & 255} ${(c >> 16) & 255})`;
    const tall = counts[i] ? Math.max(1, (counts[i] / most) * (base - 4)) : 0;
    g.fillRect(x, base - tall, x1 - x, tall);
    g.fillRect(x, base + 2, x1 - x, 6); // the scale of the colours
  }
}
