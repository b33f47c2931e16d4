// A long series: tracks on one axis of time, moved and zoomed by hand.

import { count, el, field, later, plural, short } from "./dom.js";
import { Panel, axisWidth, edge, load } from "./seriesplot.js";
import { Readout } from "./seriesread.js";
import { Strip, Tiles, Track, tileOf } from "./seriestiles.js";
import { hands } from "./serieshands.js";
import { digitsFor, parseOrigin, parseTime, relText, spanText, timeText } from "./seriestime.js";
import { sheet } from "./sheet.js";

const rest = 110; // ms without a move before what is next to the window is asked for
const restAll = 90; // ms before tiles of another level are
const shownFirst = 8; // tracks and channels that are shown at first
const inks = 8;

export async function mount(box, ctx) {
  const [uPlot] = await Promise.all([load(), sheet()]);
  const s = new Series(uPlot, box, ctx);
  await s.begin();
  return s;
}

class Series {
  constructor(uPlot, box, ctx) {
    Object.assign(this, { uPlot, box, ctx, lane: ctx.api.lane("series"), tiles: new Tiles(), panels: [], dead: false });
    this.origin = parseOrigin(ctx.info.utc_origin);
    this.frames = [];
    this.settled = new Map(); // track → level of the last rest
    this.moved = later(restAll, () => this.rested());
    this.calm = later(rest + restAll, () => this.idle());
    this.note = later(400, () => ctx.announce(this.readout.summary()));
    this.save = later(250, () => this.write());
  }

  async begin() {
    const { info, state, ctx } = { ...this, info: this.ctx.info, state: this.ctx.state };
    await this.ends(info.tracks ?? []);
    this.tracks = (info.tracks ?? []).filter((t) => t.rate[0] / t.rate[1] > 0 && t.entry !== undefined).map((t) => new Track(t));
    const without = (info.tracks ?? []).length - this.tracks.length;
    if (!this.tracks.length) {
      this.box.append(el("p", { class: "note" }, without ? `${plural(without, "track")} without samples, or without a rate, so there is no axis of time.` : "This series has no tracks."));
      return;
    }
    this.lines = this.tracks.flatMap((track) => { const strip = new Strip(track);
      return Array.from({ length: track.channels }, (_, channel) => ({ strip, track, channel, id: track.many ? `${track.number}.${channel}` : `${track.number}`, name: track.many ? `${track.name} · ${channel + 1}` : track.name })); });
    this.lines.forEach((l, i) => { l.ink = `--s${i % inks + 1}`; l.shown = i < shownFirst; });
    if (state.show !== undefined) { const some = state.show.split(","); for (const l of this.lines) l.shown = some.includes(l.id); }
    if (!this.lines.some((l) => l.shown)) this.lines[0].shown = true;
    this.one = state.one === "1";
    this.measure();
    const from = Number(state.from ?? this.least), to = Number(state.to ?? this.most);
    [this.t0, this.t1] = from < to ? [from, to] : [this.least, this.most];
    this.build(without);
    ctx.elsewhere(() => this.shown());
    ctx.keys(this.keys());
    this.clamp();
    this.lay();
    this.kept(state.keep);
    this.ask(true);
    if (state.follow === "1") this.follow(true);
  }

  // ends finds the ends of tracks whose number of samples no index tells: a view of one
  // point has them.
  async ends(tracks) {
    for (const t of tracks) {
      if (t.entry !== undefined || t.samples === 0 || !(t.rate[0] / t.rate[1] > 0)) continue;
      const { root, key, api } = this.ctx;
      const v = await api.get(api.url("view", root, key, { track: t.track, width: 2, format: "json" }), { as: "json", lane: "series-ends" });
      if (!v.points.length) continue;
      t.entry = v.points[0].entry;
      t.exit = v.points.at(-1).exit;
    }
  }

  measure() {
    this.least = Math.min(...this.tracks.map((t) => t.from));
    this.most = Math.max(...this.tracks.map((t) => t.to));
    if (!(this.most > this.least)) this.most = this.least + 1;
    this.closest = 8 / Math.max(...this.tracks.map((t) => t.rate));
  }

