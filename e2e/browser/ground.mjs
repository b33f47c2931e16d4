// What the tests of the page stand on: data made by python-blosc2, `bin/farread serve`
// over it, and a real browser. A test fails if its page logs an error, breaks its own
// policy, or is not accessible.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, mkdirSync, rmSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { after } from "node:test";
import { fileURLToPath } from "node:url";

const top = fileURLToPath(new URL("../../", import.meta.url));
const require = createRequire(join(top, ".node", "x.js")); // where scripts/node.sh puts packages
const { chromium } = require("playwright-core");
const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");
export const shots = join(top, "dist", "browser");

// program finds a program of the project, or of this machine.
const farread = process.env.FARREAD ?? join(top, "bin", "farread");
const python = process.env.PYTHON ?? join(top, ".venv", "bin", "python");
const browserPath = process.env.CHROMIUM ?? ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"].find(existsSync);

const ends = [];
after(async () => { for (const end of ends.reverse()) await end(); });

// lines starts a program whose answers are lines.
function start(program, args, options = {}) {
  const child = spawn(program, args, { stdio: ["pipe", "pipe", "inherit"], ...options });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  child.next = async () => {
    const { value, done } = await lines.next();
    if (done) throw new Error(`${program} ended`);
    return value;
  };
  ends.push(() => new Promise((done) => { if (child.exitCode != null) return done(); child.on("exit", done); child.kill("SIGTERM"); }));
  return child;
}

// data makes the datasets with a script beside this file: {folder, value(expression)}.
export async function data(script = "data.py") {
  const folder = mkdtempSync(join(tmpdir(), "browser-"));
  ends.push(() => rmSync(folder, { recursive: true, force: true }));
  const child = start(python, [fileURLToPath(new URL(script, import.meta.url)), folder]);
  await child.next();
  return { folder, value: async (expression) => { child.stdin.write(`${expression}\n`); return JSON.parse(await child.next()); } };
}

// serve starts the server: {url, child}.
export async function serve(...args) {
  const child = start(farread, ["serve", "--addr", "127.0.0.1:0", "--ready-json", "--quiet", ...args]);
  return { url: `${JSON.parse(await child.next()).url}/`, child };
}

// show starts a command that opens the page by itself, without a browser of this machine:
// {url}, its link.
export async function show(...args) {
  const child = start(farread, [...args, "--open", "--json"], { env: { ...process.env, PATH: "" } });
  return { url: JSON.parse(await child.next()).url, child };
}

let browser = null;
async function launch() {
  if (!browser) {
    browser = chromium.launch({ executablePath: browserPath, args: ["--no-sandbox", "--disable-gpu", "--force-color-profile=srgb"] });
    ends.push(async () => (await browser).close());
  }
  return browser;
}

// A verb of the gateway in an address: requests for data, not for the page.
const verbs = /\/(info|ls|slice|get|view|raw|zarr|group)(~[^/]*)?\//;

// page runs fn with a page at an address, and checks it then. What fn is given has, besides
// the page: requests() since the last call; shot(name); state(), of the link; a11y().
// checked: false leaves out the check for accessibility at the end, where another test has
// the same view.
export async function page(address, fn, { width = 1280, height = 800, dark = false, errors = [], axeOff = [], checked = true, touch = false, init } = {}) {
  const context = await (await launch()).newContext({ viewport: { width, height }, colorScheme: dark ? "dark" : "light", reducedMotion: "reduce", hasTouch: touch });
  context.setDefaultTimeout(10_000);
  const p = await context.newPage(), bad = [];
  let seen = [];
  p.on("console", (m) => { if (m.type() === "error" && !errors.some((e) => e.test(m.text()))) bad.push(`console: ${m.text()} ${m.location()?.url ?? ""}`); });
  p.on("pageerror", (e) => bad.push(`error: ${e.stack}`));
  p.on("request", (r) => { if (verbs.test(r.url())) seen.push(r); });
  await p.addInitScript(() => addEventListener("securitypolicyviolation", (e) => console.error(`policy: ${e.violatedDirective} ${e.blockedURI}`)));
  if (init) await init(p, context);
  const a11y = async () => {
    await p.evaluate(axe);
    const found = await p.evaluate((off) => axe.run(document, { rules: Object.fromEntries(off.map((r) => [r, { enabled: false }])) }), axeOff);
    assert.deepEqual(found.violations.map((v) => `${v.id}: ${v.help}: ${v.nodes.map((n) => `${n.html.slice(0, 120)} (${n.any[0]?.message ?? ""})`).join("; ")}`), [], "accessibility");
  };
  p.requests = () => { const out = seen; seen = []; return out.map((r) => r.url()); };
  p.shot = async (name) => { mkdirSync(shots, { recursive: true }); await p.screenshot({ path: join(shots, `${name}.png`) }); };
  // The page writes its link 120 ms after a change: a later timer of the same page waits for it.
  p.state = async () => Object.fromEntries(new URLSearchParams((await p.evaluate(() => new Promise((f) => { setTimeout(() => f(location.hash), 200); }))).split("?")[1] ?? ""));
  p.a11y = a11y;
  // A wait for what the page does by timers of its own is one of its timers, too: it is then
  // not over before them, however busy the machine is.
  const sleep = p.waitForTimeout.bind(p);
  p.waitForTimeout = (ms) => (ms < 50 ? sleep(ms) : p.evaluate((n) => new Promise((end) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(end, n)))), ms));
  try {
    await p.goto(address);
    await fn(p);
    if (checked) await a11y();
    assert.deepEqual(bad, [], "errors of the page");
  } catch (e) {
    const text = await p.evaluate(() => document.body.innerText).catch(() => "");
    e.message += `\n-- errors of the page: ${bad.join("\n") || "none"}\n-- the page at ${p.url()}:\n${text.slice(0, 600)}`;
    await p.shot("failed");
    throw e;
  } finally {
    await context.close();
  }
}

// settled waits until no request has been in flight for a while.
export async function settled(p, quiet = 150) {
  await p.waitForFunction((ms) => {
    const n = performance.getEntriesByType("resource").length, w = window;
    const flying = document.documentElement.dataset.flying !== undefined && document.documentElement.dataset.flying !== "0";
    if (flying || w.__n !== n) { w.__n = n; w.__at = performance.now(); return false; }
    return performance.now() - w.__at > ms;
  }, quiet, { polling: 30 });
}
