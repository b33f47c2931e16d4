// The views of images, items and other files in a real browser, and the lines of "Read it
// elsewhere", which are run and compared.

import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import test, { after } from "node:test";
import { fileURLToPath } from "node:url";

process.env.FARREAD ??= fileURLToPath(new URL("../../bin/farread", import.meta.url));
assert.ok(existsSync(process.env.FARREAD), "no bin/farread: run make build first");
const { data, page, serve } = await import("./ground.mjs");
const { folder, value } = await data("views.py");
const { url } = await serve(`d=${folder}/`);
const at = (key, state = "") => `${url}#/d/${key}${state ? `?${state}` : ""}`;
const work = mkdtempSync(join(tmpdir(), "lines-"));
after(() => rmSync(work, { recursive: true, force: true }));
const gets = (list) => list.filter((u) => /\/get/.test(u));
const sha = (p) => createHash("sha256").update(p).digest("hex");

// want is the pixel in the middle of a stored frame.
const want = (k, i) => value(`[int(x) for x in np.asarray(Image.open(io.BytesIO(frame(${k}, ${i}))))[24, 32]]`);
const close = (a, b) => assert.ok(a.every((v, i) => Math.abs(v - b[i]) <= 3), `${a}, want ${b}`);

test("images: the grid loads what is in sight, filters, and has keys", async () => {
  await page(at("clips.gulp"), async (p) => {
    await p.waitForFunction(() => { const near = [...document.querySelectorAll(".card")]; return near.length > 0 && near.every((c) => c.querySelector("img")); });
    const first = p.requests();
    assert.ok(gets(first).length < 60 && gets(first).length >= 14, `${gets(first).length} first frames of 60 ids`);
    assert.equal(first.filter((u) => /\/ls/.test(u)).length, 1);
    assert.match(await p.getByRole("status").first().textContent(), /^60 ids, \d+ frames$/);
    // The picture in the card is the stored one.
    const card = await p.getByRole("button", { name: /clip-00/ }).locator("img").evaluate((i) => { const c = document.createElement("canvas"), g = c.getContext("2d"); [c.width, c.height] = [64, 48]; g.drawImage(i, 0, 0); return [...g.getImageData(32, 24, 1, 1).data.slice(0, 3)]; });
    close(card, await want(0, 0));
    await p.shot("images");
    // Frames of what the mouse rests on, unless the user wants no motion.
    await p.getByRole("button", { name: /clip-03/ }).hover();
    await p.waitForTimeout(500);
    assert.equal(await p.locator("[data-preview]").count(), 0);
    await p.emulateMedia({ reducedMotion: "no-preference" });
    await p.getByLabel("Filter").fill("north-3");
    await p.waitForFunction(() => /^15 ids/.test(document.querySelector(".note").textContent));
    await p.getByRole("button", { name: /clip-07/ }).hover();
    await p.locator("[data-preview]").waitFor();
    await p.getByLabel("Filter").hover();
    await p.locator("[data-preview]").waitFor({ state: "detached" });
    await p.getByLabel("Filter").fill("");
    await p.waitForFunction(() => /^60 ids,/.test(document.querySelector(".note").textContent));
    await p.mouse.wheel(0, 4000);
    await p.getByRole("button", { name: /clip-59/ }).locator("img").waitFor();
    assert.ok(await p.locator(".card").count() < 60, "all cards are in the document");

    await p.getByLabel("Filter").fill("storm north-2");
    await p.waitForFunction(() => /^\d+ ids of 60$/.test(document.querySelector(".note").textContent));
    assert.equal(await p.locator(".card").count(), await value("sum(1 for k in range(60) if k % 3 and k % 4 == 2)"));
    await p.getByLabel("Filter").fill("");
    await p.waitForFunction(() => /^60 ids,/.test(document.querySelector(".note").textContent));
    await p.evaluate(() => scrollTo(0, 0));

    const focused = () => p.evaluate(() => document.activeElement.textContent);
    await p.locator(".id[tabindex='0']").focus();
    const begin = await focused();
    await p.keyboard.press("ArrowRight");
    assert.notEqual(await focused(), begin);
    await p.keyboard.press("End");
    assert.match(await focused(), /^storm\/clip-59 12 frames storm · north-3$/);
    await p.keyboard.press("Enter");
    await p.locator("canvas.frame[data-frame='0']").waitFor();
    assert.equal((await p.state()).id, "storm/clip-59");
    await p.keyboard.press("Escape");
    await p.locator(".player").waitFor({ state: "detached" });
    assert.match(await focused(), /clip-59/);
  });
});