  // ---- what is on the page

  build(without) {
    const { ctx } = this, button = (text, label, fn) => el("button", { type: "button", "aria-label": label, title: label, onclick: fn }, text);
    const tick = (text, title, on, fn) => { const c = el("input", { type: "checkbox", checked: on, onchange: () => fn(c.checked) }); return [c, el("label", { class: "field", title }, c, el("span", {}, text))]; };
    this.go = el("input", { type: "text", class: "goto", name: "time", autocomplete: "off", spellcheck: false, placeholder: this.origin ? "12:30 or 2026-05-01 12:30" : "90 or 1:30 or 2h15m",
      onkeydown: (e) => { if (e.key === "Enter") { e.preventDefault(); this.jump(); } }, oninput: () => { this.wrong.textContent = ""; this.go.removeAttribute("aria-invalid"); } });
    this.wrong = el("span", { class: "wrong", role: "alert" });
    [this.keep, this.keepBox] = tick("keep scale", "Leave the axis of values as it is while you move", false, () => this.kept(this.keep.checked ? "now" : ""));
    [this.robust, this.robustBox] = tick("without spikes", "The axis of values leaves out the least and the greatest hundredth", ctx.state.robust === "1", () => { this.draw(); this.save(); });
    [this.together, this.oneBox] = tick("one scale", "All tracks over each other, on one axis of values", this.one, (on) => { this.one = on; this.lay(); this.ask(); this.save(); });
    [this.tail, this.tailBox] = tick("follow", "Look for new samples, and stay at the end", ctx.state.follow === "1", (on) => this.follow(on));
    this.box.append(el("div", { class: "bar" },
      el("span", { class: "group" }, button("‹", "Earlier (←)", () => this.pan(-0.25)), button("›", "Later (→)", () => this.pan(0.25))),
      el("span", { class: "group" }, button("−", "Zoom out (−)", () => this.zoom(2)), button("+", "Zoom in (+)", () => this.zoom(0.5)), button("Whole", "Whole: all of it (0)", () => this.move(this.least, this.most))),
      el("span", { class: "field" }, field("Go to", this.go), this.wrong), this.keepBox, this.robustBox, this.tracks.length > 1 ? this.oneBox : null, this.tailBox));
    if (this.lines.length > 1) this.box.append(this.chips());
    this.map = el("canvas", { class: "map", "aria-hidden": "true" });
    this.window = el("div", { class: "window" });
    this.strip = el("div", { class: "strip", title: "All of it: drag the window" }, this.map, this.window);
    this.plots = el("div", { class: "plots" });
    this.line = el("div", { class: "cursor", hidden: true });
    this.choice = el("div", { class: "choice", hidden: true });
    this.area = el("div", { class: "plotarea", tabIndex: 0, role: "application", "aria-roledescription": "plot", "aria-label": "Plot over time. Arrow keys move, plus and minus zoom, 0 shows all." }, this.plots, this.line, this.choice);
    this.readout = new Readout(this);
    this.where = el("p", { class: "where" });
    this.box.append(this.strip, this.area, this.where, this.readout.box);
    if (without) this.box.append(el("p", { class: "note" }, `${plural(without, "track")} without samples or without a rate: not drawn.`));
    this.box.append(el("p", { class: "note hint" }, "Drag moves, the wheel zooms, Shift and drag chooses a part, a double click shows all."));
    this.letGo = hands(this);
    this.seen = new ResizeObserver(() => this.resize());
    this.seen.observe(this.area);
    this.onTheme = () => this.lay();
    document.addEventListener("themechange", this.onTheme);
  }

