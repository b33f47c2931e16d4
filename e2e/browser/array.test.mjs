// Arrays: pixels and values against NumPy's, requests of gestures, links.

import assert from "node:assert/strict";
import test from "node:test";
import { data, page, serve } from "./ground.mjs";

const { folder, value } = await data();
const { url } = await serve(`d=${folder}/`);
const done = (p) => p.waitForSelector(".plane[data-done='1']");
// reading is what is told of an item, once it is there; told is what stands there now.
const told = (p) => p.textContent("#reading");
const reading = async (p) => { await p.waitForFunction(() => !document.querySelector("#reading").textContent.endsWith("…")); return told(p); };
const margin = { l: 50, t: 8 }; // of the picture in its canvas

// open shows an array and waits for its picture.
const open = (name, fn, o) => page(`${url}#/d/${name}`, async (p) => { await done(p); await fn(p); }, o);

// go shows another dataset in the same page.
async function go(p, name) {
  await p.evaluate((h) => { location.hash = h; }, `#/d/${name}`);
  await p.getByRole("heading", { name: name.replace(/\?.*/, ""), exact: true }).waitFor();
}

// pixel is the colour at the middle of an item, when the view begins at x, y.
const pixel = (p, { y, x }, { k = 1, x: x0 = 0, y: y0 = 0 } = {}) => p.evaluate(([px, py]) => [...document.querySelector(".plane").getContext("2d").getImageData(px, py, 1, 1).data],
  [margin.l + Math.floor((x - x0 + 0.5) * k), margin.t + Math.floor((y - y0 + 0.5) * k)]);

// point moves the pointer over an item.
async function point(p, { y, x }, { k = 1, x: x0 = 0, y: y0 = 0 } = {}) {
  const b = await p.locator(".plane").boundingBox();
  await p.mouse.move(b.x + margin.l + (x - x0 + 0.5) * k, b.y + margin.t + (y - y0 + 0.5) * k);
}

// gray is the level of a number in the map gray.
const gray = (v, lo, hi) => Math.max(0, Math.min(255, Math.floor(((v - lo) * 256) / (hi - lo))));

// watch notes the most requests in flight at a time, as the page counts them, and how many
// were given up.
async function watch(p) {
  const w = { gone: 0, most: () => p.evaluate(() => window.mostFlying) };
  p.on("requestfailed", (r) => { if (/\/slice/.test(r.url())) w.gone++; });
  await p.evaluate(async () => {
    const api = await import(document.querySelector("script[type=module]").src.replace("app.js", "api.js"));
    window.mostFlying = 0;
    api.onCost((c) => { window.mostFlying = Math.max(window.mostFlying, c.flying); });
  });
  return w;
}

// gate lets the answers of a page come late, or not before it is opened.
function gate(ms) {
  const g = { ms, shut: false, waiting: [], open() { g.shut = false; for (const f of g.waiting.splice(0)) f(); } };
  g.init = async (p) => p.route(/\/slice/, async (r) => { await new Promise((f) => (g.shut ? g.waiting.push(f) : setTimeout(f, g.ms))); await r.continue().catch(() => {}); });
  return g;
}

