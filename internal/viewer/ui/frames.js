// To come.

import { el } from "./dom.js";

export async function mount(box, ctx) {
  box.append(el("pre", {}, JSON.stringify(ctx.info, null, 1)));
  return { destroy() {} };
}
