// An n-d array.

import { el } from "./dom.js";

export async function mount(box, ctx) {
  box.append(el("p", {}, `an array of ${ctx.info.shape.join(" × ")}`));
  ctx.elsewhere(() => ({ kind: "array", slice: "..." }));
  return { destroy() {} };
}