test("the first picture: one request behind info, its colours are those of the values", async () => {
  await open("weather.b2nd?map=gray&range=250,310&view=20,10,2,2&i=7,0,0", async (p) => {
    console.log(`first picture ${Math.round(await p.evaluate(() => performance.now()))} ms after the start of the page`);
    assert.deepEqual(p.requests().map((u) => decodeURIComponent(u).replace(url, "").replace(/~v-[0-9a-f]{16}/, "")), ["info/d/weather.b2nd", "slice/d/weather.b2nd?s=7,0:256,0:400"]);
    const items = [[10, 20], [11, 20], [57, 130], [100, 399], [200, 300], [203, 21]];
    const values = await value(`[weather[7, y, x] for y, x in ${JSON.stringify(items)}]`);
    for (const [i, [y, x]] of items.entries()) {
      const [r, g, b, a] = await pixel(p, { y, x }, { k: 2, x: 20, y: 10 });
      assert.deepEqual([r, g, b, a], [...Array(3).fill(gray(values[i], 250, 310)), 255], `item ${y}, ${x}`);
    }
    await p.selectOption("label:has-text('Colours') select", "viridis");
    for (const [lo, want] of [[200, [253, 231, 37]], [400, [68, 1, 84]]]) { // Matplotlib's ends
      for (const [label, v] of lo > 300 ? [["highest", 500], ["lowest", lo]] : [["lowest", lo - 1], ["highest", lo]]) { await p.getByLabel(`Value of the ${label} colour`).fill(String(v)); await p.keyboard.press("Enter"); }
      await p.waitForTimeout(100);
      const got = await pixel(p, { y: 57, x: 130 }, { k: 2, x: 20, y: 10 });
      want.forEach((v, i) => assert.ok(Math.abs(v - got[i]) <= 4, `${got} for ${want}`));
    }
  });
});

test("the first picture, with every request 30 ms away", async () => {
  await open("weather.b2nd", async (p) => console.log(`first picture ${Math.round(await p.evaluate(() => performance.now()))} ms after the start of the page`),
    { checked: false, init: (p) => p.route(/./, async (r) => { await new Promise((f) => setTimeout(f, 30)); await r.continue(); }) });
});

test("values are read as they are stored", async () => {
  const cases = [
    ["exact", "str(exact[41, 17])", { y: 41, x: 17 }], ["weather", "str(weather[0, 41, 17])", { y: 41, x: 17 }, "0, "], ["halves", "str(halves[20, 31])", { y: 20, x: 31 }],
    ["days", "str(days[4, 3])", { y: 4, x: 3 }], ["points", "str(points['id'][30, 20])", { y: 30, x: 20 }], ["waves", "str(waves[11, 3])[1:-1]", { y: 11, x: 3 }], ["holes", "str(holes[150, 200])", { y: 150, x: 200 }],
  ];
  await page(`${url}#/d/`, async (p) => {
    for (const [name, expression, at, before = ""] of cases) {
      await go(p, `${name}.b2nd?view=0,0,3,3&range=0,1`);
      await done(p);
      await point(p, at, { k: 3 });
      assert.equal(await reading(p), `[${before}${at.y}, ${at.x}] = ${await value(expression)}`);
    }
  }, { checked: false });
});

test("a large plane is read with a step, and says so", async () => {
  await open("wide.b2nd?map=gray&range=0,5000", async (p) => {
    const sent = p.requests().filter((u) => u.includes("/slice"));
    assert.ok(sent.length <= 3, sent.join("\n"));
    assert.ok(sent.every((u) => /%3A[24]/.test(u)), "a step");
    const k = await p.evaluate(() => { const c = document.querySelector(".plane"); return Math.min((c.clientWidth - 58) / 3000, (c.clientHeight - 32) / 2000); });
    const at = await p.evaluate((k) => { const c = document.querySelector(".plane"); return { x: (3000 - (c.clientWidth - 58) / k) / 2, y: (2000 - (c.clientHeight - 32) / k) / 2 }; }, k);
    await point(p, { y: 1003, x: 1501 }, { k, ...at });
    const [, y, x, v, step] = /^\[(\d+), (\d+)\] = (\d+) .*step (\d+)\)/.exec(await reading(p));
    assert.equal(Number(y) % step + Number(x) % step, 0);
    assert.ok(Math.abs(y - 1003) < 2 * step && Math.abs(x - 1501) < 2 * step, `${y}, ${x}`);
    assert.equal(Number(v), await value(`wide[${y}, ${x}]`));
    const [level] = await pixel(p, { y: 1003, x: 1501 }, { k, ...at });
    assert.ok(Math.abs(level - gray(2504, 0, 5000)) <= 1, String(level));
  });
});

