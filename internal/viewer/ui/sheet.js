// The style sheet of the views of series, images, items and other files.

import { el } from "./dom.js";

let loaded = null;

// sheet fetches the style sheet of these views.
export function sheet() {
  loaded ??= new Promise((good) => {
    const l = el("link", { rel: "stylesheet", href: new URL("./views.css", import.meta.url).href, onload: good, onerror: good });
    document.head.append(l);
  });
  return loaded;
}
