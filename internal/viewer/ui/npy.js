// .npy, as it comes from the gateway, to typed arrays.

import { Fault } from "./fault.js";

const bad = () => new Fault(0, "npy", "the answer is no .npy that can be read");

// literal reads a literal of Python: what the header of a .npy is.
function literal(s) {
  let at = 0;
  const skip = () => { while (/\s/.test(s[at] ?? "")) at++; };
  const list = (end) => {
    const out = [];
    for (at++, skip(); s[at] !== end; skip()) {
      if (at >= s.length) throw bad();
      out.push(value());
      skip();
      if (s[at] === ",") at++; else if (s[at] !== end) throw bad();
    }
    at++;
    return out;
  };
  function text(q) {
    let out = "";
    for (at++; s[at] !== q; at++) {
      if (at >= s.length) throw bad();
      if (s[at] !== "\\") { out += s[at]; continue; }
      at++;
      const hex = { x: 2, u: 4, U: 8 }[s[at]];
      if (hex) { out += String.fromCodePoint(parseInt(s.slice(at + 1, at + 1 + hex), 16)); at += hex; }
      else out += { n: "\n", t: "\t", r: "\r" }[s[at]] ?? s[at];
    }
    at++;
    return out;
  }
  function value() {
    skip();
    const c = s[at];
    if (c === "'" || c === '"') return text(c);
    if (c === "[") return list("]");
    if (c === "(") return list(")");
    if (c === "{") {
      const out = new Map();
      for (at++, skip(); s[at] !== "}"; skip()) {
        if (at >= s.length) throw bad();
        const k = value();
        skip();
        if (s[at++] !== ":") throw bad();
        out.set(k, value());
        skip();
        if (s[at] === ",") at++;
      }
      at++;
      return out;
    }
    const word = /^(True|False|None|-?\d+L?)/.exec(s.slice(at, at + 24))?.[0];
    if (!word) throw bad();
    at += word.length;
    return { True: true, False: false, None: null }[word] ?? (word === "None" ? null : Number.parseInt(word, 10));
  }
  return value();
}

const arrays = {
  b1: Uint8Array, u1: Uint8Array, i1: Int8Array, u2: Uint16Array, i2: Int16Array, u4: Uint32Array, i4: Int32Array,
  u8: BigUint64Array, i8: BigInt64Array, f4: Float32Array, f8: Float64Array, M8: BigInt64Array, m8: BigInt64Array,
  c8: Float32Array, c16: Float64Array,
};

// half is the number of 16 bits of a float16.
function half(b) {
  const sign = b & 0x8000 ? -1 : 1, e = (b >> 10) & 31, m = b & 1023;
  if (e === 31) return m ? NaN : sign * Infinity;
  return sign * (e ? 2 ** (e - 15) * (1 + m / 1024) : 2 ** -14 * (m / 1024));
}

// shortest is the shortest text that a rounding to the stored type takes back to v.
function shortest(v, digits, round) {
  if (!Number.isFinite(v)) return Number.isNaN(v) ? "nan" : v > 0 ? "inf" : "-inf";
  for (let p = 1; p < digits && v !== 0; p++) {
    const t = Number(v.toPrecision(p));
    if (round(t) === v) return plain(t);
  }
  return plain(v);
}

// plain writes a finite number as NumPy does a float64, but for the .0 of whole ones.
function plain(v) {
  const a = Math.abs(v);
  if (a !== 0 && (a >= 1e16 || a < 1e-4)) return v.toExponential().replace(/e([+-])(\d)$/, "e$10$2");
  return Object.is(v, -0) ? "-0" : String(v);
}

const float = (text) => (/^-?\d+$/.test(text) ? `${text}.0` : text);

// NaT is the least int64.
const NaT = -(2n ** 63n);

const spans = { Y: 0, M: 0, W: 604800000n * 1000000n, D: 86400000n * 1000000n, h: 3600000n * 1000000n, m: 60000n * 1000000n, s: 10n ** 9n, ms: 10n ** 6n, us: 1000n, ns: 1n };

// moment writes a datetime64 of so many units as NumPy does.
function moment(v, unit, step) {
  if (v === NaT) return "NaT";
  const n = v * BigInt(step);
  const year = (y) => (y < 0n ? `-${year(-y)}` : String(y).padStart(4, "0"));
  if (unit === "Y") return year(1970n + n);
  const floor = (a, b) => (a % b < 0n ? a / b - 1n : a / b);
  if (unit === "M") { const y = floor(n, 12n); return `${year(1970n + y)}-${String(n - y * 12n + 1n).padStart(2, "0")}`; }
  if (!spans[unit]) return `${n} ${unit}`;
  const ns = n * spans[unit], ms = Number(floor(ns, 10n ** 6n));
  if (Math.abs(ms) > 8.64e15) return `${n} ${unit}`;
  const text = new Date(ms).toISOString(), rest = String(ns - BigInt(ms) * 10n ** 6n).padStart(6, "0");
  switch (unit) {
    case "W": case "D": return text.slice(0, -14);
    case "h": return text.slice(0, -11);
    case "m": return text.slice(0, -8);
    case "s": return text.slice(0, -5);
    case "ms": return text.slice(0, -1);
    case "us": return text.slice(0, -1) + rest.slice(0, 3);
    default: return text.slice(0, -1) + rest;
  }
}

