// Wheel, mouse and fingers on the plot of a series and on the strip above it.

import { axisWidth, edge } from "./seriesplot.js";

// hands listens to s.area and s.strip, and returns a function that ends it.
export function hands(s) {
  const { area, strip, line, choice } = s, stop = new AbortController(), on = { signal: stop.signal };
  const fingers = new Map(); // pointer → x
  let grab = null; // what a pointer does: {how, x, t0, t1}

  const place = (e) => { const r = area.getBoundingClientRect(); return { x: e.clientX - r.left - axisWidth, wide: r.width - axisWidth - edge }; };
  const timeAt = (x, wide, a = s.t0, b = s.t1) => a + (b - a) * Math.min(Math.max(x / wide, 0), 1);

  area.addEventListener("wheel", (e) => {
    if (e.altKey || e.metaKey) return;
    e.preventDefault();
    const unit = e.deltaMode === 1 ? 24 : e.deltaMode === 2 ? 400 : 1, { x, wide } = place(e);
    const dx = e.deltaX * unit, dy = e.deltaY * unit;
    if (Math.abs(dx) > Math.abs(dy) || (e.shiftKey && !e.ctrlKey)) { const d = (dx || dy) / wide * (s.t1 - s.t0); s.move(s.t0 + d, s.t1 + d, false); return; }
    s.zoom(Math.exp(Math.min(Math.max(dy, -150), 150) * (e.ctrlKey ? 0.012 : 0.004)), timeAt(x, wide), false);
    hover(e);
  }, { ...on, passive: false });

  area.addEventListener("pointerdown", (e) => {
    if (e.button) return;
    const { x, wide } = place(e);
    if (e.pointerType === "mouse") { e.preventDefault(); area.focus({ preventScroll: true }); }
    fingers.set(e.pointerId, x);
    area.setPointerCapture(e.pointerId);
    if (fingers.size === 2) { grab = pinch(wide); choice.hidden = true; return; }
    if (fingers.size > 2) return;
    grab = { how: e.shiftKey ? "choose" : "pan", x, t0: s.t0, t1: s.t1 };
    area.classList.toggle("grabbed", grab.how === "pan");
  }, on);

  // pinch notes the two times that the fingers hold.
  function pinch(wide) {
    const [a, b] = [...fingers.values()].sort((p, q) => p - q);
    return { how: "pinch", a: timeAt(a, wide), b: timeAt(b, wide) };
  }

  area.addEventListener("pointermove", (e) => {
    const { x, wide } = place(e);
    if (fingers.has(e.pointerId)) fingers.set(e.pointerId, x);
    hover(e);
    if (!grab) return;
    if (grab.how === "pinch" && fingers.size === 2) {
      const [p, q] = [...fingers.values()].sort((a, b) => a - b);
      if (q - p > 8) { const k = (grab.b - grab.a) / (q - p), t0 = grab.a - p * k; s.move(t0, t0 + wide * k, false); }
    } else if (grab.how === "pan") {
      const d = (grab.x - x) / wide * (grab.t1 - grab.t0);
      s.move(grab.t0 + d, grab.t1 + d, false);
    } else if (grab.how === "choose") {
      const a = Math.max(0, Math.min(grab.x, x)), b = Math.min(wide, Math.max(grab.x, x));
      choice.hidden = false;
      choice.style.left = `${axisWidth + a}px`;
      choice.style.width = `${b - a}px`;
    }
  }, on);

  const end = (e) => {
    if (!fingers.delete(e.pointerId)) return;
    const { x, wide } = place(e), g = grab;
    grab = null;
    area.classList.remove("grabbed");
    choice.hidden = true;
    if (fingers.size === 1 && g?.how === "pinch") { const [only] = fingers.values(); grab = { how: "pan", x: only, t0: s.t0, t1: s.t1 }; return; }
    if (g?.how === "choose" && e.type === "pointerup" && Math.abs(x - g.x) > 4) s.move(timeAt(Math.min(x, g.x), wide), timeAt(Math.max(x, g.x), wide));
    if (e.type === "pointerup" && e.pointerType === "touch" && g?.how === "pan" && Math.abs(x - g.x) < 4) taps(e);
  };
  area.addEventListener("pointerup", end, on);
  area.addEventListener("pointercancel", end, on);
  area.addEventListener("dblclick", () => s.move(s.least, s.most), on);

  // taps: two within a third of a second show all, as a double click does.
  let tapped = 0;
  function taps(e) { if (e.timeStamp - tapped < 350) s.move(s.least, s.most); tapped = e.timeStamp; }

  function hover(e) {
    const { x, wide } = place(e), inside = x >= 0 && x <= wide && e.type !== "pointerleave";
    line.hidden = !inside;
    if (inside) line.style.transform = `translateX(${axisWidth + x}px)`;
    s.readout.point(inside ? timeAt(x, wide) : null);
  }
  area.addEventListener("pointerleave", (e) => { if (!grab) hover(e); }, on);

  // The strip: a click puts the middle of the window there, a drag moves it.
  let held = null;
  const along = (e) => { const r = strip.getBoundingClientRect(); return s.least + (s.most - s.least) * (e.clientX - r.left) / r.width; };
  strip.addEventListener("pointerdown", (e) => {
    if (e.button) return;
    e.preventDefault();
    strip.setPointerCapture(e.pointerId);
    const t = along(e), d = s.t1 - s.t0;
    held = t >= s.t0 && t <= s.t1 ? t - s.t0 : d / 2;
    s.move(t - held, t - held + d, false);
  }, on);
  strip.addEventListener("pointermove", (e) => { if (held !== null) { const t = along(e) - held; s.move(t, t + s.t1 - s.t0, false); } }, on);
  for (const name of ["pointerup", "pointercancel"]) strip.addEventListener(name, () => { held = null; }, on);

  return () => stop.abort();
}