test("a wheel of ten times: few requests, two at a time, and no blank picture", async () => {
  await open("wide.b2nd", async (p) => {
    const b = await p.locator(".plane").boundingBox(), w = await watch(p);
    p.requests();
    await p.mouse.move(b.x + b.width / 2, b.y + b.height / 2);
    await p.evaluate(() => {
      window.blank = 0;
      const look = () => { const c = document.querySelector(".plane"), d = c.getContext("2d").getImageData(c.width >> 1, c.height >> 1, 1, 1).data; if (d[0] === d[1] && d[1] === d[2]) window.blank++; if (!window.enough) requestAnimationFrame(look); };
      requestAnimationFrame(look);
    });
    const began = Date.now();
    for (let i = 0; i < 20; i++) { await p.mouse.wheel(0, -40); await p.waitForTimeout(30); }
    const took = Date.now() - began;
    await done(p);
    await p.waitForTimeout(150);
    const n = p.requests().length, most = Math.ceil(14 * Math.max(1, took / 1000)); // a busy machine turns the wheel slowly, with pauses to ask in
    console.log(`wheel of 11 times: ${n} requests in ${took} ms, ${w.gone} given up, ${await w.most()} at a time`);
    assert.ok(n <= most && await w.most() <= 2, `${n} requests in ${took} ms, ${await w.most()} at a time`);
    assert.equal(await p.evaluate(() => { window.enough = true; return window.blank; }), 0, "frames without a picture");
    // Back out, what was there is there.
    await p.keyboard.press("0");
    await done(p);
    await p.waitForTimeout(150);
    assert.equal(p.requests().length, 0, "requests to go back");
  }, { checked: false, init: gate(40).init });
});

test("a slider: two requests at a time, stale ones given up, the old picture until the new one is there", async () => {
  const g = gate(120);
  await open("weather.b2nd?map=gray&range=250,310&view=0,0,2,2", async (p) => {
    const w = await watch(p), slider = p.getByRole("slider", { name: "axis 0" });
    const before = await pixel(p, { y: 50, x: 60 }, { k: 2 });
    p.requests();
    g.shut = true;
    await slider.focus();
    await p.keyboard.press("ArrowRight");
    await p.waitForTimeout(100);
    assert.deepEqual(await pixel(p, { y: 50, x: 60 }, { k: 2 }), before, "the old picture");
    await point(p, { y: 50, x: 60 }, { k: 2 });
    assert.equal(await told(p), "[1, 50, 60] …");
    g.open();
    await done(p);
    assert.equal(await reading(p), `[1, 50, 60] = ${await value("str(weather[1, 50, 60])")}`);
    await p.waitForTimeout(400);
    assert.deepEqual(p.requests().map((u) => decodeURIComponent(u).replace(/.*\?s=/, "")), ["1,0:256,0:400", "2,0:256,0:400"], "the step, and the next one ahead");
    // What is stale is given up.
    g.shut = true;
    for (let i = 0; i < 4; i++) await p.keyboard.press("]");
    await p.waitForTimeout(100);
    g.open();
    await done(p);
    assert.ok(w.gone >= 2, `${w.gone} given up`); // of 3 and 4; 2 was there, 5 was wanted
    await p.waitForTimeout(400);
    p.requests();
    const b = await slider.boundingBox(), gone = w.gone;
    await p.mouse.move(b.x + b.width * 0.1, b.y + b.height / 2);
    await p.mouse.down();
    for (let i = 10; i <= 90; i += 2) { await p.mouse.move(b.x + (b.width * i) / 100, b.y + b.height / 2); await p.waitForTimeout(12); }
    await p.mouse.up();
    await done(p);
    await p.waitForTimeout(400);
    const n = p.requests().length;
    console.log(`slider over 20 places: ${n} requests, ${w.gone - gone} given up, ${await w.most()} at a time`);
    assert.ok((await w.most()) <= 2 && n <= 20, `${n} requests, ${await w.most()} at a time`);
    const at = Number(await slider.inputValue()), [level] = await pixel(p, { y: 50, x: 60 }, { k: 2 });
    assert.equal(level, gray(await value(`weather[${at}, 50, 60]`), 250, 310));
    assert.equal((await p.state()).i, `${at},0,0`);
  }, { checked: false, init: g.init });
});

