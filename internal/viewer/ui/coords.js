// Coordinates: where the items of an array lie along its dimensions. They are in its
// metadata, or in an array of one axis beside it that is called like a dimension.

import { items, kindOf } from "./npy.js";

const most = 65536; // items of an array of coordinates
const units = { day: 864e5, d: 864e5, hour: 36e5, hr: 36e5, h: 36e5, minute: 6e4, min: 6e4, second: 1e3, sec: 1e3, s: 1e3, millisecond: 1, msec: 1, ms: 1, microsecond: 1e-3 };
const gregorian = -12219292800000; // 1582-10-15, where the calendar of that name begins

// since takes apart "days since 2000-01-01 06:00" of the CF conventions: what one of it is
// in ms, and where it begins. It is null of what is no time, or of another calendar.
export function since({ units: text, calendar = "standard" }) {
  const m = /^\s*([a-z]+?)s?\s+since\s+(\d{1,4})-(\d\d?)-(\d\d?)(?:[T\s]+(\d\d?)(?::(\d\d?)(?::(\d\d?(?:\.\d*)?))?)?)?\s*(?:Z|UTC|GMT|([+-])(\d\d?):?(\d\d)?)?\s*$/i.exec(typeof text === "string" ? text : "");
  const one = m && (units[m[1].toLowerCase()] ?? units[`${m[1]}s`.toLowerCase()]);
  if (!one || !/^(standard|gregorian|proleptic_gregorian)$/i.test(calendar)) return null;
  const d = new Date(0), n = m.map((x) => Number(x ?? 0));
  d.setUTCFullYear(n[2], n[3] - 1, n[4]);
  if (n[3] < 1 || n[3] > 12 || d.getUTCDate() !== n[4] || n[5] > 24 || n[6] > 59 || n[7] >= 61) return null;
  const off = (m[8] === "-" ? -1 : 1) * (n[9] * 60 + n[10]) * 6e4;
  return { one, from: d.getTime() + n[5] * 36e5 + n[6] * 6e4 + n[7] * 1e3 - off, early: /^proleptic/i.test(calendar) ? -Infinity : gregorian };
}

// dated writes a time of CF as a date, with what of the time of day is not 0; null if a
// Date cannot hold it.
export function dated({ one, from, early }, v) {
  const ms = Math.round(from + v * one);
  if (!(Math.abs(ms) <= 8.64e15) || ms < early || from < early) return null;
  const text = new Date(ms).toISOString().replace("T", " ");
  return text.slice(0, ms % 864e5 === 0 ? -14 : ms % 6e4 === 0 ? -8 : ms % 1e3 === 0 ? -5 : -1);
}

// told reads a coordinate of the array's own metadata, as the server tells it: numbers by
// their first one and their distance, or a list; times are seconds since 1970.
function told({ start, step, values, time }) {
  const at = start === undefined ? (i) => values[i] : (i) => start + i * step;
  const plain = (v) => (typeof v === "number" ? String(Number(v.toPrecision(12))) : String(v));
  return (i) => { const v = at(i); return (time && typeof v === "number" && dated({ one: 1e3, from: 0, early: -Infinity }, v)) || plain(v); };
}

// reading is a coordinate as text: a date where its attributes say so.
function reading(values, attrs) {
  const time = since(attrs);
  return (i) => (time && dated(time, values.number(i))) || values.text(i);
}

// load finds the coordinates of an array and gives each, once it is there, to found(axis,
// text of an index). What is not there or cannot be read is left out without a word.
export async function load({ root, key, info, api }, found) {
  const o = { as: "json", lane: "coords" }, folder = key.split("/").slice(0, -1), in_ = (name) => [...folder, name].join("/");
  let names = null;
  // beside finds the name of the array of a dimension: with one listing, or one more for
  // each if that has more pages.
  const beside = async (dim) => {
    names ??= key && await api.get(api.url("ls", root, folder.length ? `${folder.join("/")}/` : ""), o);
    const of = (page) => page?.entries.find((e) => /^\.(b2nd|b2frame|npy)$/.test(e.name.slice(dim.length)) && e.name.startsWith(dim) && in_(e.name) !== key)?.name;
    return of(names) ?? (names?.next ? of(await api.get(api.url("ls", root, folder.length ? `${folder.join("/")}/` : "", { after: dim, limit: 20 }), o)) : null);
  };
  const array = async (name, size) => {
    const at = in_(name), other = await api.get(api.url("info", root, at), o);
    if (!other.can.includes("slice") || String(other.shape) !== String(size) || size > most || !kindOf(other.dtype)) return null;
    return reading(await api.get(api.url("slice", root, at, { s: ":" }), { as: "npy", lane: "coords" }), { ...other.metadata, ...other.attrs });
  };
  for (const [axis, dim] of info.dims.entries()) {
    const size = info.shape[axis], own = info.coords?.find((c) => c.dim === dim);
    try {
      if (own?.start !== undefined || own?.values?.length >= size) { found(axis, told(own)); continue; }
      const name = own?.array ?? await beside(dim), text = name && await array(name, size);
      if (text) found(axis, text);
    } catch (e) {
      if (api.aborted(e)) return;
    }
  }
}