  // chips are the tracks and channels, each of which can be hidden.
  chips() {
    return el("div", { class: "chips", role: "group", "aria-label": "Tracks" }, this.lines.map((l) => {
      const b = el("button", { type: "button", class: `chip ${l.ink.slice(2)}`, "aria-pressed": String(l.shown), onclick: () => {
        if (l.shown && this.lines.filter((x) => x.shown).length === 1) return;
        l.shown = !l.shown;
        b.setAttribute("aria-pressed", String(l.shown));
        this.lay(); this.ask(); this.save();
      } }, el("i", { "aria-hidden": "true" }), l.name);
      return b;
    }));
  }

  // lay makes the panels: one for each track, or one for all.
  lay() {
    if (this.dead || !this.plots) return;
    const shown = this.lines.filter((l) => l.shown), tracks = [...new Set(shown.map((l) => l.track))];
    const groups = this.one ? [shown] : tracks.map((t) => shown.filter((l) => l.track === t));
    const kept = this.panels.map((p) => p.kept);
    for (const p of this.panels) p.destroy();
    this.plots.replaceChildren();
    this.narrow = this.area.clientWidth < 480;
    const high = Math.max(this.narrow ? 280 : 310, Math.min(innerHeight - 480, 620)), each = Math.max(groups.length > 4 ? 96 : 130, Math.floor(high / groups.length));
    this.panels = groups.map((lines, i) => {
      const last = i === groups.length - 1, holder = el("div", { class: "panelbox" }), name = lines.map((l) => l.name).join(", ");
      this.plots.append(holder);
      const named = groups.length > 1 || shown.length > 1;
      if (named) holder.append(el("span", { class: "panelname" }, lines.length > 3 ? lines[0].track.name : name));
      const p = new Panel(this.uPlot, holder, { lines, last, height: each + (last ? 40 : 0), origin: this.origin, window: () => [this.t0, this.t1], named });
      p.each = each + (last ? 40 : 0);
      p.kept = kept.length === groups.length ? kept[i] : null;
      return p;
    });
    this.mapped = null;
    this.draw();
  }

  resize() {
    const width = this.area.clientWidth;
    if (!width || width === this.width) return;
    this.width = width;
    for (const p of this.panels) p.size(width, p.each);
    this.ask();
    this.draw();
  }

  // ---- the window

  get wide() { return Math.max(100, (this.area?.clientWidth ?? 800) - axisWidth - edge); }

  clamp() {
    const all = this.most - this.least;
    let d = Math.min(Math.max(this.t1 - this.t0, Math.min(this.closest, all)), all), mid = (this.t0 + this.t1) / 2;
    if (!Number.isFinite(mid)) { mid = (this.least + this.most) / 2; d = all; }
    this.t0 = Math.min(Math.max(mid - d / 2, this.least), this.most - d);
    this.t1 = this.t0 + d;
  }

  // move shows another part. said: tell it to those who cannot see it.
  move(a, b, said = true) {
    if (!(a < b)) return;
    [this.t0, this.t1] = [a, b];
    this.clamp();
    this.draw();
    this.ask();
    this.moved();
    this.save();
    if (said) this.note();
  }

  pan(part) { const d = (this.t1 - this.t0) * part; this.move(this.t0 + d, this.t1 + d); }

  // zoom keeps a time where it is: the middle, if none is given.
  zoom(factor, at = (this.t0 + this.t1) / 2, said = true) {
    const d = Math.max((this.t1 - this.t0) * factor, Math.min(this.closest, this.most - this.least)), f = d / (this.t1 - this.t0);
    this.move(at - (at - this.t0) * f, at + (this.t1 - at) * f, said);
  }

  jump() {
    const t = parseTime(this.go.value, this.origin, (this.t0 + this.t1) / 2);
    const words = Number.isNaN(t) ? (this.origin ? "want 12:30, 2026-05-01 12:30, or seconds" : "want seconds, 1:30:00 or 1h30m")
      : t < this.least || t > this.most ? `it goes from ${this.time(this.least)} to ${this.time(this.most)}` : "";
    this.wrong.textContent = words;
    if (words) { this.go.setAttribute("aria-invalid", "true"); return; }
    const d = Math.min(this.t1 - this.t0, (this.most - this.least) / 20);
    this.move(t - d / 2, t + d / 2);
  }

