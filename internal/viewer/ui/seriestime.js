// Times of a series: seconds after its time 0, which may have a date in UTC. Ticks,
// texts, and texts that people type.

const day = 86400;

// parseOrigin takes apart the time of RFC 3339 that is time 0: whole seconds since 1970,
// and a fraction. It is null of what is no time.
export function parseOrigin(text) {
  const m = /^(.*:\d\d)(?:\.(\d+))?(Z|[+-]\d\d:\d\d)$/.exec(text ?? "");
  const ms = m ? Date.parse(m[1] + m[3]) : NaN;
  return Number.isNaN(ms) ? null : { sec: ms / 1000, frac: m[2] ? Number(`0.${m[2]}`) : 0 };
}

// date is the Date of the whole second of a time, and what is left of it; null if a Date
// cannot hold it.
function date(origin, t, digits) {
  const all = origin.frac + t, unit = 10 ** digits;
  let s = Math.floor(all), rest = Math.round((all - s) * unit);
  if (rest >= unit) { s++; rest = 0; }
  const d = new Date((origin.sec + s) * 1000);
  return Number.isNaN(d.getTime()) ? null : { d, rest };
}

// utcText writes a time in UTC with so many digits of a second.
export function utcText(origin, t, digits = 0) {
  const at = date(origin, t, digits);
  if (!at) return relText(t, digits);
  return `${at.d.toISOString().replace(/\.\d+Z$/, "").replace("T", " ")}${digits ? `.${String(at.rest).padStart(digits, "0")}` : ""} UTC`;
}

const two = (n) => String(n).padStart(2, "0");

// relText writes seconds as 1 d 2:03:04.5, 2:03:04.5, 3:04.5 or 4.5 s; as long as `like`
// would be written.
export function relText(t, digits = 0, like = t) {
  const unit = 10 ** digits, a = Math.abs(Math.round(t * unit) / unit), sign = t < 0 && a > 0 ? "−" : "", most = Math.abs(like);
  const whole = Math.floor(a), rest = digits ? (a - whole).toFixed(digits).slice(1) : "";
  if (most < 60) return `${sign}${whole}${rest} s`;
  const s = whole % 60, m = Math.floor(whole / 60) % 60, h = Math.floor(whole / 3600);
  if (most < 3600) return `${sign}${Math.floor(whole / 60)}:${two(s)}${rest}`;
  if (most < 2 * day) return `${sign}${h}:${two(m)}:${two(s)}${rest}`;
  return `${sign}${Math.floor(h / 24)} d ${h % 24}:${two(m)}:${two(s)}${rest}`;
}

// timeText writes a time in UTC if there is an origin.
export const timeText = (origin, t, digits, like) => (origin ? utcText(origin, t, digits) : relText(t, digits, like));

// spanText writes how long something takes.
export function spanText(s) {
  for (const [unit, name, n = 1] of [[2 * 365.25 * day, "years", 2], [2 * day, "days", 2], [3600, "h"], [60, "min"], [1, "s"], [1e-3, "ms"], [1e-6, "µs"]]) {
    if (s >= unit * (1 - 1e-9)) return `${Number((s * n / unit).toPrecision(3))} ${name}`;
  }
  return `${Number((s * 1e9).toPrecision(3))} ns`;
}

// digitsFor is how many digits tell times apart that lie so many seconds apart.
export const digitsFor = (s) => Math.min(9, Math.max(0, Math.ceil(-Math.log10(s) - 1e-9)));

// ---- ticks

const steps = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, day, 2 * day, 5 * day];

function stepOf(least) {
  if (least <= 1) {
    const e = 10 ** Math.floor(Math.log10(least));
    return [1, 2, 5, 10].map((n) => n * e).find((s) => s >= least * (1 - 1e-9));
  }
  const s = steps.find((x) => x >= least);
  if (s) return s;
  const d = least / day, e = 10 ** Math.floor(Math.log10(d));
  return day * [1, 2, 5, 10].map((n) => n * e).find((n) => n >= d);
}

const months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

