// What docs/charts.md shows for web pages, taken from there and run: uPlot and peaks.js in a
// page of another origin, and the rows that Grafana's Infinity data source makes.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { join } from "node:path";
import test, { after } from "node:test";
import { fileURLToPath } from "node:url";

const top = fileURLToPath(new URL("../../", import.meta.url));
process.env.FARREAD ??= join(top, "bin", "farread");
const { data, page, serve } = await import("./ground.mjs");
const require = createRequire(join(top, ".node", "x.js"));
const text = readFileSync(join(top, "docs", "charts.md"), "utf8");
const code = [...text.matchAll(/^```js\n([\s\S]*?)^```/gm)].map((m) => m[1]).join("\n");
const cell = (name) => new RegExp(`^\\| ${name} \\| (.*) \\|$`, "m").exec(text)[1];

const { folder, value } = await data("views.py");
const { url } = await serve(`series=${folder}/`, "--cors", "*");
const view = (key, query) => `${url}view/series/${key}?${query}`;

// A page of somebody else: the libraries, and the code of the page.
const vendor = join(top, "internal", "viewer", "ui", "vendor", "uPlot");
const parts = {
  "/uPlot.js": join(vendor, "uPlot.iife.min.js"), "/uPlot.css": join(vendor, "uPlot.min.css"),
  "/waveform.js": join(top, ".node", "node_modules", "waveform-data", "dist", "waveform-data.min.js"),
  "/peaks.js": join(top, ".node", "node_modules", "peaks.js", "dist", "peaks.min.js"),
};
const html = `<!doctype html><html lang="en"><meta charset="utf-8"><title>charts</title><link rel="icon" href="data:,"><link rel="stylesheet" href="/uPlot.css">
${["uPlot", "waveform", "peaks"].map((n) => `<script src="/${n}.js"></script>`).join("\n")}
<body><div id="plot" style="width: 800px"></div><div id="zoomview" style="width: 600px; height: 120px"></div><script>const Peaks = peaks;\n${code}</script>`;
const site = createServer((q, a) => {
  const file = parts[q.url];
  a.setHeader("Content-Type", q.url.endsWith(".css") ? "text/css" : file ? "text/javascript" : "text/html; charset=utf-8");
  a.end(file ? readFileSync(file) : html);
});
await new Promise((done) => { site.listen(0, "127.0.0.1", done); });
after(() => { site.closeAllConnections(); site.close(); });
const home = `http://127.0.0.1:${site.address().port}/`;

test("uPlot: the whole, a drag, a double click", async () => {
  await page(home, async (p) => {
    const drawn = () => p.evaluate(() => [u.scales.x.min, u.scales.x.max, u.data.map((c) => c.length), Math.max(...u.data[2])]);
    await p.evaluate(async (v) => { globalThis.u = await chart(document.querySelector("#plot"), v); }, view("two.zoom", "track=1"));
    let [from, to, columns, most] = await drawn();
    const [lo, hi] = await value("[0.001, n / 1000]");
    assert.ok(Math.abs(from - lo) < 0.01 && hi - to < 3 && columns.length === 4 && columns.every((n) => n === columns[0] && n > 400 && n <= 900), `${from} ${to} ${columns}`);
    assert.equal(most, await value("int(wave.max())"), "the spike of one sample");
    const asked = p.requests();
    assert.equal(asked.length, 1);
    const b = await p.locator("#plot .u-over").boundingBox();
    await p.mouse.move(b.x + b.width * 0.3, b.y + 50);
    await p.mouse.down();
    await p.mouse.move(b.x + b.width * 0.4, b.y + 60, { steps: 4 });
    await p.mouse.up();
    await p.waitForFunction((old) => u.scales.x.min > old + 1, from);
    const [from2, to2, columns2, most2] = await drawn();
    assert.ok(Math.abs(from2 - (from + 0.3 * (to - from))) < 6 && to2 - from2 < 0.15 * (to - from) && columns2[0] > 400, `${from2} ${to2} ${columns2}`);
    assert.equal(most2, await value("9000"), "the spike is in this window");
    assert.equal(p.requests().length, 1);
    await p.mouse.dblclick(b.x + 20, b.y + 50);
    await p.waitForFunction(() => u.scales.x.min < 1);
    await p.shot("charts");
  }, { checked: false });
});

test("waveform-data and peaks.js read what is served", async () => {
  await page(home, async (p) => {
    const v = view("one.zoom", "track=1");
    const w = await p.evaluate(async (v) => {
      const w = await waveform(v, 1000), c = w.channel(0);
      return [w.sample_rate, w.scale, w.bits, w.channels, w.length, c.min_array(), c.max_array()];
    }, v);
    assert.deepEqual(w.slice(0, 5), await value("[1000, 1000, 8, 1, n // 1000]"));
    // 8 bits of 16, rounded outwards.
    const [mins, maxs] = await value("(lambda x: [np.floor(x.min(1) / 256).tolist(), np.minimum(np.ceil(x.max(1) / 256), 127).tolist()])(wave.reshape(-1, 1000).astype('f8'))");
    for (const [got, want] of [[w[5], mins], [w[6], maxs]]) {
      assert.ok(got.every((x, i) => Math.abs(x - want[i]) <= 1), "least and greatest");
    }
    const seconds = await p.evaluate(async (v) => {
      const player = { init: async () => {}, destroy() {}, play: async () => {}, pause() {}, isPlaying: () => false, isSeeking: () => false, getCurrentTime: () => 0, getDuration: () => 1200, seek() {} };
      const peaks = await audio(document.querySelector("#zoomview"), v, player);
      peaks.zoom.setZoom(3);
      return [peaks.views.getView("zoomview") !== null, peaks.zoom.getZoom(), document.querySelectorAll("#zoomview canvas").length];
    }, v);
    assert.deepEqual(seconds.slice(0, 2), [true, 3]);
    assert.ok(seconds[2] > 0, "a picture");
    await p.shot("peaks");
  }, { checked: false });
});

test("Grafana: the root selector makes rows of times and numbers", async () => {
  const jsonata = require("jsonata");
  const names = [...cell("URL parameters").matchAll(/`([^`]+)` `([^`]+)`/g)].map((m) => [m[1], m[2]]);
  const given = { "${__from:date:iso}": "2026-05-01T06:07:00.000Z", "${__to:date:iso}": "2026-05-01T06:08:00.250Z", temp_C: "1" };
  const q = new URLSearchParams(names.map(([k, v]) => [k, given[v] ?? v]));
  const answer = await fetch(view("two.zoom", q));
  assert.equal(answer.status, 200, await answer.clone().text());
  const rows = await jsonata(/`(.*)`/.exec(cell("Root selector"))[1]).evaluate(await answer.json());
  assert.ok(rows.length > 400 && rows.length <= 1100, `${rows.length} rows`);
  const start = Date.parse("2026-05-01T06:07:00Z");
  for (const r of rows) {
    assert.deepEqual(Object.keys(r), ["time", "min", "max", "mean"]);
    assert.ok(Object.values(r).every(Number.isFinite) && r.min <= r.mean && r.mean <= r.max);
  }
  assert.ok(Math.abs(rows[0].time - start) < 200 && Math.abs(rows.at(-1).time - start - 60_250) < 500, `${rows[0].time} ${rows.at(-1).time}`);
  assert.equal(Math.max(...rows.map((r) => r.max)), await value("9000"), "the spike at 437.123 s");
});
