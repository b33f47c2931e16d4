// "Read it elsewhere": a panel below each dataset. What is in it comes once it is opened.

import { el } from "./dom.js";
import { sheet } from "./sheet.js";

export async function mount(box, ctx, getShown) {
  await sheet();
  const details = el("details", { class: "elsewhere" }, el("summary", {}, "Read it elsewhere"));
  let panel = null;
  details.addEventListener("toggle", async () => {
    const { Panel } = await import("./elsewherepanel.js");
    panel ??= new Panel(details, ctx, getShown);
    panel.open(details.open && details.isConnected);
  });
  box.append(details);
  return { destroy() { panel?.open(false); } };
}