test("what a server refuses is asked for in parts; too much is said, with a way out", async () => {
  const low = await serve(`d=${folder}/`, "--max-response", "1MB");
  await page(`${low.url}#/d/wide.b2nd`, async (p) => {
    await done(p);
    assert.equal(await p.locator(".fault").count(), 0);
  }, { errors: [/413/], checked: false });
  const { url } = await serve(`d=${folder}/`, "--max-read", "60KB");
  await page(`${url}#/d/wide.b2nd`, async (p) => {
    await p.getByRole("alert").getByText(/^That is too much at once: \d+ bytes in \d+ requests to read for it, 60000 bytes allowed/).waitFor();
    await p.getByRole("button", { name: "Zoom in" }).click();
    await done(p);
    assert.equal(await p.locator(".fault").count(), 0);
    await p.locator(".plane").click({ position: { x: 460, y: 200 } });
    const [, y, x, v] = /^\[(\d+), (\d+)\] = (\d+)/.exec(await reading(p));
    assert.equal(Number(v), await value(`wide[${y}, ${x}]`));
  }, { errors: [/413/], checked: false });
});

test("axes are chosen and swapped", async () => {
  await open("weather.b2nd?view=0,0,2,2&range=0,1&i=5,0,0", async (p) => {
    await p.getByRole("button", { name: "Swap" }).click();
    await done(p);
    assert.equal((await p.state()).ax, "2,1");
    await p.locator(".plane").click({ position: { x: 460, y: 200 } });
    const [, t, y, x, v] = /^\[(\d+), (\d+), (\d+)\] = (.*)$/.exec(await reading(p));
    assert.equal(v, await value(`str(weather[${t}, ${y}, ${x}])`));
    await p.selectOption("label:has-text('Down') select", "0");
    await done(p);
    await p.locator(".plane").click({ position: { x: 460, y: 90 } });
    const [, t2, y2, x2, v2] = /^\[(\d+), (\d+), (\d+)\] = (.*)$/.exec(await reading(p));
    assert.equal(v2, await value(`str(weather[${t2}, ${y2}, ${x2}])`));
    assert.equal(Number(x2), 0); // the axis that left the picture has a slider
    await p.getByRole("slider", { name: "axis 2" }).waitFor();
  }, { checked: false });
});

test("a link holds all that is in sight", async () => {
  let hash, picture;
  await open("weather.b2nd", async (p) => {
    await p.getByRole("spinbutton", { name: "Index of axis 0" }).fill("11");
    await p.keyboard.press("Enter");
    await p.selectOption("label:has-text('Colours') select", "magma");
    await p.getByLabel("Value of the lowest colour").fill("255.5");
    await p.keyboard.press("Enter");
    await p.locator(".plane").hover();
    await p.mouse.wheel(0, -300);
    await p.locator(".plane").click({ position: { x: 330, y: 170 } });
    await p.keyboard.press("p");
    await done(p);
    await p.waitForTimeout(300);
    await p.mouse.move(5, 5);
    hash = new URL(p.url()).hash;
    picture = [await p.evaluate(() => document.querySelector(".plane").toDataURL()), await reading(p), await p.getByLabel(/^Profile of/).getAttribute("aria-label")];
    await p.shot("array");
  });
  await page(`${url}${hash}`, async (p) => {
    await done(p);
    await p.getByLabel(/^Profile of/).waitFor();
    await p.waitForTimeout(200);
    assert.deepEqual([await p.evaluate(() => document.querySelector(".plane").toDataURL()), await reading(p), await p.getByLabel(/^Profile of/).getAttribute("aria-label")], picture);
    assert.equal(new URL(p.url()).hash, hash);
  }, { checked: false });
});