  get digits() { return Math.min(9, digitsFor(Math.max((this.t1 - this.t0) / 500, 0.1 / Math.max(...this.tracks.map((t) => t.rate))))); }
  time(t, digits = this.digits) { return timeText(this.origin, t, digits, Math.max(Math.abs(this.least), Math.abs(this.most))); }

  keys() {
    const pan = (x) => () => this.pan(x), zoom = (x) => () => this.zoom(x);
    return [["ArrowLeft", "earlier by a quarter", pan(-0.25)], ["ArrowRight", "later by a quarter", pan(0.25)], [["PageUp"], "the part before", pan(-1)], [["PageDown"], "the part behind", pan(1)],
      [["+", "="], "zoom in", zoom(0.5)], [["-", "_"], "zoom out", zoom(2)], ["0", "all of it", () => this.move(this.least, this.most)],
      ["Home", "the beginning", () => this.move(this.least, this.least + this.t1 - this.t0)], ["End", "the end", () => this.move(this.most - this.t1 + this.t0, this.most)],
      ["g", "go to a time", () => { this.go.focus(); this.go.select(); }], ["k", "keep the scale", () => this.keep.click()], ["s", "without spikes", () => this.robust.click()]];
  }

  // ---- tiles

  shownTracks() { return [...new Set(this.lines.filter((l) => l.shown).map((l) => l.track))]; }
  level(track) { return this.tiles.level(track, (this.t1 - this.t0) * track.rate / (this.wide * Math.min(devicePixelRatio, 2))); }

  // visible lists the tiles of a track in sight, those in the middle first.
  visible(track) {
    const k = this.level(track), [from, to] = this.tiles.range(track, k, this.t0 * track.rate, this.t1 * track.rate), list = [];
    for (let i = from; i <= to; i++) list.push({ track, k, i });
    return list.sort((a, b) => Math.abs(a.i - (from + to) / 2) - Math.abs(b.i - (from + to) / 2));
  }

  // ask asks for what is in sight. While it moves, tiles of another level wait, unless
  // what is there is coarser by two levels or more.
  ask(now = false) {
    if (this.dead) return;
    const list = [];
    for (const track of this.shownTracks()) {
      const k = this.level(track), stays = now || this.settled.get(track) === k;
      for (const t of this.visible(track)) if (!this.tiles.sharp(track, t.k, t.i) && (stays || this.coarse(t) >= 2 || this.flying(t))) list.push(t);
      if (now) this.settled.set(track, k);
    }
    this.want(list);
    this.calm();
  }

  flying({ track, k, i }) { return this.wanted?.has(this.tiles.id(track, k, i)); }

  // coarse is by how many levels what is there for a tile is coarser; 9 if nothing is.
  coarse({ track, k, i }) {
    for (let j = k; j <= track.top; j++) if (this.tiles.any(track, j, Math.floor(i / 2 ** (j - k)))) return j - k;
    return 9;
  }

  rested() { this.ask(true); }

  // idle asks for what is beside the window and around it, once all in sight is there.
  idle() {
    if (this.dead || this.lane.busy) return;
    const list = [];
    for (const track of this.shownTracks().slice(0, 4)) {
      const k = this.level(track), [from, to] = this.tiles.range(track, k, this.t0 * track.rate, this.t1 * track.rate), n = track.wide * 2 ** k;
      const inside = (i) => i >= 0 && track.entry + i * n <= track.exit;
      for (const t of [{ k: track.top, i: 0 }, { k, i: to + 1 }, { k, i: from - 1 }]) if (inside(t.i) && !this.tiles.sharp(track, t.k, t.i)) list.push({ track, ...t });
    }
    if (list.length) this.want(list);
  }

