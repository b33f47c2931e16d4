// "Read it elsewhere": the lines that read exactly what is shown, in other places.

import { el } from "./dom.js";
import { linesOf } from "./elsewherelines.js";
import { copyButton, sheet } from "./viewkit.js";

const every = 400; // ms between looks at what is shown, while the panel is open

export async function mount(box, ctx, getShown) {
  await sheet();
  const details = el("details", { class: "elsewhere" }, el("summary", {}, "Read it elsewhere"));
  const tabs = el("div", { class: "group", role: "group", "aria-label": "Language or program" }), body = el("div", { class: "lines" });
  details.append(el("div", { class: "bar" }, tabs), body);
  box.append(details);
  let timer = 0, chosen = "", before = "";

  const now = () => linesOf({ root: ctx.root, key: ctx.key, info: ctx.info, api: ctx.api }, getShown() ?? { kind: "other" });

  function draw() {
    const list = now(), groups = [...new Set(list.map((l) => l.group))], text = JSON.stringify(list);
    if (text === before) return;
    before = text;
    if (!groups.includes(chosen)) [chosen] = groups;
    tabs.replaceChildren(...groups.map((g) => el("button", { type: "button", "aria-pressed": String(g === chosen), onclick: () => { chosen = g; before = ""; draw(); tabs.querySelector("[aria-pressed=true]").focus(); } }, g)));
    body.replaceChildren(...list.filter((l) => l.group === chosen).map((l) => {
      const pre = el("pre", { tabIndex: 0, "aria-label": l.title }, l.text);
      pre.dataset.id = l.id;
      return el("div", { class: "snippet" }, el("div", { class: "sniphead" }, el("span", {}, l.title), copyButton(() => now().find((x) => x.id === l.id)?.text ?? l.text, `Copy: ${l.title}`, ctx.announce)), pre, l.note ? el("p", { class: "note" }, l.note) : null);
    }));
  }

  details.addEventListener("toggle", () => {
    clearInterval(timer);
    if (!details.open) return;
    draw();
    timer = setInterval(draw, every);
  });
  return { destroy() { clearInterval(timer); } };
}