test("images: the player shows stored frames, six ahead, by keys and link", async () => {
  await page(at("clips.gulp", "id=storm%2Fclip-04&frame=3"), async (p) => {
    const shown = (n) => p.locator(`canvas.frame[data-frame='${n}']`).waitFor();
    await shown(3);
    await p.waitForTimeout(300);
    const ahead = gets(p.requests()).filter((u) => /clip-04/.test(u)).map((u) => Number(new URL(u).searchParams.get("frame"))).filter((n) => n);
    assert.deepEqual(ahead, [3, 4, 5, 6, 7, 8, 9]);
    const pixel = () => p.locator("canvas.frame").evaluate((c) => [...c.getContext("2d").getImageData(c.width >> 1, c.height >> 1, 1, 1).data.slice(0, 3)]);
    close(await pixel(), await want(4, 3));
    await p.keyboard.press("ArrowRight");
    await shown(4);
    close(await pixel(), await want(4, 4));
    await p.keyboard.press("End");
    await shown(11);
    await p.keyboard.press("ArrowRight");
    await shown(0);
    assert.match(await p.locator(".side").textContent(), /labelstormsitenorth-0/);
    await p.getByLabel("step").fill("3");
    await p.getByLabel("step").press("Enter");
    await p.getByRole("button", { name: "Next frame" }).click();
    await shown(3);
    await p.getByLabel("Frames a second").selectOption("50");
    await p.getByRole("button", { name: "Play", exact: true }).click();
    const before = Number(await p.locator(".player").getAttribute("data-shown"));
    await p.waitForFunction((n) => Number(document.querySelector(".player").dataset.shown) > n + 8, before);
    await p.getByRole("button", { name: "Stop" }).click();
    await p.waitForTimeout(250);
    const { id, frame, rate, step } = await p.state();
    assert.deepEqual([id, rate, step], ["storm/clip-04", "50", "3"]);
    await shown(Number(frame));
    close(await pixel(), await want(4, Number(frame)));
    await p.getByRole("button", { name: "Next id" }).click();
    await p.getByRole("heading", { name: "storm/clip-05" }).waitFor();
    await p.shot("player");
  }, { width: 400, height: 800, dark: true });
});

test("images: a dataset of chunks, and no such id", async () => {
  await page(at("set/", "id=nothing"), async (p) => {
    await p.getByText("There is no id nothing.").waitFor();
    await p.getByRole("button", { name: /clip-01/ }).click();
    await p.locator("canvas.frame[data-frame='0']").waitFor();
    assert.match(await p.locator(".side").textContent(), /data_0\.gulp/);
  }, { checked: false });
});