test("the range, the histogram and a profile are NumPy's", async () => {
  await open("exact.b2nd?point=30,40", async (p) => {
    const [lo, hi] = await value("[float(v) for v in np.percentile(exact.astype('f8'), [1, 99])]");
    const got = await p.evaluate(() => [...document.querySelectorAll(".ends input")].map((i) => Number(i.value)));
    assert.ok(Math.abs(got[0] - lo) / lo < 1e-5 && Math.abs(got[1] - hi) / hi < 1e-5, `${got} for ${lo}, ${hi}`);
  }, { checked: false });
  await open("weather.b2nd?point=30,40", async (p) => {
    const [lo, hi] = await value("[float(v) for v in np.percentile(weather[0], [1, 99])]");
    const got = await p.evaluate(() => [...document.querySelectorAll(".ends input")].map((i) => Number(i.value)));
    assert.ok(Math.abs(got[0] - lo) < 0.3 && Math.abs(got[1] - hi) < 0.3, `${got} for ${lo}, ${hi}`);
    p.requests();
    await p.selectOption("label:has-text('along') select", "0");
    await p.getByLabel(/^Profile of 24 items/).waitFor();
    assert.deepEqual(p.requests().map((u) => decodeURIComponent(u).replace(/.*\?/, "")), ["s=0:24,30,40"]);
    const [, a, b] = /from (\S+) to (\S+)$/.exec(await p.getByLabel(/^Profile of/).getAttribute("aria-label"));
    const [least, most] = await value("[float(weather[:, 30, 40].min()), float(weather[:, 30, 40].max())]");
    assert.ok(Math.abs(a - least) < 0.01 && Math.abs(b - most) < 0.01, `${a}, ${b} for ${least}, ${most}`);
    // A line that is drawn costs nothing.
    await p.keyboard.down("Shift");
    await p.locator(".plane").hover({ position: { x: 250, y: 100 } });
    await p.mouse.down();
    await p.locator(".plane").hover({ position: { x: 500, y: 350 } });
    await p.mouse.up();
    await p.keyboard.up("Shift");
    await p.getByText(/^from \d+, \d+ to \d+, \d+/).waitFor();
    assert.equal(p.requests().length, 0);
  });
});

test("what is not finite is transparent", async () => {
  await open("holes.b2nd?view=0,0,1,1&map=gray&range=250,310", async (p) => {
    const ground = await p.evaluate(() => { const c = document.createElement("span"); c.style.color = "var(--soft)"; document.body.append(c); const out = getComputedStyle(c).color.match(/\d+/g).map(Number); c.remove(); return out; });
    for (const at of [{ y: 150, x: 200 }, { y: 15, x: 15 }]) assert.deepEqual((await pixel(p, at)).slice(0, 3), ground);
    assert.equal((await pixel(p, { y: 50, x: 50 }))[0], gray(await value("holes[50, 50]"), 250, 310));
    await p.getByText(/17 % are not finite/).waitFor();
  }, { checked: false });
});

test("members of structured items, and a download that NumPy reads", async () => {
  await open("points.b2nd", async (p) => {
    await p.selectOption("label:has-text('Member') select", "height");
    await done(p);
    await p.locator(".plane").click({ position: { x: 460, y: 200 } });
    const [, y, x, v] = /^\[(\d+), (\d+)\] = (.*)$/.exec(await reading(p));
    assert.equal(v, await value(`str(points['height'][${y}, ${x}])`));
    for (let i = 0; i < 4; i++) await p.keyboard.press("+");
    await done(p);
    const [file] = await Promise.all([p.waitForEvent("download"), p.getByRole("button", { name: "npy" }).click()]);
    assert.equal(file.suggestedFilename(), "points.npy");
    const text = await p.getAttribute(".plane", "aria-label"), slice = /items (.*)$/.exec(text)[1];
    assert.ok(/^\d+:\d+,\d+:\d+$/.test(slice), slice);
    assert.equal(await value(`bool(np.array_equal(np.load(${JSON.stringify(await file.path())}), points['height'][${slice}]))`), true);
    const [png] = await Promise.all([p.waitForEvent("download"), p.getByRole("button", { name: "png" }).click()]);
    const size = await value(`[int.from_bytes(open(${JSON.stringify(await png.path())}, 'rb').read()[i:i + 4], 'big') for i in (16, 20)]`);
    const [[y0, y1], [x0, x1]] = slice.split(",").map((s) => s.split(":").map(Number));
    assert.deepEqual(size, [x1 - x0, y1 - y0]);
    assert.equal((await p.state()).field, "height");
  });
});