// calendar gives ticks at months or years.
function calendar(a, b, least, origin) {
  const from = date(origin, a, 0)?.d, every = [1, 2, 3, 6].find((m) => m * 28 * day >= least);
  const years = every ? 0 : [1, 2, 5].flatMap((n) => [1, 10, 100, 1000].map((e) => n * e)).sort((x, y) => x - y).find((y) => y * 365 * day >= least) ?? 10000;
  const out = [];
  if (!from) return out;
  let y = from.getUTCFullYear(), m = every ? Math.floor(from.getUTCMonth() / every) * every : 0;
  if (years) y = Math.floor(y / years) * years;
  for (let n = 0; n < 200; n++) {
    const at = Date.UTC(2000, m, 1);
    const d = new Date(at);
    d.setUTCFullYear(y + d.getUTCFullYear() - 2000);
    const t = d.getTime() / 1000 - origin.sec - origin.frac;
    if (!(t <= b)) break;
    if (t >= a) out.push({ t, text: years || m % 12 === 0 ? String(d.getUTCFullYear()) : months[d.getUTCMonth()], below: "" });
    if (years) y += years; else m += every;
  }
  return out;
}

// ticks are times from a to b with texts of one or two lines, as many as fit on so many
// pixels.
export function ticks(a, b, pixels, origin) {
  const span = b - a;
  if (!(span > 0) || !(pixels > 0)) return [];
  const digits = digitsFor(span / 10), wide = origin ? (span < 5 ? 62 + 8 * digits : 76) : 50 + 8 * digits;
  const least = span * wide / pixels;
  if (origin && least > 5 * day) { const list = calendar(a, b, least, origin); if (list.length) return list; }
  const step = stepOf(least), dig = digitsFor(step), out = [];
  const shift = origin ? (step >= 1 ? ((origin.sec % step) + step) % step : 0) + origin.frac : 0;
  let last = "";
  for (let i = Math.ceil((a + shift) / step - 1e-9), n = 0; n < 500; i++, n++) {
    const t = i * step - shift;
    if (t > b) break;
    const at = origin && date(origin, t, dig);
    if (!at) { out.push({ t, text: relText(t, dig, Math.max(Math.abs(a), Math.abs(b))), below: "" }); continue; }
    const iso = at.d.toISOString(), today = `${at.d.getUTCDate()} ${months[at.d.getUTCMonth()]} ${at.d.getUTCFullYear()}`;
    const clock = iso.slice(-13, step >= 60 ? -8 : -5) + (dig ? `.${String(at.rest).padStart(dig, "0")}` : "");
    if (step >= day) { out.push({ t, text: today.replace(/ \d+$/, ""), below: today.slice(-4) !== last ? today.slice(-4) : "" }); last = today.slice(-4); continue; }
    out.push({ t, text: clock, below: today !== last ? today : "" });
    last = today;
  }
  return out;
}

// ---- what people type

const units = { d: day, h: 3600, m: 60, min: 60, s: 1, ms: 1e-3, us: 1e-6, µs: 1e-6, ns: 1e-9 };

// parseTime reads seconds (12.5), a duration (1h30m), a clock (1:30:00), or a time in UTC
// (2026-05-01 12:00). With an origin, a clock is of the day of `near`. It is NaN of
// anything else.
export function parseTime(text, origin, near = 0) {
  const s = text.trim().replace(/^−/, "-").replace(/\s*UTC$/i, "");
  if (s === "") return NaN;
  if (/^-?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(s)) return Number(s);
  const m = /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d)(:\d\d)?(\.\d+)?)?(Z|[+-]\d\d:\d\d)?$/i.exec(s);
  if (m) {
    if (!origin) return NaN;
    const ms = Date.parse(`${m[1]}T${m[2] ?? "00:00"}${m[3] ?? ":00"}${m[5] ?? "Z"}`);
    return ms / 1000 - origin.sec - origin.frac + Number(m[4] ?? 0);
  }
  const c = /^(-?)(?:(\d+):)?(\d{1,2}):(\d\d(?:\.\d+)?)$/.exec(s);
  if (c) {
    if (!origin) return (c[1] ? -1 : 1) * (Number(c[2] ?? 0) * 3600 + Number(c[3]) * 60 + Number(c[4]));
    const midnight = Math.floor((origin.sec + origin.frac + near) / day) * day - origin.sec - origin.frac;
    return midnight + (c[2] === undefined ? Number(c[3]) * 3600 + Number(c[4]) * 60 : Number(c[2]) * 3600 + Number(c[3]) * 60 + Number(c[4]));
  }
  const bare = s.replace(/^-/, "").replace(/\s+/g, "");
  if (!/^((\d+\.?\d*|\.\d+)(d|h|min|ms|us|µs|ns|m|s))+$/i.test(bare)) return NaN;
  let sum = 0;
  for (const [, n, u] of bare.matchAll(/(\d+\.?\d*|\.\d+)(d|h|min|ms|us|µs|ns|m|s)/gi)) sum += Number(n) * units[u.toLowerCase()];
  return s.startsWith("-") ? -sum : sum;
}