test("items: pages, search, one item as JSON with all its digits", async () => {
  await page(at("events.blp"), async (p) => {
    const rows = p.locator(".items-table tbody tr");
    await rows.nth(49).waitFor();
    assert.equal(gets(p.requests()).length, 1);
    assert.equal(await rows.nth(7).locator(".content").textContent(), await value("events[7]"));
    await p.keyboard.press("]");
    await p.getByText("50 to 99 of 2,500 items").waitFor();
    await p.getByLabel("Go to").fill("2499");
    await p.getByLabel("Go to").press("Enter");
    await p.getByRole("heading", { name: "Item 2499" }).waitFor();
    const pre = await p.locator(".detail pre").textContent();
    assert.match(pre, new RegExp(`"big": ${await value("str(2**62 + 2499)")}\n`));
    assert.deepEqual(JSON.parse(pre).n, 2499);
    await p.waitForTimeout(250);
    assert.deepEqual(await p.state(), { items: "2450:2500", item: "2499" });
    await p.keyboard.press("ArrowUp");
    await p.getByRole("heading", { name: "Item 2498" }).waitFor();
    await p.getByRole("button", { name: "Hex" }).click();
    assert.match(await p.locator(".detail pre").textContent(), /^0000 {2}7b 22 6e 22/);
    await p.shot("items");

    p.requests();
    await p.getByLabel("Search").fill("needle hay");
    await p.getByText("1 item found in all 2,500").waitFor();
    assert.ok(p.requests().length <= 10);
    assert.equal(await rows.locator(".content").textContent(), await value("events[2222]"));
    await p.getByLabel("Search").fill("rain");
    await p.getByText(/items found in the first/).waitFor();
    await p.getByRole("button", { name: "Search on" }).click();
  });
});

test("items: names, bytes that are no text, and markup that stays text", async () => {
  await page(at("files.blp"), async (p) => {
    const row = (name) => p.locator(".items-table tbody tr").filter({ hasText: name });
    await row("raw.bin").click();
    await p.locator(".detail pre").waitFor();
    assert.match(await p.locator(".detail pre").textContent(), /^0000 {2}00 01 02 03 04 05 06 07 {2}08 09/);
    await row("a & b.txt").click();
    await p.getByRole("heading", { name: /a & b\.txt/ }).waitFor();
    assert.equal(await p.locator(".detail pre").textContent(), "<script>alert(1)</script>\n");
    await row("note.json").click();
    await p.getByRole("heading", { name: /note\.json/ }).waitFor();
    assert.equal(await p.locator(".detail pre").textContent(), '{\n  "a": [\n    1,\n    2.50,\n    12345678901234567890\n  ],\n  "b": {}\n}');
    assert.equal(await p.evaluate(() => document.querySelectorAll("main script").length), 0);
  }, { width: 400, height: 800 });
});

test("a folder names what is a series, and finds it by that word", async () => {
  await page(at("", "q=series"), async (p) => {
    await p.getByRole("link", { name: "two.zoom" }).waitFor();
    assert.deepEqual(await p.locator(".list tbody a").allTextContents(), ["gap.zoom", "grow.zoom", "one.zoom", "two.zoom"]);
    assert.match(await p.locator("tr", { hasText: "two.zoom" }).innerText(), /series · zoomcache/);
  }, { checked: false });
});

test("anything else: what is known of it, its bytes, a link", async () => {
  await page(at("notes.txt"), async (p) => {
    await p.getByText("no dataset", { exact: true }).waitFor();
    assert.equal(await p.getByRole("link", { name: "stored bytes" }).getAttribute("href"), `${url}raw/d/notes.txt`);
    p.requests();
    await p.evaluate(() => { location.hash = "#/d/plain.b2frame"; });
    await p.getByRole("heading", { name: "plain.b2frame" }).waitFor();
    await p.getByText(/first 4\.1 KB/).waitFor();
    assert.match(await p.locator("dl").first().textContent(), /format/);
    await p.shot("other");
  }, { errors: [/status of 422/] });
});

test("what is not ours is what its makers published", () => {
  const top = fileURLToPath(new URL("../../", import.meta.url)), theirs = join(top, ".node", "node_modules", "uplot"), ours = join(top, "internal", "viewer", "ui", "vendor", "uPlot");
  for (const [name, from] of Object.entries({ LICENSE: "LICENSE", "uPlot.iife.min.js": "dist/uPlot.iife.min.js", "uPlot.min.css": "dist/uPlot.min.css" })) assert.equal(sha(readFileSync(join(ours, name))), sha(readFileSync(join(theirs, from))), name);
});