  want(list) {
    const { root, key, api } = this.ctx;
    this.wanted = new Set(list.map((t) => this.tiles.id(t.track, t.k, t.i)));
    this.lane.want(list.map(({ track, k, i }) => ({
      address: api.url("view", root, key, this.tiles.params(track, k, i)), as: track.events ? "json" : "npy", keep: false,
      done: (answer) => {
        if (this.dead) return;
        const tile = tileOf(track, answer);
        tile.keep = k === track.top;
        this.tiles.put(track, k, i, tile);
        this.wanted.delete(this.tiles.id(track, k, i));
        if (!this.wanted.size) this.calm();
        this.draw();
      },
      fail: (e) => { if (this.dead || api.aborted(e)) return; if (e.code === "changed" && this.tail.checked) this.look(); else this.ctx.fail(e); },
    })));
  }

  // ---- drawing

  draw() {
    if (this.drawing || this.dead) return;
    this.drawing = requestAnimationFrame(() => { this.drawing = 0; if (!this.dead) this.paint(); });
  }

  paint() {
    const began = performance.now(), margin = (this.t1 - this.t0) * 0.02;
    let sharp = true, worst = 0;
    for (const track of this.shownTracks()) {
      const strip = this.lines.find((l) => l.track === track).strip.clear(), k = this.level(track);
      // The samples next to the window are there to be joined to those in it.
      const one = track.variable ? (track.exit - track.entry) / Math.max(track.samples - 1 || 1, 1) : 1;
      sharp = this.tiles.gather(track, k, Math.floor(this.t0 * track.rate - Math.max(margin * track.rate, 1.5 * one)), Math.ceil(this.t1 * track.rate + Math.max(margin * track.rate, 1.5 * one)), strip) && sharp;
      worst = Math.max(worst, ...this.visible(track).map((t) => this.coarse(t)));
    }
    for (const p of this.panels) { p.robust = this.robust.checked; p.draw(); }
    this.readout.show();
    this.overview();
    const some = this.panels.some((p) => p.beyond && this.robust.checked && !p.kept);
    this.where.textContent = `${this.time(this.t0)} to ${this.time(this.t1)} · ${spanText(this.t1 - this.t0)}${some ? " · spikes go beyond the scale" : ""}${sharp ? "" : worst === 9 ? " · loading" : " · coarser until the rest is here"}`;
    this.area.dataset.sharp = sharp ? "1" : "";
    this.area.dataset.from = this.t0;
    this.area.dataset.to = this.t1;
    this.frames.push(performance.now() - began);
    if (this.frames.length > 600) this.frames.splice(0, 300);
    this.box.dispatchEvent(new CustomEvent("drawn", { detail: { ms: performance.now() - began, sharp } }));
  }

  // overview draws the first shown track as a whole, and where the window is.
  overview() {
    const all = this.most - this.least, x = (t) => (t - this.least) / all * 100;
    this.window.style.left = `${x(this.t0)}%`;
    this.window.style.width = `max(${x(this.t1) - x(this.t0)}%, 3px)`;
    const line = this.lines.find((l) => l.shown), tile = this.tiles.any(line.track, line.track.top, 0), c = this.map, width = Math.round(c.clientWidth * devicePixelRatio), height = Math.round(c.clientHeight * devicePixelRatio);
    if (!tile || !width || (this.mapped === tile && c.width === width)) return;
    this.mapped = tile;
    Object.assign(c, { width, height });
    const g = c.getContext("2d"), lo = tile.lo[line.channel], hi = tile.hi[line.channel];
    const [least] = bulk(lo), [, most] = bulk(hi), y = (v) => 3 + (height - 6) * (1 - (v - least) / (most - least || 1));
    g.fillStyle = getComputedStyle(c).color;
    for (let i = 0; i < tile.n; i++) {
      const a = Math.floor((tile.entry[i] / line.track.rate - this.least) / all * width), b = Math.ceil((tile.exit[i] / line.track.rate - this.least) / all * width);
      if (Number.isFinite(lo[i]) && Number.isFinite(hi[i])) g.fillRect(a, y(hi[i]), Math.max(1, b - a), Math.max(1, y(lo[i]) - y(hi[i])));
    }
  }

  // ---- what the link has

