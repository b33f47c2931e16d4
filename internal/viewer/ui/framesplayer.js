// The player of one id: frames in order at a rate, six of them ahead.

import { el, field } from "./dom.js";
import { address, labels } from "./framesids.js";
import { mediaOf } from "./viewkit.js";

const ahead = 6, heldMost = 24;
const rates = [1, 2, 5, 10, 15, 25, 50];

export class Player {
  constructor(ctx, entry, from, on) {
    const { state } = ctx;
    Object.assign(this, { ctx, entry, on, frames: entry.images, frame: Math.min(Math.max(from, 0), Math.max(0, entry.images - 1)), held: new Map(), running: false, shown: 0 });
    this.lane = ctx.api.lane("frames");
    const button = (text, label, fn) => el("button", { type: "button", "aria-label": label, title: label, onclick: fn }, text);
    this.canvas = el("canvas", { class: "frame", role: "img", "aria-label": "" });
    this.words = el("p", { class: "noframe", hidden: true });
    this.button = button("▶", "Play", () => this.toggle());
    this.slider = el("input", { type: "range", min: 0, max: Math.max(0, this.frames - 1), step: 1, value: this.frame, "aria-label": "Frame", oninput: () => { this.halt(); this.seek(Number(this.slider.value)); } });
    this.number = el("input", { type: "number", class: "small", min: 0, max: Math.max(0, this.frames - 1), "aria-label": "Number of the frame", value: this.frame, onchange: () => { this.halt(); this.seek(Number(this.number.value)); } });
    this.rate = el("select", { "aria-label": "Frames a second", onchange: () => this.setting() }, rates.map((r) => el("option", { value: r, selected: String(r) === (state.rate ?? "10") }, `${r}`)));
    if (!rates.includes(Number(state.rate ?? 10))) this.rate.value = "10";
    this.by = el("input", { type: "number", class: "small", min: 1, max: Math.max(1, this.frames - 1), value: Math.max(1, Number(state.step) || 1), onchange: () => { this.by.value = Math.min(Math.max(1, Math.floor(Number(this.by.value)) || 1), Math.max(1, this.frames - 1)); this.setting(); } });
    this.title = el("h2", { tabIndex: -1 }, entry.name);
    this.box = el("section", { class: "player panel", "aria-label": `Frames of ${entry.name}` },
      el("div", { class: "playerhead" }, this.title, el("span", { class: "group" }, button("‹ id", "Id before (p)", () => on.other(-1)), button("id ›", "Next id (n)", () => on.other(1))), el("button", { type: "button", class: "quiet", "aria-label": "Close the player (Escape)", title: "Close (Escape)", onclick: () => on.close() }, "✕")),
      el("div", { class: "playerbody" },
        el("div", { class: "screen" }, this.canvas, this.words),
        el("div", { class: "side" }, this.meta())),
      el("div", { class: "bar" }, el("span", { class: "group" }, button("‹", "Frame before (←)", () => { this.halt(); this.step(-1); }), this.button, button("›", "Next frame (→)", () => { this.halt(); this.step(1); })),
        this.slider, el("span", { class: "field" }, this.number, `of ${this.frames}`), field("rate", this.rate), field("step", this.by)));
    this.seek(this.frame);
  }

  meta() {
    const list = labels(this.entry);
    const rows = [["frames", this.frames.toLocaleString("en")], ["bytes", this.entry.size >= 0 ? this.entry.size.toLocaleString("en") : ""], ...(this.entry.object ? [["in", this.entry.object]] : []), ...list];
    return el("dl", { class: "facts-list" }, rows.filter(([, v]) => v !== "").flatMap(([k, v]) => [el("dt", {}, k), el("dd", {}, v)]));
  }

  focus() { this.title.focus({ preventScroll: true }); }

  setting() { this.ctx.setState({ rate: this.rate.value === "10" ? null : this.rate.value, step: this.by.value === "1" ? null : this.by.value }); }
  faster(by) { this.rate.selectedIndex = Math.min(Math.max(this.rate.selectedIndex + by, 0), rates.length - 1); this.setting(); }