// ---- the lines, which are run

// lines opens the panel, and takes the text of each line.
async function lines(p) {
  await p.getByText("Read it elsewhere").click();
  await p.locator(".elsewhere pre").first().waitFor();
  const all = {};
  for (const b of await p.locator(".elsewhere .bar button").all()) {
    await b.click();
    for (const pre of await p.locator(".elsewhere pre").all()) all[await pre.getAttribute("data-id")] = await pre.textContent();
  }
  return all;
}

const env = { ...process.env, PATH: `${dirname(process.env.FARREAD)}:${process.env.PATH}` };
const shell = (line) => execFileSync("bash", ["-ec", line], { cwd: work, env, stdio: ["ignore", "pipe", "inherit"] });
const python = (code, name) => value(JSON.stringify(`run(${JSON.stringify(code)}, ${JSON.stringify(name)})`));
const file = (name) => readFileSync(join(work, name));
const npy = (name) => value(`loaded(${JSON.stringify(join(work, name))})`);
const programs = [];

test("lines for an array", async () => {
  await page(at("grid.b2nd"), async (p) => {
    await p.locator("main canvas, main table").first().waitFor();
    await p.waitForTimeout(400);
    const l = await lines(p);
    const want = await python(l.numpy, "part");
    assert.ok(want[0].length >= 1);
    for (const id of ["zarr", "xarray", "blosc2"]) assert.deepEqual(await python(l[id], "part"), want, l[id]);
    shell(l.curl);
    assert.deepEqual(await npy("grid.npy"), want);
    shell(`rm grid.npy\n${l.cli}`);
    assert.deepEqual(await npy("grid.npy"), want);
    assert.match(l.neuroglancer, /^http:.*\/zarr\/d\/grid\.b2nd\/\|zarr3:$/);
    programs.push(l.go);
  }, { checked: false });
});

test("lines for a series", async () => {
  await page(at("two.zoom", "from=430.5&to=445.25"), async (p) => {
    await p.locator(".plotarea[data-sharp='1']").waitFor();
    const l = await lines(p), want = await python(l.numpy, "views");
    assert.deepEqual(Object.keys(want), ["1", "2"]);
    shell(l.curl);
    for (const t of ["1", "2"]) assert.deepEqual(await npy(`two-${t}.npy`), want[t]);
    shell(`rm two-*.npy\n${l.cli}`);
    for (const t of ["1", "2"]) assert.deepEqual(await npy(`two-${t}.npy`), want[t]);
    shell(l.samples);
    const samples = file("two-1.csv").toString().trim().split("\n").slice(1).map((r) => Number(r.split(",").at(-1)));
    assert.deepEqual(samples, await value("wave[430_499:445_249].tolist()"));
    shell(l.svg);
    assert.match(file("two-2.svg").toString(), /<svg/);
    // The lines follow what is shown, and are copied as they stand.
    await p.locator(".plotarea").focus();
    await p.keyboard.press("0");
    await p.locator(".elsewhere .bar button", { hasText: "curl" }).click();
    await p.waitForFunction(() => !document.querySelector(".elsewhere pre[data-id=curl]").textContent.includes("from="));
    programs.push(l.go, (await lines2(p)).go);
    await p.context().grantPermissions(["clipboard-read", "clipboard-write"]);
    await p.locator(".elsewhere .bar button", { hasText: "farread" }).click();
    await p.getByRole("button", { name: "Copy: farread view" }).click();
    await p.getByRole("button", { name: "Copied" }).waitFor();
    assert.equal(await p.evaluate(() => navigator.clipboard.readText()), await p.locator("pre[data-id=cli]").textContent());
    await p.shot("elsewhere");
  });
});

async function lines2(p) {
  await p.locator(".elsewhere .bar button", { hasText: "Go" }).click();
  return { go: await p.locator("pre[data-id=go]").textContent() };
}

