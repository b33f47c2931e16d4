// Tiles of a plane of an array: what is asked for, and what is there to be drawn.
//
// A tile is SIDE × SIDE items at a step of a power of two along each axis, its level.
// Tiles side by side are asked for by one request. A plane is two axes of the array, at
// one place of all others.

const MOST = 8; // tiles of a request: 512 Ki items; fewer where a server allows less
const KEEP = 224; // tiles

export class Tiles {
  // shape, inner: of the array, and items of a member at each place; url(slice): address of
  // an answer; lane: of requests, ahead: of those that nobody waits for; changed(place), failed(fault), again().
  constructor(o) {
    Object.assign(this, { side: [256, 256], inner: 1, chosen: 0, most: MOST }, o);
    this.planes = new Map(); // id → Map of tiles, oldest first
    this.total = 0;
  }

  // clear forgets all tiles.
  clear() { this.planes.clear(); this.total = 0; this.lane.clear(); this.ahead.clear(); }

  // id names a plane.
  id(axes, at) { return `${axes}:${at.map((n, i) => (axes.includes(i) ? "" : n))}`; }

  size(axes) { return axes.map((a) => (a < 0 ? 1 : this.shape[a])); }

  // grid is the range of tiles of a level that a window {x0, y0, x1, y1} of items touches.
  grid(axes, win, [ly, lx]) {
    const [rows, cols] = this.size(axes), [h, w] = this.side, sy = h * 2 ** ly, sx = w * 2 ** lx;
    return {
      y0: Math.max(0, Math.floor(win.y0 / sy)), y1: Math.min(Math.ceil(rows / sy), Math.ceil(win.y1 / sy)),
      x0: Math.max(0, Math.floor(win.x0 / sx)), x1: Math.min(Math.ceil(cols / sx), Math.ceil(win.x1 / sx)),
    };
  }

  // missing lists the rectangles of tiles that are not there yet, as few as possible.
  missing(axes, at, win, level) {
    const g = this.grid(axes, win, level), have = this.planes.get(this.id(axes, at)), out = [];
    for (let y = g.y0; y < g.y1; y++) {
      for (let x = g.x0; x < g.x1; x++) {
        if (have?.has(`${level}/${y},${x}`)) continue;
        let end = x + 1;
        while (end < g.x1 && end - x < this.most && !have?.has(`${level}/${y},${end}`)) end++;
        const above = out.find((r) => r.x0 === x && r.x1 === end && r.y1 === y && (r.y1 - r.y0 + 1) * (end - x) <= this.most);
        if (above) above.y1++; else out.push({ level, y0: y, y1: y + 1, x0: x, x1: end });
        x = end - 1;
      }
    }
    return out;
  }

  // covered is the number of levels above this one at which all of the window is there, or
  // -1.
  covered(axes, at, win, [ly, lx]) {
    for (let d = 0; d <= 6; d++) if (!this.missing(axes, at, win, [ly + d, lx + d]).length) return d;
    return -1;
  }

  // want asks for what a window lacks at a level, and gives up what is not wanted any more.
  // hasty: the place moves on, so a coarse picture is enough.
  want(axes, at, win, level, hasty) {
    let list = this.plan(axes, at, win, level, hasty).map((r) => this.request(axes, at, r));
    for (const job of [...this.ahead.flying]) { // what was asked for ahead is now waited for
      const mine = list.find((w) => w.address === job.address);
      if (mine) { job.bad = mine.fail; list = list.filter((w) => w !== mine); } else if (list.length) this.ahead.drop(job);
    }
    this.lane.want(list);
  }

  plan(axes, at, win, level, hasty) {
    const fine = this.missing(axes, at, win, level), coarse = level.map((n) => n + 2);
    if (fine.length <= (hasty ? 1 : 2) || this.covered(axes, at, win, level) >= 0) return hasty && fine.length > 1 ? [] : fine;
    const cover = this.missing(axes, at, win, coarse);
    return hasty ? cover : [...cover, ...fine];
  }

  // fetchAhead asks for another plane while nothing else is wanted.
  fetchAhead(axes, at, win, level) {
    const list = this.plan(axes, at, win, level, true).slice(0, 2);
    this.ahead.want(list.map((r) => this.request(axes, at, r, true)));
  }