  kept(how) {
    if (how === "now") for (const p of this.panels) p.kept = [...p.range];
    else if (how) how.split(",").forEach((r, i) => { const [lo, hi] = r.split(":").map(Number); if (this.panels[i] && lo < hi) this.panels[i].kept = [lo, hi]; });
    else for (const p of this.panels) p.kept = null;
    this.keep.checked = this.panels.some((p) => p.kept);
    this.draw();
    this.save();
  }

  write() {
    if (this.dead) return;
    const whole = this.t0 <= this.least && this.t1 >= this.most, digits = Math.min(12, digitsFor((this.t1 - this.t0) / 1e5)), text = (t) => String(Number(t.toFixed(digits)));
    const some = this.lines.filter((l) => l.shown), usual = some.length === Math.min(this.lines.length, shownFirst) && some.every((l, i) => l === this.lines[i]);
    this.ctx.setState({ from: whole ? null : text(this.t0), to: whole ? null : text(this.t1), show: usual ? null : some.map((l) => l.id).join(","), one: this.one ? "1" : null,
      robust: this.robust.checked ? "1" : null, keep: this.panels.some((p) => p.kept) ? this.panels.map((p) => (p.kept ? p.kept.map((v) => Number(v.toPrecision(6))).join(":") : "")).join(",") : null, follow: this.tail.checked ? "1" : null });
    this.ctx.changed?.();
  }

  // shown is what is shown, for the lines that read it elsewhere.
  shown() {
    const whole = this.t0 <= this.least && this.t1 >= this.most, digits = Math.min(12, digitsFor((this.t1 - this.t0) / 1e5)), text = (t) => String(Number(t.toFixed(digits)));
    return { kind: "series", tracks: this.shownTracks().map((t) => ({ track: t.number, name: t.name, events: t.events, many: t.many })), from: whole ? "" : text(this.t0), to: whole ? "" : text(this.t1), width: Math.round(this.wide) };
  }

  // ---- the end of a series that grows

  follow(on) {
    clearTimeout(this.timer);
    this.tail.checked = on;
    this.save();
    if (!on) return;
    this.move(this.most - (this.t1 - this.t0), this.most, false);
    this.look();
  }

  // look asks whether there is a newer version, and shows its end.
  async look() {
    clearTimeout(this.timer);
    const { root, key, api, info } = this.ctx;
    try {
      const now = await api.get(api.url("info", root, key), { as: "json", fresh: true, lane: "series-tail" });
      if (this.dead || !this.tail.checked) return;
      if (now.version !== info.version) {
        api.pin(root, key, now.pinned && now.version);
        await this.ends(now.tracks ?? []);
        if (this.dead) return;
        this.ctx.info = now;
        for (const t of this.tracks) { const n = (now.tracks ?? []).find((x) => x.track === t.number); if (n?.entry !== undefined) t.update(n); }
        this.tiles.renew();
        this.mapped = null;
        const d = this.t1 - this.t0, all = this.t0 <= this.least && this.t1 >= this.most;
        this.measure();
        this.area.dataset.version = now.version;
        this.move(all ? this.least : this.most - d, this.most, false);
        this.ask(true);
      }
    } catch (e) { if (!this.dead && !api.aborted(e) && e.code !== "changed") this.ctx.fail(e); } // changed again meanwhile: the next look sees it
    if (!this.dead && this.tail.checked) this.timer = setTimeout(() => this.look(), 2000);
  }

  destroy() {
    this.dead = true;
    clearTimeout(this.timer);
    for (const f of [this.moved, this.calm, this.note, this.save]) f.stop();
    cancelAnimationFrame(this.drawing);
    this.lane.clear();
    this.letGo?.();
    this.seen?.disconnect();
    document.removeEventListener("themechange", this.onTheme);
    for (const p of this.panels) p.destroy();
  }
}

// bulk is the range of all but the outermost hundredths.
function bulk(list) {
  const some = list.filter(Number.isFinite).sort();
  return some.length ? [some[Math.floor(some.length / 100)], some[some.length - 1 - Math.floor(some.length / 100)]] : [0, 1];
}
