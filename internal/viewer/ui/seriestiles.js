// Tiles of a track, as of a map: level k has 2^k offsets a point, and a tile has so many
// points. The same addresses come again with every pan and zoom, and what is there is
// drawn while finer tiles are on their way.

const points = 2048;
const heldMost = 64e6; // bytes of tiles that are held

// A Track is a track of /info with what its tiles need. Offsets count its samples, or
// ticks of its rate.
export class Track {
  constructor(t) {
    this.number = t.track;
    this.name = t.name || `track ${t.track}`;
    this.codec = t.codec;
    this.channels = Math.max(t.channels ?? 0, 1);
    this.many = (t.channels ?? 0) > 0;
    this.variable = t.variable_rate;
    this.events = /^unit/i.test(t.codec); // events without values: a view has counts alone
    [this.num, this.den] = t.rate;
    this.rate = this.num / this.den;
    this.empty = t.entry === undefined;
    this.update(t);
  }

  // update takes the ends of a newer version.
  update(t) {
    this.samples = t.samples;
    this.entry = t.entry ?? 0;
    this.exit = t.exit ?? 0;
    this.top = Math.max(0, Math.ceil(Math.log2((this.exit - this.entry + 1) / points)));
  }

  // A sample at constant rate is at the end of its time: the first one has offset 1.
  get from() { return (this.entry - (this.variable ? 0 : 1)) / this.rate; }
  get to() { return this.exit / this.rate; }
  get wide() { return points; }
}

// seconds writes the time of an offset, or a little less: by so many digits no other
// offset is meant, and no number is rounded up to the next one.
export function seconds(track, offset) {
  const digits = Math.max(3, Math.ceil(Math.log10(track.rate)) + 3);
  const num = BigInt(track.num), den = BigInt(track.den), unit = 10n ** BigInt(Math.min(digits, 30));
  const all = BigInt(offset) * den * unit;
  let q = all / num;
  if (q * num > all) q -= 1n; // towards less
  const sign = q < 0n ? "-" : "", a = q < 0n ? -q : q;
  const rest = String(a % unit).padStart(unit.toString().length - 1, "0").replace(/0+$/, "");
  return `${sign}${a / unit}${rest ? `.${rest}` : ""}`;
}

// A Tiles has the tiles of some tracks, and says what to ask for.
export class Tiles {
  constructor() { this.held = new Map(); this.size = 0; this.old = new Map(); }

  // renew makes all tiles those of a version before: they are drawn until new ones come.
  renew() { for (const [id, t] of this.held) this.old.set(id, t); this.held.clear(); this.size = 0; }

  id(track, k, i) { return `${track.number}/${k}/${i}`; }
  have(track, k, i) { return this.held.get(this.id(track, k, i)); }
  any(track, k, i) { const id = this.id(track, k, i); return this.held.get(id) ?? this.old.get(id); }

  // put keeps a tile. Those used least are dropped, but not the coarsest of a track.
  put(track, k, i, tile) {
    const id = this.id(track, k, i);
    this.old.delete(id);
    this.held.set(id, tile);
    this.size += tile.size;
    for (const [old, t] of this.held) {
      if (this.size <= heldMost) break;
      if (t.keep || old === id) continue;
      this.held.delete(old);
      this.size -= t.size;
    }
  }

  // params are the parameters of the view that is tile i of level k.
  params(track, k, i) {
    const n = points * 2 ** k, a = track.entry + i * n;
    return { track: track.number, from: seconds(track, a), to: seconds(track, a + n), width: points, format: track.events ? "json" : "npy" };
  }

  // level is the one whose points are about as wide as a pixel, for so many offsets a pixel.
  level(track, perPixel) { return Math.min(track.top, Math.max(0, Math.round(Math.log2(perPixel)))); }

  // range is the first and the last tile of a level with offsets from a to b.
  range(track, k, a, b) {
    const n = points * 2 ** k, last = Math.max(0, Math.ceil((track.exit - track.entry + 1) / n) - 1);
    const at = (x) => Math.min(last, Math.max(0, Math.floor((x - track.entry) / n)));
    return [at(a), at(b)];
  }

  // sharp reports whether a tile is there, or a coarser one that has all samples one by one.
  sharp(track, k, i) {
    for (let j = k; j <= track.top; j++) {
      const t = this.have(track, j, Math.floor(i / 2 ** (j - k)));
      if (t && (j === k || t.single)) return true;
    }
    return false;
  }

  // gather adds to out what is there of the offsets from a to b at level k: tiles of that
  // level, else finer ones, else coarser ones. It reports whether all is sharp.
  gather(track, k, a, b, out) {
    const [from, to] = this.range(track, k, a, b);
    let all = true;
    for (let i = from; i <= to; i++) all = this.part(track, k, i, a, b, out, 0) && all;
    return all;
  }

