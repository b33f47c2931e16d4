// The read-out below a plot: of the point under the pointer, or of all that is in sight.

import { el, plural, short } from "./dom.js";
import { digitsFor } from "./seriestime.js";

export class Readout {
  constructor(s) {
    this.s = s;
    this.at = null;
    this.body = el("tbody");
    this.title = el("caption");
    this.box = el("div", { class: "reads" }, el("table", { class: "read" }, this.title,
      el("thead", {}, el("tr", {}, ["", "least", "greatest", "mean", "samples"].map((t) => el("th", { scope: "col", class: t ? "num" : "" }, t || el("span", { class: "hidden" }, "track"))))), this.body));
  }

  // point reads at a time; null: all in sight.
  point(t) { this.at = t; this.later ??= requestAnimationFrame(() => { this.later = 0; this.later = null; if (!this.s.dead) this.show(); }); }

  show() {
    const s = this.s, shown = s.lines.filter((l) => l.shown);
    if (this.rows?.length !== shown.length || this.rows.some((r, i) => r.line !== shown[i])) {
      this.rows = shown.map((line) => { const cells = [0, 1, 2, 3].map(() => el("td", { class: "num" }));
        return { line, cells, row: el("tr", {}, el("th", { scope: "row" }, el("i", { class: `ink ${line.ink.slice(2)}`, "aria-hidden": "true" }), line.name), cells) }; });
      this.body.replaceChildren(...this.rows.map((r) => r.row));
    }
    let from = Infinity, to = -Infinity, one = true;
    for (const r of this.rows) {
      const v = this.at === null ? this.all(r.line) : this.of(r.line, this.at);
      const texts = v && r.line.track.events ? ["", "", "", v.count.toLocaleString("en")] : v ? [number(v.lo, r.line.track), number(v.hi, r.line.track), v.count === 1 ? "" : rounded(v.mean, v.hi - v.lo), v.count >= 0 ? v.count.toLocaleString("en") : ""] : ["–", "–", "–", "0"];
      r.cells.forEach((c, i) => { if (c.textContent !== texts[i]) c.textContent = texts[i]; });
      Object.assign(r.row.dataset, v ? { entry: v.entry, exit: v.exit, count: v.count, lo: v.lo, hi: v.hi, mean: v.mean } : { entry: "", exit: "", count: 0 });
      if (!v) continue;
      from = Math.min(from, v.entry / r.line.track.rate); to = Math.max(to, v.exit / r.line.track.rate);
      one &&= v.entry === v.exit;
    }
    const rates = shown.map((l) => l.track.rate), digits = Math.min(9, Math.max(s.digits, digitsFor(1 / Math.max(...rates))));
    this.title.textContent = !(from <= to) ? (this.at === null ? "in sight: no samples" : `${s.time(this.at)}: no samples`)
      : this.at === null ? "in sight" : from === to ? s.time(from, digits) : `${s.time(from, digits)} to ${s.time(to, digits)}`;
  }

  // of is the point of a line at a time; null in a gap.
  of(line, t) {
    const { strip, track, channel: c } = line, offset = t * track.rate, i = strip.near(offset);
    if (i < 0) return null;
    const pixel = (this.s.t1 - this.s.t0) * track.rate / this.s.wide, away = Math.max(strip.entry[i] - offset, offset - strip.exit[i], 0);
    if (away > Math.max(1, 3 * pixel) && (strip.apart(i, 0) || i + 1 >= strip.n || strip.apart(i + 1, 0))) return null;
    return { entry: strip.entry[i], exit: strip.exit[i], lo: strip.lo[c][i], hi: strip.hi[c][i], mean: strip.mean[c][i], count: strip.count[i] };
  }

  // all sums up the points that begin in sight.
  all(line) {
    const { strip, track, channel: c } = line, from = this.s.t0 * track.rate, to = this.s.t1 * track.rate;
    const out = { entry: Infinity, exit: -Infinity, lo: Infinity, hi: -Infinity, mean: 0, count: 0 };
    let weight = 0;
    for (let i = 0; i < strip.n; i++) {
      if (strip.exit[i] < from || strip.entry[i] > to) continue;
      out.entry = Math.min(out.entry, strip.entry[i]); out.exit = Math.max(out.exit, strip.exit[i]);
      out.count += Math.max(strip.count[i], 0);
      if (!(strip.lo[c][i] <= strip.hi[c][i])) continue;
      out.lo = Math.min(out.lo, strip.lo[c][i]); out.hi = Math.max(out.hi, strip.hi[c][i]);
      const n = Math.max(strip.count[i], 1);
      if (Number.isFinite(strip.mean[c][i])) { out.mean += strip.mean[c][i] * n; weight += n; }
    }
    out.mean = weight ? out.mean / weight : NaN;
    return out.count ? out : null;
  }

  // summary says in words what is in sight.
  summary() {
    const s = this.s;
    return `${s.time(s.t0)} to ${s.time(s.t1)}. ` + s.lines.filter((l) => l.shown).map((l) => { const v = this.all(l); return v ? `${l.name}: ${short(v.lo)} to ${short(v.hi)}, mean ${short(v.mean)}, ${plural(v.count, "sample")}` : `${l.name}: no samples`; }).join(". ");
  }
}

// number writes a value as it is stored: integers in full, floats in as few digits as read
// back as the same.
function number(v, track) {
  if (Number.isNaN(v) || v == null) return "–";
  if (!Number.isFinite(v)) return v > 0 ? "∞" : "−∞";
  if (/f32/i.test(track.codec)) for (let p = 1; p < 10; p++) { const t = Number(v.toPrecision(p)); if (Math.fround(t) === v) return String(t); }
  return Math.abs(v) > 2 ** 53 && !/^(pcm-)?f/i.test(track.codec) ? `≈ ${short(v, 9)}` : String(v); // a float64 has no more digits
}

// rounded writes a mean in the digits that it has: an index keeps it to a part of the range
// of its samples.
function rounded(v, range) {
  if (!Number.isFinite(v)) return "–";
  const digits = range > 0 ? Math.ceil(-Math.log10(range * 3e-5)) : 7;
  return digits > 12 || digits < -3 ? short(v, 6) : String(Number(v.toFixed(Math.max(0, digits))));
}
