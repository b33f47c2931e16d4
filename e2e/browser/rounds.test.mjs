// The first picture of each view: how many round trips lie between the address and it, one
// behind the other. A trip ends when the page asks for nothing more; only then are its
// answers let through. So the number does not depend on how fast anything is.

import assert from "node:assert/strict";
import test from "node:test";
import { fileURLToPath } from "node:url";

process.env.FARREAD ??= fileURLToPath(new URL("../../bin/farread", import.meta.url));
const { data, page, serve } = await import("./ground.mjs");

const [a, v] = await Promise.all([data(), data("views.py")]);
const { url } = await serve(`a=${a.folder}/`, `v=${v.folder}/`);
const quiet = 250; // ms without a request, of the page's own time

// trips lists what is asked for in each round trip, until a selector is there.
async function trips(key, selector) {
  let held = [];
  const list = [];
  await page("about:blank", async (p) => {
    await p.route(/^http/, (r) => { held.push(r); });
    const gone = p.goto(`${url}#/${key}`).catch(() => {});
    const there = () => p.locator(selector).first().isVisible().catch(() => false);
    // A timer of the page is not over before what the page has to do.
    const rest = () => p.evaluate((ms) => new Promise((end) => setTimeout(end, ms)), quiet).catch(() => {});
    for (let end = false; !end && list.length < 12;) {
      for (let n = -1, looks = 0; n !== held.length || !n;) {
        n = held.length;
        assert.ok(looks++ < 60, `no ${selector}, and nothing is asked for:\n${list.join("\n")}`);
        await (list.length ? rest() : new Promise((f) => setTimeout(f, quiet)));
        if (list.length && await there()) { end = true; break; }
      }
      if (end) break;
      const now = held;
      held = [];
      list.push(now.map((r) => decodeURIComponent(r.request().url()).replace(url, "/").replace(/ui\/[0-9a-f]{16}\//, "").replace(/~v-[0-9a-f]{16}/, "")));
      await Promise.all(now.map(async (r) => { const done = p.waitForEvent("requestfinished", { predicate: (q) => q === r.request() }).catch(() => {}); await r.continue().catch(() => {}); await done; }));
    }
    for (const r of held) await r.continue().catch(() => {});
    await gone;
    await p.unrouteAll({ behavior: "ignoreErrors" });
  }, { checked: false });
  return list;
}

for (const [key, selector, verb, want] of [
  ["a/weather.b2nd", ".plane[data-done='1']", "slice", 4],
  ["a/line.b2nd", ".plane[data-done='1']", "slice", 4],
  ["v/two.zoom", ".plotarea[data-sharp='1']", "view", 4],
  ["v/clips.gulp", ".thumb img", "get", 5],
  ["a/", ".list tbody tr, table tbody tr", "ls", 3],
]) {
  test(`the first picture of ${key}: ${want} round trips`, async () => {
    const list = await trips(key, selector), text = list.map((l, i) => `${i + 1}: ${l.join(" ")}`).join("\n");
    console.log(text);
    assert.equal(1 + list.findIndex((l) => l.some((u) => u.startsWith(`/${verb}/`))), want, text);
  });
}
