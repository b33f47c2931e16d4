// Opens pages of neuroglancer in Chromium and takes their pictures.
//
// stdin: {"pages": [{"url", "file", "ready": wait until all chunks are there, or "after": milliseconds}]}.
// stdout: {"faults": [...]}.
import { createRequire } from "node:module";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";

const require = createRequire(fileURLToPath(new URL("../../../.node/peers/x.js", import.meta.url)));
const { chromium } = require("playwright-core");
const job = JSON.parse(await new Response(process.stdin).text());
const faults = [], limit = 60_000;

const executablePath = process.env.CHROMIUM ?? ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"].find(existsSync);
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox", "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--ignore-gpu-blocklist", "--force-color-profile=srgb"] });

async function draw({ url, file, ready, after }) {
  const page = await browser.newPage({ viewport: { width: 640, height: 480 }, deviceScaleFactor: 1 });
  const said = [];
  page.on("console", (m) => { if (m.type() === "error") said.push(m.text()); });
  page.on("pageerror", (e) => said.push(e.message));
  await page.goto(url);
  try {
    if (ready) await page.waitForFunction(() => globalThis.viewer?.isReady(), null, { timeout: limit, polling: 100 });
    await page.waitForTimeout(after ?? 300);
  } catch (e) {
    faults.push(`${url}: ${e.message} ${said.join("; ")}`);
  }
  await page.screenshot({ path: file });
  await page.close();
}

await Promise.all(job.pages.map((p) => draw(p).catch((e) => faults.push(`${p.url}: ${e}`))));
console.log(JSON.stringify({ faults }));
await browser.close();