  part(track, k, i, a, b, out, deep) {
    const n = points * 2 ** k, lo = Math.max(a, track.entry + i * n), hi = Math.min(b, track.entry + (i + 1) * n - 1);
    if (lo > hi) return true;
    const own = this.any(track, k, i);
    if (own) { out.add(own, lo, hi); return this.held.has(this.id(track, k, i)); }
    if (this.covered(track, k, i, lo, hi, 4)) {
      for (const c of [2 * i, 2 * i + 1]) this.part(track, k - 1, c, lo, hi, out, deep + 1);
      return deep > 0;
    }
    for (let j = k + 1; j <= track.top; j++) {
      const t = this.any(track, j, Math.floor(i / 2 ** (j - k)));
      if (t) { out.add(t, lo, hi); return t.single; }
    }
    return false;
  }

  // covered reports whether finer tiles have all offsets of a tile from lo to hi.
  covered(track, k, i, lo, hi, depth) {
    if (k === 0 || depth === 0) return false;
    return [2 * i, 2 * i + 1].every((c) => {
      const n = points * 2 ** (k - 1), a = track.entry + c * n;
      if (a > hi || a + n - 1 < lo || a > track.exit) return true;
      return Boolean(this.any(track, k - 1, c)) || this.covered(track, k - 1, c, lo, hi, depth - 1);
    });
  }
}

// tileOf makes a tile of the answer of a view: columns of points.
export function tileOf(track, answer) {
  const json = track.events, n = json ? answer.points.length : answer.shape[0], c = track.channels;
  const t = { n, entry: new Float64Array(n), exit: new Float64Array(n), count: new Float64Array(n), lo: [], hi: [], mean: [], single: true };
  for (let j = 0; j < c; j++) for (const list of [t.lo, t.hi, t.mean]) list.push(new Float64Array(n));
  for (let p = 0; p < n; p++) {
    if (json) {
      const { entry, exit, count } = answer.points[p];
      Object.assign(t.entry, { [p]: entry });
      t.exit[p] = exit; t.count[p] = count; t.lo[0][p] = 0; t.hi[0][p] = count; t.mean[0][p] = count;
    } else {
      const d = answer.data, at = p * c * 9; // t0 t1 min max mean count rms entry exit
      t.count[p] = d[at + 5]; t.entry[p] = d[at + 7]; t.exit[p] = d[at + 8];
      for (let j = 0; j < c; j++) { t.lo[j][p] = d[at + 9 * j + 2]; t.hi[j][p] = d[at + 9 * j + 3]; t.mean[j][p] = d[at + 9 * j + 4]; }
    }
    if (t.count[p] !== 1) t.single = false;
  }
  t.size = n * 8 * (3 + 3 * c);
  return t;
}

// A Strip is what is drawn of a track: points in order, each with its part of the axis.
export class Strip {
  constructor(track) { this.track = track; this.room = 0; this.n = 0; this.grow(4096); }

  grow(room) {
    const more = (old) => { const a = new Float64Array(room); if (old) a.set(old.subarray(0, this.n)); return a; };
    for (const name of ["a", "b", "entry", "exit", "count"]) this[name] = more(this[name]);
    for (const name of ["lo", "hi", "mean"]) this[name] = Array.from({ length: this.track.channels }, (_, c) => more(this[name]?.[c]));
    this.room = room;
  }

  clear() { this.n = 0; return this; }

  // add takes the points of a tile between two offsets. A point that begins in the tile
  // before is there already.
  add(t, lo, hi) {
    let i = 0, j = t.n;
    while (i < j) { const m = (i + j) >> 1; if (t.exit[m] < lo) i = m + 1; else j = m; }
    for (; i < t.n && t.entry[i] <= hi; i++) {
      const n = this.n;
      if (n && t.exit[i] <= this.exit[n - 1]) continue;
      if (n === this.room) this.grow(2 * n);
      this.a[n] = Math.max(t.entry[i], lo); this.b[n] = Math.min(t.exit[i], hi);
      this.entry[n] = t.entry[i]; this.exit[n] = t.exit[i]; this.count[n] = t.count[i];
      for (let c = 0; c < this.lo.length; c++) { this.lo[c][n] = t.lo[c][i]; this.hi[c][n] = t.hi[c][i]; this.mean[c][n] = t.mean[c][i]; }
      this.n++;
    }
  }

  // apart reports whether samples are missing between a point and the one before it. At
  // variable rate they are missing if the pause is several times the usual one, and at
  // least so many offsets long.
  apart(i, least) {
    if (i === 0) return true;
    const gap = this.entry[i] - this.exit[i - 1];
    if (!this.track.variable) return gap > 1;
    const own = (k) => (this.exit[k] - this.entry[k]) / Math.max(this.count[k] - 1, 1);
    let usual = Math.max(own(i - 1), own(i));
    if (i > 1) usual = Math.max(usual, Math.min(this.entry[i - 1] - this.exit[i - 2], gap / 3));
    if (i + 1 < this.n) usual = Math.max(usual, Math.min(this.entry[i + 1] - this.exit[i], gap / 3));
    return usual > 0 && gap > 4 * usual && gap >= least;
  }

  // near is the point nearest to an offset; -1 if there is none.
  near(offset) {
    let i = 0, j = this.n;
    while (i < j) { const m = (i + j) >> 1; if (this.exit[m] < offset) i = m + 1; else j = m; }
    if (i === this.n || (i > 0 && offset - this.exit[i - 1] < this.entry[i] - offset)) i--;
    return i;
  }
}
