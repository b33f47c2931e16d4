// The site of the pages (make site) in a real browser: each page at the width of a phone,
// some of them in the dark, and the search. No page asks another host for anything.
// Pictures are in dist/browser.

import assert from "node:assert/strict";
import { readFileSync, readdirSync, statSync } from "node:fs";
import { createServer } from "node:http";
import { extname, join } from "node:path";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";
import { page } from "../browser/ground.mjs";

const site = fileURLToPath(new URL("../../dist/site/", import.meta.url));
const kinds = { ".html": "text/html; charset=utf-8", ".css": "text/css", ".js": "text/javascript", ".json": "application/json", ".svg": "image/svg+xml", ".png": "image/png" };
const base = "/farread/"; // as published: not the root of its host

// What the search knows is long, and each page takes it in: one test needs it.
let search = false;
const nothing = JSON.stringify({ config: { lang: ["en"], separator: "-", pipeline: [], fields: {} }, docs: [] });

const server = createServer((request, answer) => {
  const path = decodeURIComponent(new URL(request.url, "http://x").pathname);
  const name = join(site, path.slice(base.length)) + (path.endsWith("/") ? "index.html" : "");
  if (!path.startsWith(base) || !statSync(name, { throwIfNoEntry: false })?.isFile()) return answer.writeHead(404).end();
  const head = { "Content-Type": kinds[extname(name)] ?? "application/octet-stream", "Cache-Control": path.includes("/assets/") ? "max-age=600" : "no-store" };
  answer.writeHead(200, head).end(path.endsWith("/search_index.json") && !search ? nothing : readFileSync(name));
});
await new Promise((ready) => server.listen(0, "127.0.0.1", ready));
after(() => server.close());
const address = `http://127.0.0.1:${server.address().port}${base}`;
const names = readdirSync(site, { recursive: true }).filter((name) => name.endsWith(".html") && name !== "404.html").sort();

// own notes what a page asks of other hosts.
const own = (asked) => (p) => {
  p.setDefaultTimeout(60_000); // of a busy machine
  p.on("request", (r) => { if (!r.url().startsWith(address) && !r.url().startsWith("data:")) asked.push(r.url()); });
};

test("each page on a phone: nothing of other hosts, nothing wider than the screen", async () => {
  const asked = [], wide = [];
  await page(address, async (p) => {
    for (const name of names) {
      await p.goto(address + name);
      const over = await p.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      if (over > 0) wide.push(`${name}: ${over}`);
      const broken = await p.evaluate(() => [...document.images].filter((i) => i.complete && !i.naturalWidth).map((i) => i.src));
      assert.deepEqual(broken, [], `pictures of ${name}`);
    }
  }, { width: 390, height: 844, checked: false, init: own(asked) });
  assert.ok(names.length > 20, `${names.length} pages`);
  assert.deepEqual(asked, []);
  assert.deepEqual(wide, []);
});

// What the theme leaves out: a name of the search's dialog, and of the buttons at each block.
const ofTheme = ["aria-dialog-name", "landmark-unique"];

for (const dark of [false, true]) {
  test(`the start is accessible, ${dark ? "dark" : "light"} as the system is`, async () => {
    const asked = [];
    await page(address, async (p) => {
      assert.equal(await p.evaluate(() => document.body.dataset.mdColorScheme), dark ? "slate" : "default");
      await p.shot(`site-start-${dark ? "dark" : "light"}`);
    }, { dark, init: own(asked), axeOff: ofTheme });
    assert.deepEqual(asked, []);
  });
}

test("the search finds a page by a word of it", async () => {
  const asked = [];
  search = true;
  await page(address, async (p) => {
    await p.keyboard.press("/");
    await p.keyboard.type("BloscLZ");
    await p.locator(".md-search-result__item a").first().waitFor();
    assert.ok((await p.locator(".md-search-result__item").count()) > 1);
    await p.shot("site-search");
  }, { checked: false, init: own(asked) });
  assert.deepEqual(asked, []);
});
