// What the views of series, images, items and other files share.

import { el } from "./dom.js";

// mediaOf is the type of a picture by its first bytes, or "". Nothing that a browser would
// run is a picture.
export function mediaOf(p) {
  const is = (at, ...b) => b.every((x, i) => p[at + i] === x);
  if (is(0, 0xff, 0xd8, 0xff)) return "image/jpeg";
  if (is(0, 0x89, 0x50, 0x4e, 0x47)) return "image/png";
  if (is(0, 0x47, 0x49, 0x46, 0x38)) return "image/gif";
  if (is(0, 0x52, 0x49, 0x46, 0x46) && is(8, 0x57, 0x45, 0x42, 0x50)) return "image/webp";
  if (is(0, 0x42, 0x4d) && p.length > 26) return "image/bmp";
  return "";
}

// utf8 is the text of bytes, or null if they are none. cut: the end may be in the middle
// of a character.
export function utf8(p, cut = false) {
  try { return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(p, { stream: cut }); } catch { return null; }
}

// printable reports whether a text has no control characters but white space.
export const printable = (s) => !/[\u0000-\u0008\u000e-\u001f\u007f]/.test(s); // eslint-disable-line no-control-regex

// hex writes bytes 16 a line, with their offset and what of them is ASCII.
export function hex(p, from = 0) {
  const lines = [], width = Math.max(4, (from + p.length).toString(16).length);
  for (let i = 0; i < p.length; i += 16) {
    const row = p.subarray(i, i + 16), two = [...row].map((b) => b.toString(16).padStart(2, "0"));
    const text = [...row].map((b) => (b >= 32 && b < 127 ? String.fromCharCode(b) : "·")).join("");
    lines.push(`${(from + i).toString(16).padStart(width, "0")}  ${two.slice(0, 8).join(" ").padEnd(23)}  ${two.slice(8).join(" ").padEnd(23)}  ${text}`);
  }
  return lines.join("\n");
}

// pretty writes JSON with indents, and its numbers and strings as they stand there: a
// number of 20 digits stays one. It is null of what is no JSON object or list.
export function pretty(text) {
  if (!/^\s*[[{]/.test(text)) return null;
  try { JSON.parse(text); } catch { return null; }
  let out = "", depth = 0;
  const line = () => `\n${"  ".repeat(depth)}`;
  for (const [token] of text.matchAll(/"(?:[^"\\]|\\.)*"|[[\]{}:,]|[^\s[\]{}:,"]+/g)) {
    if (token === "{" || token === "[") { depth++; out += token + line(); } else if (token === "}" || token === "]") {
      depth--;
      out = out.replace(/\s+$/, "");
      out += /[[{]$/.test(out) && out.at(-1) === (token === "}" ? "{" : "[") ? token : line() + token;
    } else out += token === ":" ? ": " : token === "," ? `,${line()}` : token;
  }
  return out;
}

// copy puts a text where the user can paste it. Pages without HTTPS have no clipboard of
// their own, so a field is selected and copied.
export async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    // the other way
  }
  const t = el("textarea", { value: text, class: "hidden", "aria-hidden": "true", tabIndex: -1 });
  document.body.append(t);
  t.select();
  const done = document.execCommand("copy");
  t.remove();
  return done;
}

// teller tells screen readers the value at a place that keys have moved to: when it is there, and
// again if a finer picture says another one.
export function teller(announce) {
  let to, said;
  return {
    move(place) { to = place; said = null; },
    now(place, text) { if (place === to && text !== said) announce(said = text); },
  };
}

// copyButton copies what text() says.
export function copyButton(text, label = "Copy", announce = () => {}) {
  const b = el("button", { type: "button", class: "copy", onclick: async () => {
    const done = await copy(text());
    say(done ? "Copied" : "Select it");
    announce(done ? "Copied" : "It could not be copied");
    setTimeout(() => say("Copy", label), 1600);
  } });
  const say = (text, name = text) => { b.textContent = text; b.setAttribute("aria-label", name); };
  say("Copy", label);
  return b;
}
