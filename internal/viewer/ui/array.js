// An array: a plane of it with sliders for its other axes, one axis as a line, or a value.

import { el } from "./dom.js";
import { kindOf, members } from "./npy.js";
import { Model } from "./model.js";
import { Tiles } from "./tiles.js";
import { PlaneView } from "./plane.js";
import { Side } from "./side.js";
import { Controls } from "./controls.js";

export async function mount(box, ctx) {
  const { info } = ctx;
  const list = members(info.dtype), asked = list?.find((m) => m.name === ctx.state.field);
  const drawn = asked ? kindOf(asked.descr) : kindOf(info.dtype) || list?.some((m) => kindOf(m.descr));
  if (info.shape.includes(0)) { box.append(el("p", { class: "note" }, "The array has no items.")); return { destroy() {} }; }
  if (!drawn || info.shape.every((n) => n === 1)) return (await import("./text.js")).mount(box, ctx);
  if (info.shape.length === 1) return (await import("./line.js")).mount(box, ctx);
  return mountPlane(box, ctx);
}

// tilesOf are the tiles of a model.
export function tilesOf(ctx, m, o) {
  const t = new Tiles({ shape: m.shape, inner: m.inner, chosen: m.chosen, lane: ctx.api.lane("tiles"), ahead: ctx.api.lane("ahead", 1),
    url: (s) => ctx.api.url("slice", ctx.root, ctx.key, { s, field: m.member?.name }), failed: (e) => ctx.fail(e), ...o });
  return t;
}

// save names a download after the array.
export const fileName = (ctx, ending) => `${(ctx.key.split("/").filter(Boolean).pop() ?? ctx.root).replace(/\.[^.]*$/, "")}.${ending}`;

function mountPlane(box, ctx) {
  const m = new Model(ctx), stage = el("div", { class: "stage" }), left = el("div", { class: "left" }), right = el("aside", { class: "side", "aria-label": "Colours and profile" });
  const top = el("div", { class: "controls" });
  stage.append(left, right);
  box.append(top, stage);
  let plane, side, over = () => {};
  const tiles = tilesOf(ctx, m, { changed: (at) => plane.arrived(at), again: () => plane.askLater(), failed: (e) => {
    if (e.code === "too-large" || e.code === "too-much") e.offer = { label: "Zoom in", run: () => plane.zoom(4) };
    over = ctx.fail(e);
  } });
  plane = new PlaneView(left, m, tiles, { settled(list, whole) { if (whole) { over(); m.find(); } side.settled(list); } });
  side = new Side(right, m, tiles, plane);
  const controls = new Controls(top, m, plane, {
    member() { Object.assign(tiles, { inner: m.inner, chosen: m.chosen }); tiles.clear(); side.profile = null; side.text = ""; m.change("plane"); },
    npy: () => ctx.api.download(ctx.api.url("slice", ctx.root, ctx.key, { s: m.text(plane.window(), plane.level()), field: m.member?.name }), fileName(ctx, "npy")).catch(ctx.fail),
    png: async () => ctx.api.saveBlob(await plane.picture(), fileName(ctx, "png")),
  });
  tiles.lane.idle = () => plane.idle();
  const stop = m.on((kind) => { plane.update(kind); side.update(kind); controls.update(kind); });
  ctx.elsewhere(() => ({ kind: "array", slice: m.text(plane.window(), plane.level()), field: m.member?.name }));
  keys(ctx, plane, side, controls);
  const redraw = () => { plane.draw(); side.drawHistogram(); side.drawProfile(); };
  document.addEventListener("themechange", redraw);
  side.update("plane");
  return { destroy() { document.removeEventListener("themechange", redraw); stop(); plane.destroy(); side.destroy(); controls.destroy(); tiles.clear(); } };
}

function keys(ctx, plane, side, controls) {
  const pan = (x, y) => plane.pan(x * plane.plot.w, y * plane.plot.h, true);
  ctx.keys([
    ["ArrowLeft", "move the picture", () => pan(-0.15, 0)], ["ArrowRight", "move the picture", () => pan(0.15, 0)],
    ["ArrowUp", "move the picture", () => pan(0, -0.15)], ["ArrowDown", "move the picture", () => pan(0, 0.15)],
    ["Shift+ArrowLeft", "move the point that is read", () => plane.step(0, -1)], ["Shift+ArrowRight", "move the point that is read", () => plane.step(0, 1)],
    ["Shift+ArrowUp", "move the point that is read", () => plane.step(-1, 0)], ["Shift+ArrowDown", "move the point that is read", () => plane.step(1, 0)],
    [["+", "="], "zoom in", () => plane.zoom(1.6)], ["-", "zoom out", () => plane.zoom(1 / 1.6)], ["0", "all of it", () => plane.fit()],
    ["[", "the step before, of the slider used last", () => controls.step(-1)], ["]", "the next step", () => controls.step(1)], [" ", "play, or stop", () => controls.play()],
    ["s", "swap the axes", () => controls.swap()], ["m", "the next colours", () => controls.nextMap()], ["p", "the next kind of profile", () => side.next()],
  ]);
}