// members lists the members of a structured type, as {name, descr, shape}; null of others.
export function members(descr) {
  if (typeof descr === "string") {
    if (!descr.startsWith("[")) return null;
    descr = literal(descr);
  }
  if (!Array.isArray(descr)) return null;
  return descr.filter((m) => m[0] !== "").map(([name, d, shape]) => ({ name: Array.isArray(name) ? name[1] : name, descr: d, shape: shape ?? [] }));
}

// kindOf says what items of a type are: "number", "complex", "time", or "" if they
// cannot be drawn.
export function kindOf(descr) {
  const m = /^[<>|=]?([a-zA-Z]\d+)/.exec(typeof descr === "string" ? descr : "");
  const t = m?.[1];
  if (t === "f2") return "number";
  if (!arrays[t]) return "";
  return t[0] === "c" ? "complex" : t[0] === "M" || t[0] === "m" ? "time" : "number";
}

// parse reads a .npy into {shape, dtype, data, size, number(i), text(i)}: data as stored
// (BigInt64Array of int64; two numbers an item of complex ones), number for a picture
// (NaN of NaT), text exactly; plain says that data are those numbers. Types that have no
// numbers are a Fault.
export function parse(buffer) {
  const v = new DataView(buffer);
  if (buffer.byteLength < 10 || v.getUint32(0) !== 0x934e554d || v.getUint16(4) !== 0x5059) throw new Fault(0, "npy", "the answer is no .npy");
  const old = v.getUint8(6) === 1, length = old ? v.getUint16(8, true) : v.getUint32(8, true), from = old ? 10 : 12;
  if (from + length > buffer.byteLength) throw new Fault(0, "npy", "the answer is shorter than it says");
  const head = literal(new TextDecoder(v.getUint8(6) < 3 ? "latin1" : "utf-8").decode(new Uint8Array(buffer, from, length)));
  const shape = head instanceof Map ? head.get("shape") : null, descr = shape && head.get("descr");
  if (!Array.isArray(shape) || !shape.every((n) => Number.isSafeInteger(n) && n >= 0) || !(typeof descr === "string" || Array.isArray(descr))) throw bad();
  if (Array.isArray(descr)) throw new Fault(0, "structured", `items with the members ${members(descr).map((m) => m.name).join(", ")}: choose one`);
  const size = shape.reduce((a, b) => a * b, 1);
  const out = items(descr, buffer, from + length, size);
  if (head.get("fortran_order") && shape.length > 1) throw new Fault(0, "npy", "the answer is in Fortran order");
  return { shape, dtype: descr, size, plain: !/^[<>|=]?(c|M|m|[ui]8)/.test(descr), ...out };
}

// items reads items of a type that lie one behind the other: {data, number(i), text(i)}.
export function items(descr, buffer, at, size) {
  const [, order, type, , step, unit] = /^([<>|=])?([a-zA-Z]\d+)(\[(\d*)(\w+)\])?$/.exec(descr) ?? [];
  const small = type === "f2", T = small ? Uint16Array : arrays[type], per = type?.[0] === "c" ? 2 : 1;
  if (!T) throw new Fault(0, "type", `items of the type ${descr} cannot be drawn`);
  const n = T.BYTES_PER_ELEMENT;
  if (buffer.byteLength - at < size * per * n) throw new Fault(0, "npy", "the answer is shorter than it says");
  let u = new Uint8Array(buffer, at, size * per * n);
  if (order === ">" && n > 1) { u = u.slice(); for (let i = 0; i < u.length; i += n) u.subarray(i, i + n).reverse(); }
  else if (at % n) u = u.slice();
  let data = new T(u.buffer, u.byteOffset, size * per);
  if (small) data = globalThis.Float16Array ? new Float16Array(data.buffer, data.byteOffset, size) : Float32Array.from(data, half);
  switch (type) {
    case "b1": return { data, number: (i) => data[i], text: (i) => (data[i] ? "True" : "False") };
    case "f2": return { data, number: (i) => data[i], text: (i) => float(shortest(data[i], 5, round16)) };
    case "f4": return { data, number: (i) => data[i], text: (i) => float(shortest(data[i], 9, Math.fround)) };
    case "f8": return { data, number: (i) => data[i], text: (i) => float(shortest(data[i], 0)) };
    case "u8": case "i8": return { data, number: (i) => Number(data[i]), text: (i) => String(data[i]) };
    case "M8": return { data, number: (i) => (data[i] === NaT ? NaN : Number(data[i])), text: (i) => moment(data[i], unit, step || 1) };
    case "m8": return { data, number: (i) => (data[i] === NaT ? NaN : Number(data[i])), text: (i) => (data[i] === NaT ? "NaT" : `${data[i] * BigInt(step || 1)} ${unit ?? ""}`.trim()) };
    case "c8": case "c16": {
      const part = type === "c8" ? (v) => shortest(v, 9, Math.fround) : (v) => shortest(v, 0);
      return { data, number: (i) => Math.hypot(data[2 * i], data[2 * i + 1]),
        text: (i) => { const im = part(data[2 * i + 1]); return `${part(data[2 * i])}${/^-/.test(im) ? "" : "+"}${im}j`; } };
    }
    default: return { data, number: (i) => data[i], text: (i) => String(data[i]) };
  }
}

// round16 is the float16 nearest to a number in its range.
const round16 = Math.f16round ?? ((v) => {
  const a = Math.abs(v), e = Math.max(Math.floor(Math.log2(a || 1)), -14), unit = 2 ** (e - 10), q = a / unit, f = Math.floor(q);
  const up = q - f > 0.5 || (q - f === 0.5 && f % 2 === 1);
  return Math.sign(v) * (f + (up ? 1 : 0)) * unit;
});
