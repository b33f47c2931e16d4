// Values as text: of an array of one item, or whose items, or the member of them that is
// asked for, are no numbers.

import { el, field } from "./dom.js";
import { picker } from "./members.js";
import { members } from "./npy.js";

const rows = 200, cols = 40;

export async function mount(box, ctx) {
  const { info, root, key, api } = ctx, n = info.shape.length, single = info.shape.every((k) => k === 1);
  const at = (ctx.state.i ?? "").split(",").map((s) => Number(s) || 0), place = info.shape.map((size, i) => Math.min(at[i] ?? 0, size - 1));
  const member = single ? undefined : members(info.dtype)?.find((m) => m.name === ctx.state.field)?.name;
  const body = el("div", { class: "scroll", tabIndex: 0, role: "region", "aria-label": "Values" });
  const slice = () => info.shape.map((size, i) => (i === n - 1 ? `${place[i]}:${Math.min(size, place[i] + (n === 1 ? rows : cols))}` : i === n - 2 ? `${place[i]}:${Math.min(size, place[i] + rows)}` : place[i])).join(",");
  const show = async () => {
    const values = await api.get(api.url("slice", root, key, { s: slice(), field: member, format: "json" }), { as: "text" });
    body.replaceChildren(single ? el("p", { class: "value" }, values.trim().replace(/^\[+|\]+$/g, "")) : table(JSON.parse(values), n, place));
  };
  const starts = info.shape.map((size, i) => (size > 1 && (i < n - 2 || size > (i === n - 1 && n > 1 ? cols : rows))
    ? field(`${info.dims?.[i] ?? `axis ${i}`} from`, el("input", { type: "number", min: 0, max: size - 1, value: place[i], onchange: (e) => {
      place[i] = Math.min(Math.max(Math.trunc(e.target.value) || 0, 0), size - 1);
      e.target.value = place[i];
      ctx.setState({ i: place.join(",") });
      show().catch(ctx.fail);
    } })) : null)).filter(Boolean);
  if (!single) starts.unshift(...[picker(ctx, member ?? "")].filter(Boolean));
  box.append(...(starts.length ? [el("div", { class: "bar" }, ...starts)] : []), body);
  if (!single) box.append(el("p", { class: "note" }, "Items of this type are shown as text."));
  ctx.elsewhere(() => ({ kind: "array", slice: slice(), field: member }));
  await show();
  return { destroy() {} };
}

const text = (v) => (typeof v === "string" ? v : JSON.stringify(v));

function table(values, n, place) {
  const list = n === 1 ? values.map((v) => [v]) : values, wide = list[0]?.length ?? 0;
  return el("table", { class: "values" },
    n > 1 ? el("thead", {}, el("tr", {}, el("td", {}), ...Array.from({ length: wide }, (_, i) => el("th", { scope: "col" }, String(place[n - 1] + i))))) : null,
    el("tbody", {}, ...list.map((row, i) => el("tr", {}, el("th", { scope: "row" }, String(place[n === 1 ? 0 : n - 2] + i)), ...row.map((v) => el("td", {}, text(v)))))));
}