  // slice is the text of a rectangle's items.
  slice(axes, at, r) {
    const [rows, cols] = this.size(axes), [h, w] = this.side, [sy, sx] = r.level.map((n) => 2 ** n);
    const span = (a, b, s) => `${a}:${b}${s > 1 ? `:${s}` : ""}`;
    const y = span(r.y0 * h * sy, Math.min(rows, r.y1 * h * sy), sy), x = span(r.x0 * w * sx, Math.min(cols, r.x1 * w * sx), sx);
    return at.map((n, i) => (i === axes[1] ? x : i === axes[0] ? y : n)).join(",");
  }

  request(axes, at, r, quiet) {
    const place = at.slice();
    return { address: this.url(this.slice(axes, place, r)), as: "npy", keep: false,
      done: (items) => { this.store(axes, place, r, items); this.changed(place); },
      fail: (e) => { if (!quiet && e.name !== "AbortError") this.refused(e, r); } };
  }

  // refused asks again for less at a time, if the server answers with no more, and else tells.
  refused(e, r) {
    const n = (r.y1 - r.y0) * (r.x1 - r.x0);
    if (!/^too-/.test(e.code) || n === 1) { this.failed(e); return; }
    this.most = Math.min(this.most, Math.max(1, n >> 2));
    this.again();
  }

  store(axes, at, r, items) {
    const [rows, cols] = this.size(axes), [h, w] = this.side, [dy, dx] = r.level.map((n) => 2 ** n), k = this.inner;
    const height = Math.ceil((Math.min(rows, r.y1 * h * dy) - r.y0 * h * dy) / dy), width = Math.ceil((Math.min(cols, r.x1 * w * dx) - r.x0 * w * dx) / dx);
    const [sy, sx] = axes[0] < axes[1] ? [width * k, k] : [k, height * k];
    const tiles = this.plane(this.id(axes, at));
    for (let ty = r.y0; ty < r.y1; ty++) {
      for (let tx = r.x0; tx < r.x1; tx++) {
        const y = (ty - r.y0) * h, x = (tx - r.x0) * w, key = `${r.level}/${ty},${tx}`;
        if (!tiles.has(key)) this.total++;
        tiles.set(key, { items, off: y * sy + x * sx + this.chosen, sy, sx, h: Math.min(h, height - y), w: Math.min(w, width - x), y: ty * h * dy, x: tx * w * dx, dy, dx, level: r.level });
      }
    }
    this.trim();
  }

  // plane is the tiles of a plane, which is now the last one used.
  plane(id) {
    const p = this.planes.get(id) ?? new Map();
    this.planes.delete(id);
    this.planes.set(id, p);
    return p;
  }

  trim() {
    for (const [id, p] of this.planes) {
      if (this.total <= KEEP) return;
      if (id === this.kept) continue;
      for (const key of p.keys()) {
        if (this.total <= KEEP) break;
        p.delete(key);
        this.total--;
      }
      if (!p.size) this.planes.delete(id);
    }
  }

  // inSight lists the tiles to be drawn, those that are nearest to the level last.
  inSight(axes, at, win, level) {
    const id = this.id(axes, at), out = [], far = (t) => Math.abs(t.level[0] - level[0]) + Math.abs(t.level[1] - level[1]);
    this.kept = id;
    const all = this.missing(axes, at, win, level).length === 0;
    for (const t of this.plane(id).values()) {
      if (all && far(t) > 0) continue;
      if (t.x < win.x1 && t.y < win.y1 && t.x + t.w * t.dx > win.x0 && t.y + t.h * t.dy > win.y0) out.push(t);
    }
    return out.sort((a, b) => far(b) - far(a));
  }

  // at finds the drawn item at or before an item of a plane: {tile, index, y, x}.
  item(axes, at, y, x) {
    let best = null;
    for (const t of this.planes.get(this.id(axes, at))?.values() ?? []) {
      if (x < t.x || y < t.y || x >= t.x + t.w * t.dx || y >= t.y + t.h * t.dy) continue;
      if (!best || t.dx * t.dy < best.dx * best.dy) best = t;
    }
    if (!best) return null;
    const j = Math.floor((y - best.y) / best.dy), i = Math.floor((x - best.x) / best.dx);
    return { tile: best, index: best.off + j * best.sy + i * best.sx, y: best.y + j * best.dy, x: best.x + i * best.dx };
  }
}
