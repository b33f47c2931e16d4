// Roots, folders, search, errors, the token, theme and keys.

import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";
import { data, page, serve } from "./ground.mjs";

const { folder } = await data();
const { url } = await serve(`d=${folder}/`);
const names = (p) => p.locator(".list tbody a").allTextContents();

test("one root is opened at once, and a folder costs one request", async () => {
  await page(url, async (p) => {
    await p.getByRole("link", { name: "weather.b2nd" }).waitFor();
    assert.equal(new URL(p.url()).hash, "#/d/");
    assert.deepEqual(p.requests(), [`${url}ls/`, `${url}ls/d`]);
    const line = p.locator("tr", { hasText: "weather.b2nd" });
    assert.match(await line.innerText(), /array · b2nd\s+5\.\d MB\s+\d{4}-/);
    await p.shot("folder");
  });
});

test("a filter, lines by keys, and a link that holds it", async () => {
  await page(`${url}#/d/`, async (p) => {
    await p.getByRole("link", { name: "weather.b2nd" }).waitFor();
    await p.keyboard.press("/");
    await p.keyboard.type("h array");
    await p.waitForFunction(() => document.querySelectorAll(".list tbody tr").length === 3);
    assert.deepEqual(await names(p), ["halves.b2nd", "holes.b2nd", "weather.b2nd"]);
    await p.waitForFunction(() => location.hash === "#/d/?q=h+array");
    await p.keyboard.press("ArrowDown");
    await p.keyboard.press("j");
    await p.keyboard.press("Enter");
    await p.getByRole("heading", { name: "holes.b2nd" }).waitFor();
    await p.goBack();
    await p.waitForFunction(() => document.querySelectorAll(".list tbody tr").length === 3);
    assert.equal(await p.inputValue("input[type=search]"), "h array");
  }, { checked: false });
});

test("pages of a thousand, and a jump to names", async () => {
  await page(`${url}#/d/many/`, async (p) => {
    await p.getByText("1,000 names on this page").waitFor();
    await p.getByRole("button", { name: "Next 1,000" }).click();
    await p.getByText("203 names on this page").waitFor();
    assert.equal((await names(p))[0], "part-1000.txt");
    await p.getByRole("button", { name: "First page" }).click();
    await p.getByText("1,000 names on this page").waitFor();
    p.requests();
    await p.fill("input[type=search]", "part-11");
    await p.getByRole("button", { name: /^Names from/ }).click();
    await p.getByText("103 names on this page").waitFor();
    assert.equal((await names(p))[0], "part-1100.txt");
    assert.equal(p.requests().length, 1);
  }, { checked: false });
});

test("a name with everything that a path has to escape", async () => {
  await page(`${url}#/d/deep/`, async (p) => {
    await p.getByRole("link", { name: "er & odd #1/" }).click();
    await p.getByRole("link", { name: "ä <i>?.b2nd" }).click();
    await p.getByRole("heading", { name: "ä <i>?.b2nd" }).waitFor();
    await p.waitForSelector(".plane[data-done='1']");
    assert.deepEqual(await p.locator("#crumbs > *").allTextContents(), ["d", "deep", "er & odd #1", "ä <i>?.b2nd"]);
    await p.keyboard.press("u");
    await p.getByRole("link", { name: "ä <i>?.b2nd" }).waitFor();
  }, { checked: false });
});

test("what is not there, and what is no dataset, is said in words", async () => {
  const errors = [/404|422/];
  await page(`${url}#/d/none.b2nd`, async (p) => {
    await p.getByRole("alert").getByText("There is no such thing here").waitFor();
    await p.fill("[name=key]", "exact.b2nd");
    await p.getByRole("button", { name: "Open" }).click();
    await p.getByRole("heading", { name: "exact.b2nd" }).waitFor();
    assert.equal(await p.locator(".fault").count(), 0);
  }, { errors });
  await page(`${url}#/d/notes.txt`, async (p) => { await p.getByText("No format that can be shown").waitFor(); }, { errors, checked: false });
  await page(`${url}#/d/empty.txt`, async (p) => { await p.getByText("It is empty.").waitFor(); }, { errors: [/416|422/], checked: false });
});

