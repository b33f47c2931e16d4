// The view of a series in a real browser: gestures, requests, what is drawn and what is
// read out, against NumPy's values of the same samples.

import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import test from "node:test";
import { fileURLToPath } from "node:url";

process.env.FARREAD ??= fileURLToPath(new URL("../../bin/farread", import.meta.url));
assert.ok(existsSync(process.env.FARREAD), "no bin/farread: run make build first");
const { data, page, serve, show } = await import("./ground.mjs");
const { folder, value } = await data("views.py");
const { url } = await serve(`d=${folder}/`, "--ttl", "1s");
const at = (key, state = "") => `${url}#/d/${key}${state ? `?${state}` : ""}`;

// sharp waits until all in sight is drawn in full.
const sharp = async (p) => { await p.waitForTimeout(60); await p.locator(".plotarea[data-sharp='1']").waitFor(); };
const still = async (p) => { await p.waitForTimeout(260); await sharp(p); };
const views = (list) => list.filter((u) => /\/view/.test(u));
const area = async (p) => { const r = await p.locator(".plotarea").boundingBox(); return { x: r.x + 62, y: r.y, width: r.width - 86, height: r.height }; };
const range = (p) => p.locator(".plotarea").evaluate((e) => [Number(e.dataset.from), Number(e.dataset.to)]);
const reads = (p) => p.locator(".read tbody tr").evaluateAll((rows) => rows.map((r) => ({ ...r.dataset, cells: [...r.querySelectorAll("td")].map((c) => c.textContent) })));