  toggle() { if (this.running) this.halt(); else this.run(); }

  run() {
    if (this.frames < 2) return;
    this.running = true;
    this.button.textContent = "❚❚";
    this.button.setAttribute("aria-label", "Stop");
    this.due = performance.now();
    this.loop();
  }

  halt() {
    this.running = false;
    cancelAnimationFrame(this.timer);
    this.button.textContent = "▶";
    this.button.setAttribute("aria-label", "Play");
    if (this.shown) this.on.changed(this.frame);
  }

  // loop shows a frame once it is due and there.
  loop() {
    this.timer = requestAnimationFrame((now) => {
      if (!this.running || this.dead) return;
      const next = this.next(1), p = this.held.get(next);
      if (now >= this.due && p) {
        this.due = Math.max(this.due + 1000 / Number(this.rate.value), now - 100);
        this.seek(next);
      }
      this.loop();
    });
  }

  next(by) { const n = Math.max(1, this.frames); return (((this.frame + by * Number(this.by.value || 1)) % n) + n) % n; }
  step(by) { this.seek(this.next(by)); }

  // seek goes to a frame, and asks for those behind it.
  seek(i) {
    if (!Number.isInteger(i) || i < 0 || i >= this.frames) { this.number.value = this.frame; if (this.frames) return; }
    this.frame = i;
    this.slider.value = i;
    this.number.value = i;
    this.slider.setAttribute("aria-valuetext", `frame ${i} of ${this.frames}`);
    if (!this.running) this.on.changed(i);
    if (!this.frames) { this.say("This id has no frames."); return; }
    this.draw();
    const list = [];
    for (let j = 0; j <= Math.min(ahead, this.frames - 1); j++) {
      const k = (i + j * Number(this.by.value || 1)) % this.frames;
      if (!this.held.has(k) && !list.some((w) => w.k === k)) list.push({ k, address: address(this.ctx, this.entry, k), as: "bytes", keep: false, done: (p) => this.got(k, p), fail: (e) => this.failed(k, e) });
    }
    this.lane.want(list);
  }

  async got(k, bytes) {
    let p = null;
    const media = mediaOf(bytes);
    try {
      if (media) p = await createImageBitmap(new Blob([bytes], { type: media }));
    } catch {
      // it cannot be decoded, which is said
    }
    if (this.dead) { p?.close(); return; }
    this.held.set(k, { picture: p, size: bytes.length, media });
    for (const [j, old] of this.held) { if (this.held.size <= heldMost) break; if (j !== this.frame) { old.picture?.close(); this.held.delete(j); } }
    if (k === this.frame) this.draw();
  }

  failed(k, e) {
    if (this.dead || this.ctx.api.aborted(e)) return;
    this.halt();
    if (k === this.frame) this.say(e.words ?? e.message);
    if (e.code === "changed") this.ctx.fail(e);
  }

  say(words) { this.words.textContent = words; this.words.hidden = false; this.canvas.hidden = true; this.canvas.dataset.frame = this.frame; }

  draw() {
    const p = this.held.get(this.frame);
    if (!p) return;
    if (!p.picture) { this.say(`Frame ${this.frame} is no picture that can be shown: ${p.size.toLocaleString("en")} bytes${p.media ? ` of ${p.media}` : ""}.`); return; }
    this.words.hidden = true;
    this.canvas.hidden = false;
    const { width, height } = p.picture;
    if (this.canvas.width !== width || this.canvas.height !== height) Object.assign(this.canvas, { width, height });
    this.canvas.getContext("2d").drawImage(p.picture, 0, 0);
    this.canvas.dataset.frame = this.frame;
    this.canvas.setAttribute("aria-label", `${this.entry.name}, frame ${this.frame} of ${this.frames}, ${width} by ${height} pixels`);
    this.shown++;
    this.box.dataset.shown = this.shown;
  }

  destroy() {
    this.dead = true;
    this.running = false;
    cancelAnimationFrame(this.timer);
    this.lane.clear();
    for (const p of this.held.values()) p.picture?.close();
  }
}
