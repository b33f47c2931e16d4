// The panel of "Read it elsewhere": the lines for exactly what is shown, to be copied.

import { el } from "./dom.js";
import { linesOf } from "./elsewherelines.js";
import { copyButton } from "./viewkit.js";

const every = 400; // ms between looks at what is shown, while the panel is open

export class Panel {
  constructor(box, ctx, getShown) {
    Object.assign(this, { ctx, getShown, chosen: "", before: "", timer: 0 });
    this.tabs = el("div", { class: "group", role: "group", "aria-label": "Language or program" });
    this.body = el("div", { class: "lines" });
    box.append(el("div", { class: "bar" }, this.tabs), this.body);
  }

  open(is) {
    clearInterval(this.timer);
    if (!is) return;
    this.draw();
    this.timer = setInterval(() => this.draw(), every);
  }

  now() { const { root, key, info, api } = this.ctx; return linesOf({ root, key, info, api }, this.getShown() ?? { kind: "other" }); }

  draw() {
    const list = this.now(), groups = [...new Set(list.map((l) => l.group))], text = JSON.stringify(list);
    if (text === this.before) return;
    this.before = text;
    if (!groups.includes(this.chosen)) [this.chosen] = groups;
    this.tabs.replaceChildren(...groups.map((g) => el("button", { type: "button", "aria-pressed": String(g === this.chosen), onclick: () => this.choose(g) }, g)));
    this.body.replaceChildren(...list.filter((l) => l.group === this.chosen).map((l) => this.snippet(l)));
  }

  choose(group) {
    this.chosen = group;
    this.before = "";
    this.draw();
    this.tabs.querySelector("[aria-pressed=true]").focus();
  }

  snippet(l) {
    const pre = el("pre", { tabIndex: 0, "aria-label": l.title }, l.text);
    pre.dataset.id = l.id;
    const copy = copyButton(() => this.now().find((x) => x.id === l.id)?.text ?? l.text, `Copy: ${l.title}`, this.ctx.announce);
    return el("div", { class: "snippet" }, el("div", { class: "sniphead" }, el("span", {}, l.title), copy), pre, l.note ? el("p", { class: "note" }, l.note) : null);
  }
}
