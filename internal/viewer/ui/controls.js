// The controls of an array: axes, colours, sliders for the axes that are not in sight.

import { el, field } from "./dom.js";
import { maps } from "./colors.js";
import { picker } from "./members.js";

const button = (text, title, onclick, more = {}) => el("button", { type: "button", title, "aria-label": title, onclick, ...more }, text);
const pace = 90; // ms for each picture of a play

export class Controls {
  constructor(box, model, plane, actions) {
    Object.assign(this, { m: model, plane, playing: null });
    this.bar = el("div", { class: "bar" });
    this.sliders = el("div", { class: "sliders" });
    box.append(this.bar, this.sliders);
    this.actions = actions;
    this.build();
  }

  destroy() { this.stop(); }

  build() {
    const m = this.m, kids = [];
    if (m.members?.length) {
      kids.push(picker(m.ctx, m.member.name, (name) => { m.member = m.members.find((x) => x.name === name); m.chosen = 0; this.actions.member(); this.build(); }));
      if (m.inner > 1) kids.push(field("number", el("input", { type: "number", min: 0, max: m.inner - 1, value: m.chosen, onchange: (e) => { m.chosen = Math.min(Math.max(Math.trunc(e.target.value) || 0, 0), m.inner - 1); e.target.value = m.chosen; this.actions.member(); } })));
    }
    if (m.shape.length > 1) {
      const pick = (k) => el("select", { onchange: (e) => { const to = Number(e.target.value); k === 0 ? m.setAxes(to, m.axes[1]) : m.setAxes(m.axes[0], to); } },
        ...m.names.map((n, i) => el("option", { value: i, selected: i === m.axes[k] }, n)));
      kids.push(field("Down", pick(0)), field("Across", pick(1)), button("Swap", "Swap the axes (s)", () => this.swap()));
    }
    const map = el("select", { onchange: () => { m.map = map.value; m.change("colors"); } }, ...maps.map((n) => el("option", { selected: n === m.map }, n)));
    this.map = map;
    this.stretch = el("input", { type: "checkbox", checked: m.stretch, onchange: () => { m.stretched = this.stretch.checked; m.view = m.win = null; m.change("view"); } });
    kids.push(field("Colours", map), el("span", { class: "group", role: "group", "aria-label": "Zoom" }, button("−", "Smaller (−)", () => this.plane.zoom(1 / 1.6)), button("Fit", "Fit all of it (0)", () => this.plane.fit()), button("+", "Larger (+)", () => this.plane.zoom(1.6))),
      el("label", { class: "field", title: "Fill the picture, whatever the shape of its items" }, this.stretch, el("span", {}, "stretch")),
      el("span", { class: "field" }, el("span", { id: "save" }, "Save"), el("span", { class: "group", role: "group", "aria-labelledby": "save" }, button("npy", "Save what is in sight as .npy", this.actions.npy), button("png", "Save what is in sight as .png", this.actions.png))));
    this.bar.replaceChildren(...kids);
    this.axes = m.axes.join();
    this.rows = new Map();
    this.sliders.replaceChildren(...m.others.map((axis) => this.slider(axis)));
    this.show();
  }

  slider(axis) {
    const m = this.m, size = m.shape[axis], name = m.names[axis];
    const range = el("input", { type: "range", min: 0, max: size - 1, value: m.at[axis], "aria-label": name,
      oninput: () => { this.stop(); m.go(axis, Number(range.value), true); }, onchange: () => m.go(axis, Number(range.value)) });
    const number = el("input", { type: "number", min: 0, max: size - 1, value: m.at[axis], "aria-label": `Index of ${name}`, onchange: () => { this.stop(); m.go(axis, Number(number.value)); number.value = m.at[axis]; } });
    const play = button("▶", `Play ${name}`, () => this.play(axis), { "aria-pressed": "false" });
    const of = el("span", { class: "of" });
    const row = el("div", { class: "slider" }, el("span", { class: "name" }, name), range, number, of, play);
    this.rows.set(axis, { range, number, play, of });
    return row;
  }

  swap() { this.m.setAxes(this.m.axes[1], this.m.axes[0]); }

  // first is the axis that keys step along.
  get first() { return this.m.moved && this.m.others.includes(this.m.moved.axis) ? this.m.moved.axis : this.m.others[0]; }

  step(by) { if (this.first != null) { this.stop(); this.m.go(this.first, this.m.at[this.first] + by); this.m.ctx.announce(`${this.m.names[this.first]} ${this.m.at[this.first]}`); } }

  // play shows one picture after the other, each once it is there.
  play(axis = this.first) {
    if (axis == null) return;
    if (this.playing) { const same = this.playing.axis === axis; this.stop(); if (same) return; }
    const p = this.playing = { axis, timer: 0 };
    const next = () => {
      if (this.plane.canvas.dataset.done === "1") this.m.go(axis, (this.m.at[axis] + 1) % this.m.shape[axis]);
      p.timer = setTimeout(next, pace);
    };
    this.show();
    p.timer = setTimeout(next, 0);
  }

  stop() { if (this.playing) { clearTimeout(this.playing.timer); this.playing = null; this.show(); } }

  nextMap() { const m = this.m; m.map = maps[(maps.indexOf(m.map) + 1) % maps.length]; m.change("colors"); m.ctx.announce(m.map); }

  show() {
    for (const [axis, r] of this.rows) {
      const on = this.playing?.axis === axis;
      r.range.value = r.number.value = this.m.at[axis];
      r.of.classList.toggle("lies", Boolean(this.m.coords[axis]));
      r.of.textContent = `of ${this.m.shape[axis]}${this.m.coords[axis] ? ` · ${this.m.coords[axis](this.m.at[axis])}` : ""}`;
      r.play.textContent = on ? "■" : "▶";
      r.play.setAttribute("aria-pressed", String(on));
    }
    this.map.value = this.m.map;
    this.stretch.checked = this.m.stretch;
  }

  update(kind) {
    if (kind === "plane" && this.axes !== this.m.axes.join()) { this.stop(); this.build(); }
    this.show();
  }
}
