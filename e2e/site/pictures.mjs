// Takes the pictures in docs/ (make pictures): what bin/farread prints and draws of the
// quickstart's data, and its page in a browser. Each is looked at before it is committed.

import { execFileSync } from "node:child_process";
import { mkdtempSync, mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";
import { page, serve, settled } from "../browser/ground.mjs";

const top = fileURLToPath(new URL("../../", import.meta.url));
const python = join(top, ".venv", "bin", "python"), farread = join(top, "bin", "farread");
const work = mkdtempSync(join(tmpdir(), "pictures-"));
after(() => rmSync(work, { recursive: true, force: true }));
const run = (program, args, options = {}) => execFileSync(program, args, { encoding: "utf8", stdio: ["pipe", "pipe", "inherit"], maxBuffer: 1 << 24, ...options });
const docs = (name) => join(top, "docs", name);

const cloud = join(work, "cloud"), sets = join(cloud, "buckets", "datasets");
const printed = run(farread, ["quickstart", "--once", "--dir", cloud]);
run(python, [join(top, "e2e/site/pictures.py"), work]);
run(farread, ["pack", join(work, "temperature.npy"), join(sets, "temperature.b2nd"), "--dims", "time,lat,lon", "--quiet"]);
run(farread, ["pack", join(work, "buoy.csv"), join(sets, "buoy.zoom"), "--quiet"]);
for (const [name, file] of [["aurora", "aurora/frames"], ["planet", "planet.zip"], ["sunrise", "sunrise.tar"]]) {
  run(farread, ["unpack", join(sets, "clips", `${file}.gulp`), join(work, name), "--quiet"]);
  const frames = readdirSync(join(work, name, name)).sort(), step = Math.floor(frames.length / 6);
  mkdirSync(join(work, "train", name), { recursive: true });
  for (let i = 0; i < 6; i++) renameSync(join(work, name, name, frames[i * step]), join(work, "train", name, frames[i * step]));
}
run(farread, ["pack", join(work, "train"), join(sets, "train.gulp"), "--layout", "imagefolder", "--quiet"]);
const { url } = await serve(`datasets=${sets}/`);

// taken writes a picture with the 256 colors that it has most of, which halves it or more.
const taken = async (p, name) => {
  await settled(p);
  const png = join(work, name);
  await p.screenshot({ path: png });
  run(python, ["-c", "import sys; from PIL import Image; Image.open(sys.argv[1]).convert('RGB').quantize(256, dither=Image.Dither.NONE).save(sys.argv[2], optimize=True)", png, docs(name)]);
};

test("quickstart.svg: the terminal", () => {
  writeFileSync(docs("quickstart.svg"), run(python, [join(top, "scripts/site/terminal.py"), "farread quickstart", "1,2,3,6,-3,-2"], { input: printed }));
});

test("series-view.svg: a day of which each point has the least and the greatest sample", () => {
  run(farread, ["view", join(sets, "buoy.zoom"), "--tracks", "wind m/s,level m", "--width", "800", "--height", "260", "-o", docs("series-view.svg")]);
});

test("page-array.png", async () => {
  await page(`${url}#/datasets/temperature.b2nd?i=17,0,0`, async (p) => {
    await p.locator(".plane").waitFor();
    await settled(p);
    await p.locator(".plane").click({ position: { x: 424, y: 138 } });
    await p.keyboard.press("p");
    await p.selectOption("label:has-text('along') select", "0");
    await p.mouse.move(5, 5);
    await p.evaluate(() => document.activeElement.blur());
    await taken(p, "page-array.png");
  }, { width: 1180, height: 760, checked: false });
});

test("page-series.png", async () => {
  await page(`${url}#/datasets/buoy.zoom`, async (p) => {
    await p.locator(".plotarea[data-sharp='1']").waitFor();
    const area = await p.locator(".plotarea").boundingBox();
    await p.mouse.move(area.x + 62 + (area.width - 86) * 13.72 / 24, area.y + 120);
    await taken(p, "page-series.png");
  }, { width: 1080, height: 930, dark: true, checked: false });
});

test("page-phone.png", async () => {
  await page(`${url}#/datasets/temperature.b2nd?i=17,0,0`, async (p) => {
    await p.locator(".plane").waitFor();
    await taken(p, "page-phone.png");
  }, { width: 400, height: 860, dark: true, touch: true, checked: false });
});

test("page-images.png", async () => {
  await page(`${url}#/datasets/train.gulp`, async (p) => {
    await p.waitForFunction(() => { const near = [...document.querySelectorAll(".card")]; return near.length > 0 && near.every((c) => c.querySelector("img")); });
    await taken(p, "page-images.png");
  }, { width: 1180, height: 720, checked: false });
});