test("the whole of two tracks: requests, read-out of all, spikes in the picture", async () => {
  await page(at("two.zoom"), async (p) => {
    await sharp(p);
    const first = views(p.requests());
    assert.ok(first.length <= 4 && first.every((u) => /\/view~v-[0-9a-f]{16}\//.test(u)), `requests of the first picture: ${first.join("\n")}`);
    for (const [i, r] of (await reads(p)).entries()) {
      const [lo, hi, mean, n] = await value(`stats(${i}, 1, n)`);
      assert.deepEqual([Number(r.lo), Number(r.hi), Number(r.count)], [lo, hi, n]);
      assert.ok(Math.abs(Number(r.mean) - mean) < 1e-3, `mean ${r.mean}, want ${mean}`);
      assert.deepEqual(r.cells.slice(0, 2), [String(lo), String(hi)]);
    }
    // One sample of 1,200,000 is 9000: its column reaches up to the height of 9000.
    const top = await p.evaluate(() => {
      const c = document.querySelector(".panelbox canvas"), g = c.getContext("2d"), k = devicePixelRatio, { width, height } = c;
      const px = g.getImageData(0, 0, width, height).data, ink = (x, y) => { const o = 4 * (y * width + x); return px[o + 3] > 60 && px[o + 2] - px[o] > 50; };
      let best = height, col = 0;
      for (let x = Math.ceil(64 * k); x < width - 24 * k; x++) for (let y = 0; y < best; y++) if (ink(x, y)) { best = y; col = x; break; }
      return { y: best / k, x: col / k };
    });
    const a = await area(p), want = 62 + 437.124 / 1200 * a.width;
    assert.ok(Math.abs(top.x - want) < 2.5, `the spike is at ${top.x}, want ${want}`);
    assert.ok(top.y < 50, `the spike reaches up to ${top.y} px`);
    await p.shot("series");
  });
});

test("the point under the pointer is what NumPy has", async () => {
  await page(at("two.zoom"), async (p) => {
    await sharp(p);
    for (const state of ["", "?from=430&to=445", "?from=437.1&to=437.15"]) {
      await p.evaluate((s) => { location.hash = `#/d/two.zoom${s}`; }, state);
      await p.waitForTimeout(300);
      await sharp(p);
      const a = await area(p);
      for (const f of [0.1, 0.3643, 0.5, 0.9]) {
        await p.mouse.move(a.x + a.width * f, a.y + 60);
        await p.waitForTimeout(50);
        for (const [i, r] of (await reads(p)).entries()) {
          const [lo, hi, mean, n] = await value(`stats(${i}, ${r.entry}, ${r.exit})`), [t0, t1] = await range(p), t = t0 + (t1 - t0) * f;
          assert.deepEqual([Number(r.lo), Number(r.hi), Number(r.count)], [lo, hi, n], `${state} at ${t}`);
          assert.ok(Math.abs(Number(r.mean) - mean) < 1e-3 + (hi - lo) * 1e-5, `mean ${r.mean}, want ${mean}`);
          const away = Math.max(Number(r.entry) / 1000 - t, t - Number(r.exit) / 1000, 0);
          assert.ok(away <= (t1 - t0) / a.width * 1.5 + 0.001, `the point is ${away} s from ${t}`);
        }
      }
    }
  }, { checked: false });
});

test("zoom, pan, choose, whole: few requests, never blank, smooth", async () => {
  await page(at("one.zoom"), async (p) => {
    await still(p);
    await p.waitForTimeout(300);
    const a = await area(p), x = a.x + a.width * 0.4, y = a.y + 100;
    await p.mouse.move(x, y);
    p.requests();
    await p.evaluate(() => {
      window.gaps = []; window.blank = 0;
      let last = performance.now();
      const tick = () => { const now = performance.now(); window.gaps.push(now - last); last = now; if (document.querySelector(".where").textContent.includes("loading")) window.blank++; requestAnimationFrame(tick); };
      requestAnimationFrame(tick);
    });
    const frames = async (name) => {
      const list = await p.evaluate(() => window.gaps.splice(0).sort((m, n) => m - n)), q = (f) => (list[Math.floor(list.length * f)] ?? 0).toFixed(1);
      console.log(`${name}: ${list.length} frames, p50 ${q(0.5)} ms, p95 ${q(0.95)} ms, longest ${q(0.999)} ms`);
    };
    const atPointer = async () => { const [t0, t1] = await range(p); return t0 + (t1 - t0) * 0.4; };
    const before = await atPointer(), [w0, w1] = await range(p);
    await p.evaluate(() => { window.gaps.length = 0; });
    for (let i = 0; i < 20; i++) { await p.mouse.wheel(0, -29); await p.waitForTimeout(35); }
    await still(p);
    await p.waitForTimeout(400);
    await frames("wheel × 10");
    let [t0, t1] = await range(p), n = views(p.requests());
    console.log(`wheel × ${((w1 - w0) / (t1 - t0)).toFixed(1)}: ${n.length} requests, what is beside included`);
    assert.ok((w1 - w0) / (t1 - t0) > 9 && (w1 - w0) / (t1 - t0) < 12);
    assert.ok(n.length <= 14, `a zoom of ten times took ${n.length} requests`);
    assert.ok(Math.abs((await atPointer()) - before) < (t1 - t0) * 0.01, "the time under the pointer moved");

    await p.mouse.move(a.x + a.width * 0.8, y);
    await p.mouse.down();
    await p.evaluate(() => { window.gaps.length = 0; });
    for (let i = 0; i < 30; i++) { await p.mouse.move(a.x + a.width * (0.8 - i * 0.02), y); await p.waitForTimeout(16); }
    await p.mouse.up();
    await frames("drag over 58 % of the width");
    await still(p);
    const [d0] = await range(p);
    assert.ok(Math.abs(d0 - t0 - 0.58 * (t1 - t0)) < (t1 - t0) * 0.02, "the drag moved by another way");
    n = views(p.requests());
    assert.ok(n.length <= 6, `a drag took ${n.length} requests`);
    console.log(`drag: ${n.length} requests`);

    await p.keyboard.down("Shift");
    await p.mouse.move(a.x + a.width * 0.25, y);
    await p.mouse.down();
    await p.mouse.move(a.x + a.width * 0.5, y, { steps: 4 });
    await p.mouse.up();
    await p.keyboard.up("Shift");
    await still(p);
    const [c0, c1] = await range(p);
    assert.ok(Math.abs(c0 - (d0 + 0.25 * (t1 - t0))) < 0.5 && Math.abs((c1 - c0) / (t1 - t0) - 0.25) < 0.01, `chosen ${c0} to ${c1}`);
    p.requests();

    await p.mouse.dblclick(a.x + a.width * 0.5, y);
    await still(p);
    assert.deepEqual(await range(p), [w0, w1]);
    n = views(p.requests());
    assert.ok(n.length <= 1, `back to all took ${n.length} requests`);
    for (let i = 0; i < 60; i++) { await p.mouse.wheel(0, -100); await p.waitForTimeout(16); }
    await still(p);
    n = views(p.requests());
    console.log(`down to samples (× ${((w1 - w0) / ((await range(p))[1] - (await range(p))[0])).toFixed(0)}): ${n.length} requests`);
    assert.ok(n.length <= 20, `down to samples took ${n.length} requests`);
    assert.equal(await p.evaluate(() => window.blank), 0, "something was blank");
    await p.mouse.move(a.x + a.width * 0.5, y);
    await p.waitForTimeout(60);
    const [r] = await reads(p);
    assert.equal(r.entry, r.exit);
    assert.equal(Number(r.lo), (await value(`stats(0, ${r.entry}, ${r.exit})`))[0]);
  }, { checked: false });
});

test("keys, links, tracks, scales", async () => {
  await page(at("two.zoom", "from=430&to=445"), async (p) => {
    await sharp(p);
    const near = (got, want) => assert.ok(got.every((v, i) => Math.abs(v - want[i]) < 1e-3), `${got}, want ${want}`);
    near(await range(p), [430, 445]);
    await p.locator(".plotarea").focus();
    await p.keyboard.press("ArrowRight");
    await still(p);
    near(await range(p), [433.75, 448.75]);
    await p.keyboard.press("ArrowLeft");
    await p.keyboard.press("+");
    await still(p);
    near(await range(p), [433.75, 441.25]);
    await p.waitForTimeout(500);
    assert.deepEqual([(await p.state()).from, (await p.state()).to], ["433.75", "441.25"]);

    // The spike is in sight; without spikes the scale leaves it out, and says so.
    const label = () => p.locator(".where").textContent();
    await p.getByLabel("without spikes").check();
    await still(p);
    assert.match(await label(), /spikes go beyond/);
    await p.getByLabel("keep scale").check();
    await p.keyboard.press("Tab");
    await p.locator(".plotarea").focus();
    await p.keyboard.press("0");
    await still(p);
    await p.waitForTimeout(500);
    assert.equal((await p.state()).robust, "1");
    assert.match((await p.state()).keep, /^-?\d+(\.\d+)?:\d+/);

    await p.getByRole("button", { name: "column 2" }).click();
    await still(p);
    assert.equal(await p.locator(".panelbox").count(), 1);
    await p.waitForTimeout(500);
    const link = p.url();
    await p.goto("about:blank");
    await p.goto(link);
    await sharp(p);
    assert.equal(await p.locator(".panelbox").count(), 1);
    assert.equal(await p.getByRole("button", { name: "column 2" }).getAttribute("aria-pressed"), "false");
    assert.equal(await p.getByLabel("without spikes").isChecked(), true);
    await p.getByRole("button", { name: "column 2" }).click();
    await p.getByLabel("one scale").check();
    await still(p);
    assert.equal(await p.locator(".panelbox").count(), 1);
    await p.shot("series-one-scale");

    // 2026-05-01 06:00 is time 0.
    const go = p.getByLabel("Go to");
    await go.fill("06:10:00");
    await go.press("Enter");
    await still(p);
    let [t0, t1] = await range(p);
    assert.ok(Math.abs((t0 + t1) / 2 - 600) < 0.01, `${t0} to ${t1}`);
    await go.fill("2026-05-01 06:05");
    await go.press("Enter");
    [t0, t1] = await range(p);
    assert.ok(Math.abs((t0 + t1) / 2 - 300) < 0.01);
    await go.fill("next week");
    await go.press("Enter");
    assert.match(await p.locator(".wrong").textContent(), /want 12:30/);
    await go.fill("2027-01-01");
    await go.press("Enter");
    assert.match(await p.locator(".wrong").textContent(), /it goes from 2026-05-01 06:00:00/);
  });
});

test("gaps stay gaps, in the dark and on a phone", async () => {
  await page(at("gap.zoom"), async (p) => {
    await sharp(p);
    await p.shot("series-gaps");
    const a = await area(p), [t0, t1] = await range(p), hover = async (t) => { await p.mouse.move(a.x + (t - t0) / (t1 - t0) * a.width, a.y + 60); await p.waitForTimeout(60); return reads(p); };
    assert.equal((await hover(8000))[0].count, "0");
    assert.notEqual((await hover(3000))[0].count, "0");
    const [level, temp] = await hover(2000);
    assert.notEqual(level.count, "0");
    assert.equal(temp.count, "0");
    // No ink between the two parts, in the panel of levels.
    const inked = await p.evaluate(([from, to]) => {
      const c = document.querySelector(".panelbox canvas"), k = devicePixelRatio, g = c.getContext("2d"), x = Math.round(from * k), w = Math.round((to - from) * k), px = g.getImageData(x, 28 * k, w, c.height - 34 * k).data;
      let n = 0;
      for (let i = 0; i < px.length; i += 4) if (px[i + 3] > 60 && px[i + 2] - px[i] > 60) n++;
      return n;
    }, [62 + (4500 - t0) / (t1 - t0) * a.width, 62 + (10500 - t0) / (t1 - t0) * a.width]);
    assert.equal(inked, 0);
    assert.equal((await reads(p)).length, 2);
    await p.mouse.move(5, 5);
    await p.waitForTimeout(60);
    assert.deepEqual((await reads(p)).map((r) => Number(r.count)), [20_000, 18_001]);
    assert.equal(Number((await reads(p))[0].hi), 50);

    // Two fingers: the times below them stay there.
    const touch = await p.context().newCDPSession(p), y = a.y + 90, fingers = (type, ...xs) => touch.send("Input.dispatchTouchEvent", { type, touchPoints: xs.map((f, id) => ({ x: a.x + a.width * f, y, id })) });
    await fingers("touchStart", 0.4, 0.6);
    for (let i = 1; i <= 5; i++) await fingers("touchMove", 0.4 - i * 0.04, 0.6 + i * 0.04);
    await fingers("touchEnd");
    await still(p);
    const [p0, p1] = await range(p), d = t1 - t0;
    assert.ok(Math.abs((p0 + p1) / 2 - (t0 + t1) / 2) < d * 0.03 && Math.abs((p1 - p0) / d - 1 / 3) < 0.03, `two fingers: ${p0} to ${p1} of ${t0} to ${t1}`);
  }, { width: 400, height: 800, dark: true });
});

test("a series that grows is followed", async () => {
  await page(at("grow.zoom", "from=40&to=60&follow=1"), async (p) => {
    await sharp(p);
    assert.deepEqual(await range(p), [40, 60]);
    await value("grow(90_000)");
    await p.locator(".plotarea[data-version]").waitFor();
    await still(p);
    assert.deepEqual(await range(p), [70, 90]);
    const [r] = await reads(p), [lo, hi] = await value(`stats(0, ${r.entry}, ${r.exit})`);
    assert.deepEqual([Number(r.lo), Number(r.hi)], [lo, hi]);
  }, { checked: false, errors: [/status of 409/] }); // what was asked for beside the window may be of the version before
});

test("farread view --open: the track and the time that it names", async () => {
  const { url: link } = await show("view", `${folder}/two.zoom`, "--track", "1", "--from", "10m", "--to", "2026-05-01T06:15:00Z");
  await page(link, async (p) => {
    await sharp(p);
    assert.deepEqual(await range(p), [600, 900]);
    const shown = await p.locator(".chip").evaluateAll((list) => list.map((b) => b.getAttribute("aria-pressed")));
    assert.deepEqual(shown, ["true", "false"]);
    const [r] = await reads(p);
    const [lo, hi] = await value("stats(0, 600001, 900000)");
    assert.deepEqual([Number(r.lo), Number(r.hi)], [lo, hi]);
  }, { checked: false });
});
