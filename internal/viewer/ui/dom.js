// Elements, numbers as text, colours of the theme.

// el makes an element. Properties that an element has are set as such, others as
// attributes; strings become text, never HTML.
export function el(tag, props = {}, ...kids) {
  const e = document.createElement(tag);
  for (const [k, v] of Object.entries(props)) {
    if (v == null || v === false) continue;
    if (k === "class") e.className = v;
    else if (k.startsWith("on")) e.addEventListener(k.slice(2), v);
    else if (k in e && !k.includes("-")) e[k] = v;
    else e.setAttribute(k, v === true ? "" : v);
  }
  e.append(...kids.flat().filter((k) => k != null && k !== false));
  return e;
}

// label joins a word and a control.
export const field = (text, ...controls) => el("label", { class: "field" }, el("span", {}, text), ...controls);

const units = ["B", "KB", "MB", "GB", "TB", "PB"];

// bytes writes a size, with units of 1000.
export function bytes(n) {
  if (n == null || n < 0) return "";
  let u = 0;
  while (n >= 999.5 && u < units.length - 1) { n /= 1000; u++; }
  return `${u === 0 || n >= 99.5 ? Math.round(n) : n.toFixed(1)} ${units[u]}`;
}

// count writes a whole number with thin groups.
export const count = (n) => (n == null || n < 0 ? "" : n.toLocaleString("en"));

// plural writes a number with its word.
export const plural = (n, word) => `${count(n)} ${word}${n === 1 ? "" : "s"}`;

// short writes a number for an axis, with so many digits.
export function short(v, digits = 5) {
  if (v == null || Number.isNaN(v)) return "–";
  if (!Number.isFinite(v)) return v > 0 ? "∞" : "−∞";
  const a = Math.abs(v);
  if (a !== 0 && (a >= 1e7 || a < 1e-4)) return v.toExponential(digits - 1).replace(/\.?0*e\+?/, "e");
  return String(Number(v.toPrecision(digits)));
}

// digits is how many digits numbers between two ends need to differ.
export const digits = (lo, hi) => Math.min(17, 3 + Math.max(2, Math.ceil(Math.log10(Math.max(Math.abs(lo), Math.abs(hi)) / (hi - lo || 1))) || 0));

// color is what a variable of the style sheet is in this theme, as rgb(…), for a canvas.
export function color(name) {
  const probe = document.getElementById("live");
  probe.style.color = `var(${name})`;
  const c = getComputedStyle(probe).color;
  probe.style.color = "";
  return c;
}

// later calls fn once, some time after the last call; now() calls it at once.
export function later(ms, fn) {
  let timer = 0;
  const call = () => { clearTimeout(timer); timer = setTimeout(() => { timer = 0; fn(); }, ms); };
  call.now = () => { if (timer) { clearTimeout(timer); timer = 0; fn(); } };
  call.stop = () => { clearTimeout(timer); timer = 0; };
  return call;
}