test("all of it by keys", async () => {
  await open("weather.b2nd", async (p) => {
    for (const key of ["]", "]", "m", "+", "+", "ArrowRight", "Shift+ArrowDown", "Shift+ArrowDown", "Shift+ArrowRight"]) await p.keyboard.press(key);
    await done(p);
    await p.waitForTimeout(250);
    const s = await p.state();
    assert.equal(s.i, "2,0,0");
    assert.equal(s.map, "magma");
    assert.ok(s.view);
    const [y, x] = s.point.split(",");
    assert.equal(await reading(p), `[2, ${y}, ${x}] = ${await value(`str(weather[2, ${y}, ${x}])`)}`);
    await p.waitForFunction(() => document.querySelector("#live").textContent === document.querySelector("#reading").textContent); // said to screen readers, too
    await p.keyboard.press(" ");
    await p.waitForFunction(() => Number(document.querySelector("[type=range]").value) >= 5);
    await p.keyboard.press(" ");
    const at = await p.inputValue("[type=range]");
    await p.waitForTimeout(300);
    assert.equal(await p.inputValue("[type=range]"), at, "stopped");
  }, { checked: false });
});

test("a value that comes late is told to screen readers, too", async () => {
  const g = gate(0);
  await page(`${url}#/d/weather.b2nd?view=0,0,4,4&range=0,1`, async (p) => {
    await done(p);
    g.shut = true;
    for (let i = 0; i < 4; i++) await p.keyboard.press("]"); // to a plane that nothing has fetched ahead, and that does not come yet
    await p.keyboard.press("Shift+ArrowDown");
    assert.match(await told(p), /…/);
    g.open();
    const [y, x] = (await p.state()).point.split(",");
    const text = `[4, ${y}, ${x}] = ${await value(`str(weather[4, ${y}, ${x}])`)}`;
    await p.waitForFunction((t) => document.querySelector("#live").textContent === t, text);
    assert.equal(await told(p), text);
  }, { init: g.init, checked: false });
});

test("one axis, one value, text", async () => {
  await open("line.b2nd", async (p) => {
    assert.deepEqual(p.requests().map((u) => decodeURIComponent(u).replace(url, "").replace(/~v-[0-9a-f]{16}/, "")), ["info/d/line.b2nd", "slice/d/line.b2nd?s=0:20000:8"]);
    for (let i = 0; i < 4; i++) await p.keyboard.press("+");
    await done(p);
    await p.locator(".plane").hover({ position: { x: 400, y: 100 } });
    const [, i, v] = /^\[(\d+)\] = (-?\d+)$/.exec(await reading(p));
    assert.equal(Number(v), await value(`line[${i}]`));
    await p.shot("line");
  });
  await page(`${url}#/d/one.b2nd`, async (p) => {
    await p.getByText("42.5").waitFor();
    await go(p, "words.b2nd");
    await p.locator("tbody td").nth(3).waitFor();
    assert.deepEqual(await p.locator("tbody td").allTextContents(), await value("[w.decode() for w in words.ravel()]"));
  });
});

