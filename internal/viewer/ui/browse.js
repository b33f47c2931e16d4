// A folder, or the roots.

import { el, bytes } from "./dom.js";

export async function mount(box, ctx) {
  const { root, key, api } = ctx;
  const page = await api.get(api.url("ls", root, key), { as: "json" });
  if (!root && page.entries.length === 1) { // nothing to choose
    location.replace(ctx.href(page.entries[0].name) + (page.entries[0].dir ? "/" : ""));
    return { destroy() {} };
  }
  const rows = page.entries.map((e) => el("tr", {}, el("td", {}, el("a", { href: root ? ctx.href(root, key + e.name) : ctx.href(e.name) + (e.dir ? "/" : "") }, e.name)), el("td", {}, e.dir ? "folder" : e.format), el("td", { class: "num" }, bytes(e.size))));
  box.append(el("table", { class: "list" }, el("tbody", {}, ...rows)));
  return { destroy() {} };
}
