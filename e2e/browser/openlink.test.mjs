// farread slice --open and view --open: the page that they print shows the selection.

import assert from "node:assert/strict";
import test from "node:test";
import { data, page, show } from "./ground.mjs";

const { folder, value } = await data();
const done = (p) => p.waitForSelector(".plane[data-done='1']");

test("a slice: axes, place, and a window that is all in sight", async () => {
  const { url } = await show("slice", `${folder}/weather.b2nd`, "7, 40:60, -80:-50", "--colors", "gray", "--range", "250:310");
  await page(url, async (p) => {
    await done(p);
    assert.ok(p.requests().every((u) => /\/(info|slice)(~v-[0-9a-f]+)?\/weather\.b2nd/.test(u)));
    const [, y0, y1, x0, x1] = /items 7,(?:(\d+):(\d+)),(?:(\d+):(\d+))$/.exec(await p.getAttribute(".plane", "aria-label")).map(Number);
    assert.ok(y0 <= 40 && y1 >= 60 && x0 <= 320 && x1 >= 350, `${y0}:${y1}, ${x0}:${x1}`);
    assert.ok((y1 - y0 === 20) || (x1 - x0 === 30), "as large as there is room for");
    // The item in the middle of the picture is the one in the middle of the slice.
    const b = await p.locator(".plane").boundingBox();
    await p.mouse.move(b.x + 50 + (b.width - 58) / 2 + 1, b.y + 8 + (b.height - 32) / 2 + 1);
    assert.equal(await p.textContent("#reading"), `[7, 50, 335] = ${await value("str(weather[7, 50, 335])")}`);
    const before = await p.state();
    assert.deepEqual([before.win, before.map, before.range, before.i], ["40,60,320,350", "gray", "250,310", "7,40,320"]);
    await p.keyboard.press("0"); // all of it
    await p.waitForTimeout(250);
    assert.deepEqual([(await p.state()).win, (await p.state()).view], [undefined, undefined]);
    assert.match(await p.getAttribute(".plane", "aria-label"), /items 7,:,:$/);
  });
});

test("a slice of one axis is a profile through its point", async () => {
  const { url } = await show("slice", `${folder}/weather.b2nd`, ":, 30, 40");
  await page(url, async (p) => {
    await p.getByLabel(/^Profile of 24 items/).waitFor();
    // The sheet of other views, which comes later, leaves the panel as it is.
    await p.waitForFunction(() => [...document.styleSheets].some((s) => s.href?.endsWith("views.css")));
    const [pad, same] = await p.evaluate(() => [...document.querySelectorAll(".side > *")].map((e) => getComputedStyle(e).paddingLeft));
    assert.equal(same, pad);
    const [, a, b] = /from (\S+) to (\S+)$/.exec(await p.getByLabel(/^Profile of/).getAttribute("aria-label"));
    const [least, most] = await value("[float(weather[:, 30, 40].min()), float(weather[:, 30, 40].max())]");
    assert.ok(Math.abs(a - least) < 0.01 && Math.abs(b - most) < 0.01, `${a}, ${b} for ${least}, ${most}`);
    assert.deepEqual(await p.locator("label.field:has-text('Down') select, label.field:has-text('Across') select").evaluateAll((l) => l.map((s) => s.value)), ["0", "2"]);
  }, { checked: false });
});

test("a part of a line", async () => {
  const { url } = await show("slice", `${folder}/line.b2nd`, "1000:1400");
  await page(url, async (p) => {
    await done(p);
    assert.equal(await p.getAttribute(".plane", "aria-label"), "axis 0: items 1000:1400");
  }, { checked: false });
});