test("members that are text: chosen, shown, and left again", async () => {
  const member = (p) => p.locator("label:has-text('Member') select"), cells = (p) => p.locator("tbody td").allTextContents();
  await open("sites.b2nd", async (p) => {
    assert.deepEqual(await member(p).locator("option").allTextContents(), ["id", "site", "box"]);
    await member(p).selectOption("site");
    await p.locator("tbody td").nth(11).waitFor();
    assert.deepEqual(await cells(p), await value("list(sites['site'].ravel())"));
    assert.equal((await p.state()).field, "site");
    await p.a11y();
    await member(p).selectOption("box");
    await done(p);
    assert.equal(await member(p).inputValue(), "box");
    await go(p, "pairs.b2nd"); // none of its members can be drawn
    await p.locator("tbody td").nth(1).waitFor();
    assert.deepEqual(await cells(p), ['{"left":"ab","right":"x"}', '{"left":"é","right":"yz"}']);
    await member(p).selectOption("right");
    await p.getByText("yz", { exact: true }).waitFor();
    assert.deepEqual(await cells(p), ["x", "yz"]);
    await member(p).selectOption("all");
    await p.getByText('{"left":"ab"').waitFor();
  }, { checked: false });
});

test("lines elsewhere are left out where nothing would answer them", async () => {
  const ids = async (p) => {
    await p.getByText("Read it elsewhere").click();
    await p.locator(".elsewhere pre").first().waitFor();
    const all = [];
    for (const b of await p.locator(".elsewhere .bar button").all()) {
      await b.click();
      for (const pre of await p.locator(".elsewhere pre").all()) all.push(await pre.getAttribute("data-id"));
    }
    return all;
  };
  await open("plain.npy", async (p) => {
    assert.deepEqual(await ids(p), ["numpy", "curl"]);
    await go(p, "sites.b2nd"); // a member is an array
    await done(p);
    assert.equal((await p.request.get(`${url}zarr/d/sites.b2nd/zarr.json`)).status(), 422);
    assert.deepEqual(await ids(p), ["numpy", "blosc2", "curl", "cli"]);
    await go(p, "points.b2nd");
    await done(p);
    assert.equal((await p.request.get(`${url}zarr/d/points.b2nd/zarr.json`)).status(), 200);
    assert.deepEqual(await ids(p), ["numpy", "zarr", "xarray", "blosc2", "curl", "cli", "zarrurl", "neuroglancer"]);
  }, { checked: false });
});

test("on a phone, in the dark", async () => {
  await open("weather.b2nd?i=3,0,0&profile=0&point=150,200", async (p) => {
    await p.getByLabel(/^Profile of/).waitFor();
    assert.ok(await p.evaluate(() => document.documentElement.scrollWidth <= innerWidth), "wider than the screen");
    await p.shot("phone");
    // Two fingers that part zoom in where they are.
    await p.evaluate(() => scrollTo(0, 0));
    const b = await p.locator(".plane").boundingBox(), at = { x: b.x + 200, y: b.y + 120 }, cdp = await p.context().newCDPSession(p);
    const fingers = (d) => [{ x: at.x - d, y: at.y, id: 1 }, { x: at.x + d, y: at.y, id: 2 }];
    await cdp.send("Input.dispatchTouchEvent", { type: "touchStart", touchPoints: fingers(20) });
    for (let d = 25; d <= 80; d += 5) await cdp.send("Input.dispatchTouchEvent", { type: "touchMove", touchPoints: fingers(d) });
    await cdp.send("Input.dispatchTouchEvent", { type: "touchEnd", touchPoints: [] });
    await done(p);
    await p.waitForTimeout(250);
    const [x, , kx] = (await p.state()).view.split(",").map(Number), whole = (b.width - 58) / 400;
    assert.ok(Math.abs(kx / whole - 4) < 0.3, `${kx / whole} times`);
    assert.ok(Math.abs(x + (200 - margin.l) / kx - (200 - margin.l) / whole) < 4, `the item below the fingers, from ${x}`);
    assert.equal((await p.state()).point, "150,200", "a gesture of two fingers marks nothing");
  }, { width: 400, height: 860, dark: true, touch: true });
});