test("lines for a frame, an item and items", async () => {
  await page(at("clips.gulp", "id=storm%2Fclip-07&frame=5"), async (p) => {
    await p.locator("canvas.frame[data-frame='5']").waitFor();
    const l = await lines(p), want = await value("sha(frame(7, 5))");
    assert.equal(await python(l.pillow, "frame"), want);
    shell(l.curl);
    assert.equal(sha(file("clip-07-5.jpg")), want);
    shell(`rm clip-07-5.jpg\n${l.cli}`);
    assert.equal(sha(file("clip-07-5.jpg")), want);
    programs.push(l.go);
  }, { checked: false });
  await page(at("set/", "id=clip-07&frame=5"), async (p) => {
    await p.locator("canvas.frame[data-frame='5']").waitFor();
    const l = await lines(p);
    shell(l.cli);
    assert.equal(sha(file("clip-07-5.jpg")), await value("sha(frame(7, 5))"));
  }, { checked: false });
  await page(at("events.blp", "items=100:150&item=103"), async (p) => {
    await p.locator(".detail pre").waitFor();
    let l = await lines(p);
    const want = await value("events[103]");
    assert.equal(await python(l.python, "item"), sha(want));
    shell(l.curl);
    assert.equal(file("events-103").toString(), want);
    shell(`rm events-103\n${l.cli}`);
    assert.equal(file("events-103").toString(), want);
    programs.push(l.go);
    await p.keyboard.press("Escape");
    await p.locator("details.elsewhere summary").click();
    l = await lines(p);
    assert.deepEqual(await python(l.python, "items"), await value("[50, sha(b'\\n'.join(e.encode() for e in events[100:150]))]"));
    shell(l.curl);
    assert.equal(file("events.jsonl").toString().trim().split("\n").length, 50);
    shell(l.cli);
    assert.equal(file("events.items").toString(), await value("''.join(events[100:150])"));
    programs.push(l.go);
  }, { checked: false });
});

test("the programs in Go build, and say what NumPy says", { skip: spawnSync("go", ["version"]).status !== 0 && "there is no go" }, async () => {
  // One program of all, since linking takes longest: each main has another name.
  const top = fileURLToPath(new URL("../../", import.meta.url));
  mkdirSync(join(top, "dist"), { recursive: true });
  const at = mkdtempSync(join(top, "dist", "go-")), imports = new Set(["os"]);
  const bodies = programs.map((text, i) => { for (const [, path] of text.matchAll(/^\t"(.*)"$/gm)) imports.add(path); return text.slice(text.indexOf("func main()")).replace("func main()", `func p${i}()`); });
  try {
    writeFileSync(join(at, "main.go"), `package main\n\nimport (\n${[...imports].map((i) => `\t"${i}"`).join("\n")}\n)\n\n${bodies.join("\n")}\nfunc main() {\n\tmap[string]func(){${programs.map((_, i) => `"${i}": p${i}`).join(", ")}}[os.Args[1]]()\n}\n`);
    execFileSync("go", ["build", "-o", join(at, "all"), join(at, "main.go")], { cwd: top, env: { ...process.env, CGO_ENABLED: "0" } });
    const go = (i) => execFileSync(join(at, "all"), [String(i)]).toString();
    assert.equal(programs.length, 6);
    const view = go(1).trim().split("\n").map((r) => r.split(" "));
    const [lo, hi] = await value(`stats(0, ${view[0][0]}, ${view.at(-1)[1]})`);
    assert.equal(Math.min(...view.map((r) => Number(r[3]))), lo);
    assert.equal(Math.max(...view.map((r) => Number(r[4]))), hi);
    assert.match(go(3), /^\d+ image\/jpeg\n$/);
    assert.equal(go(4), `${await value("events[103]")}\n`);
    assert.match(go(0), /^\[/);
    assert.equal(go(5).trim().split("\n").length, 50);
  } finally {
    rmSync(at, { recursive: true, force: true });
  }
});
