// Coordinates of what is read out: from arrays beside, and from the metadata of the array,
// against NumPy's values and xarray's times.

import assert from "node:assert/strict";
import test from "node:test";
import { data, page, serve } from "./ground.mjs";
import { dated, since } from "../../internal/viewer/ui/coords.js";

const { folder, value } = await data();
const { url } = await serve(`d=${folder}/`);
const done = (p) => p.waitForSelector(".plane[data-done='1']");
const says = (p, text) => p.waitForFunction((t) => document.querySelector("#reading")?.textContent === t, text, { polling: 30 }).catch(async () => assert.equal(await p.textContent("#reading"), text));
const verbs = (list) => list.map((u) => decodeURIComponent(u).replace(url, "").replace(/~v-[0-9a-f]{16}/, ""));

test("arrays beside that are called like a dimension", async () => {
  await page(`${url}#/d/grid/t2m.b2nd?i=5,0,0&point=7,11`, async (p) => {
    await done(p);
    const time = (await value("cf(hours[5], **epoch)")).slice(0, 16).replace("T", " ").replace(" 00:00", "");
    await says(p, `[5, 7, 11] = ${await value("str(t2m[5, 7, 11])")}   at time ${time}, lat ${await value("str(lat[7])")}, lon ${await value("str(lon[11])")}`);
    // They come behind the picture: one listing, and two requests for each.
    assert.deepEqual(verbs(p.requests()), ["info/d/grid/t2m.b2nd", "slice/d/grid/t2m.b2nd?s=5,0:30,0:40", "ls/d/grid/",
      ...["time", "lat", "lon"].flatMap((n) => [`info/d/grid/${n}.b2nd`, `slice/d/grid/${n}.b2nd?s=:`])]);
    assert.equal(await p.locator(".of").textContent(), `of 24 · ${time}`);
    await p.getByRole("slider", { name: "time" }).focus();
    await p.keyboard.press("ArrowRight");
    await done(p);
    await says(p, `[6, 7, 11] = ${await value("str(t2m[6, 7, 11])")}   at time 2025-03-02 06:00, lat ${await value("str(lat[7])")}, lon ${await value("str(lon[11])")}`);
    assert.equal(await value("cf(hours[6], **epoch)"), "2025-03-02T06:00:00.000000000");
    await p.shot("coordinates");
  });
});

test("what the array's own metadata says costs no request, and other lengths are left out", async () => {
  await page(`${url}#/d/grid/own.b2nd?i=1,0,0&point=29,39`, async (p) => {
    await done(p);
    await says(p, `[1, 29, 39] = ${await value("str(t2m[1, 29, 39])")}   at t 2025-03-01 06:00, y ${await value("str(lat[29])")}, x ${await value("str(0.1 + 39 * 0.25)")}`);
    assert.equal(p.requests().length, 2);
    await p.evaluate(() => { location.hash = "#/d/grid/series.b2nd?point=0,3"; });
    await p.waitForSelector(".plane.line[data-done='1']");
    await says(p, `[3] = ${await value("str(np.sin(np.arange(24))[3])")}   at time 2025-03-01 12:00`);
    await p.evaluate(() => { location.hash = "#/d/grid/wrong.b2nd?point=1,1"; });
    await p.getByRole("heading", { name: "wrong.b2nd" }).waitFor();
    await done(p);
    await p.waitForTimeout(300);
    await says(p, `[0, 1, 1] = ${await value("str(t2m[0, 1, 1])")}`);
  }, { checked: false });
});

test("times of the CF conventions are xarray's", async () => {
  const cases = [[60.25, "days since 2000-01-01"], [1, "days since 2000-2-28 6:30"], [1e9, "seconds since 1970-01-01T00:00:00Z"], [-7, "hours since 1999-12-31 12:00 +02:00"],
    [90, "minutes since 2024-02-29 23:00:00.5"], [41000.5, "days since 1900-01-01", "proleptic_gregorian"], [12345, "milliseconds since 2001-01-01"], [3, "hour since 2010-01-01 00:00"]];
  for (const [n, units, calendar = "standard"] of cases) {
    const got = dated(since({ units, calendar }), n), want = await value(`cf(${n}, ${JSON.stringify(units)}, ${JSON.stringify(calendar)})`);
    assert.ok(got && want.replace("T", " ").startsWith(got) && /^(T?[0:.]*)$/.test(want.slice(got.length)), `${n} ${units}: ${got}, xarray has ${want}`);
  }
  for (const units of ["days", "months since 2000-01-01", "days since 2000-13-01", "days since 2001-02-29", "degrees_north", 7, undefined]) assert.equal(since({ units }), null, String(units));
  assert.equal(since({ units: "days since 2000-01-01", calendar: "noleap" }), null);
  assert.equal(dated(since({ units: "days since 1500-01-01" }), 3), null); // another calendar then
  assert.equal(dated(since({ units: "days since 2000-01-01" }), NaN), null);
});
