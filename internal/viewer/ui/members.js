// Which member of structured items is shown.

import { el, field } from "./dom.js";
import { kindOf, members } from "./npy.js";

// picker chooses one of all members; null, if items have none. shown is the name of the one
// in sight, "" if all of them are, which is so only if none can be drawn. take(name) shows another one that can be drawn; without
// it, and for members that are text, the page is opened anew.
export function picker(ctx, shown, take) {
  const { root, key, info, state } = ctx, list = members(info.dtype);
  if (!list?.length) return null;
  const pick = el("select", { onchange: () => {
    const m = list.find((x) => x.name === pick.value);
    if (take && kindOf(m.descr)) take(m.name);
    else location.hash = ctx.href(root, key, { i: state.i, field: m?.name });
  } }, list.some((m) => kindOf(m.descr)) ? null : el("option", { value: "", selected: shown === "" }, "all"), ...list.map((m) => el("option", { value: m.name, selected: m.name === shown }, m.name)));
  return field("Member", pick);
}