test("a dataset that is replaced: the page says so, and opens the new version", async () => {
  const { folder, value } = await data();
  const { url } = await serve(`d=${folder}/`, "--ttl", "0s");
  await page(`${url}#/d/weather.b2nd`, async (p) => {
    await p.waitForSelector(".plane[data-done='1']");
    await value("blosc2.asarray(np.zeros((24, 300, 400), 'f4') + np.arange(24, dtype='f4')[:, None, None], urlpath=folder + '/weather.b2nd', mode='w').nbytes");
    await p.getByRole("spinbutton", { name: "Index of axis 0" }).fill("9");
    await p.keyboard.press("Enter");
    await p.getByRole("alert").getByText("It was replaced by another version").waitFor();
    await p.getByRole("button", { name: "Open the new version" }).click();
    await p.waitForSelector(".plane[data-done='1']");
    await p.locator(".plane").click({ position: { x: 400, y: 200 } });
    assert.match(await p.textContent("#reading"), /^\[9, \d+, \d+\] = 9\.0$/);
  }, { errors: [/409/], checked: false });
});

test("a token: asked for, kept in the tab, and taken from the link", async () => {
  const file = join(folder, "..", "page-token");
  writeFileSync(file, "s3cret");
  const { url } = await serve(`d=${folder}/`, "--token-file", file);
  await page(`${url}#/d/exact.b2nd`, async (p) => {
    await p.getByText("This server wants a token.").waitFor();
    await p.getByLabel("Token").fill("s3cret");
    await p.getByRole("button", { name: "Use this token" }).click();
    await p.waitForSelector(".plane[data-done='1']");
    assert.ok(!p.url().includes("s3cret"));
  }, { errors: [/401/] });
  await page(`${url}#token=s3cret&/d/exact.b2nd`, async (p) => {
    await p.waitForSelector(".plane[data-done='1']");
    assert.equal(new URL(p.url()).hash, "#/d/exact.b2nd");
    assert.ok(p.requests().every((u) => !u.includes("s3cret")));
    await p.evaluate(() => { location.hash = "#/d/notes.txt"; });
    await p.getByText("no dataset", { exact: true }).waitFor();
    assert.equal(await p.getByRole("link", { name: "stored bytes" }).count(), 0); // it would be refused
  }, { errors: [/422/], checked: false });
  // No escape, so it is the token as it stands.
  await page(`${url}#token=100%`, async (p) => {
    await p.getByText("This server wants a token.").waitFor();
    assert.equal(await p.evaluate(() => sessionStorage.getItem("farread-token")), "100%");
  }, { errors: [/401/], checked: false });
});

test("dark, light, and the list of keys", async () => {
  await page(`${url}#/d/exact.b2nd`, async (p) => {
    await p.waitForSelector(".plane[data-done='1']");
    const ground = () => p.evaluate(() => getComputedStyle(document.body).backgroundColor);
    const dark = await ground();
    assert.ok(dark.match(/\d+/g).every((v) => v < 64), dark);
    await p.keyboard.press("t");
    assert.ok((await ground()).match(/\d+/g).every((v) => v > 200), "light");
    await p.reload();
    await p.waitForSelector(".plane[data-done='1']");
    assert.equal(await p.evaluate(() => document.documentElement.dataset.theme), "light");
    await p.keyboard.press("?");
    await p.getByRole("dialog").getByText("swap the axes").waitFor();
    await p.a11y();
    await p.keyboard.press("Escape");
    await p.waitForFunction(() => !document.getElementById("keys").open);
  }, { dark: true });
});

test("no page, where none is wanted", async () => {
  const { url } = await serve(`d=${folder}/`, "--no-viewer");
  assert.equal((await fetch(url)).status, 404);
  assert.equal((await fetch(`${url}healthz`)).status, 200);
});
