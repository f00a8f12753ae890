// How long a page takes to open, and the longest task of its main thread while a user does this and that, by Chromium's own
// tracing. Usage: node frames.mjs PAGE.html
import { mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

const flags = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
  "--disable-component-update", "--disable-sync"];
const trace = join(mkdtempSync(join(tmpdir(), "heapledger-frames-")), "trace.json");
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", headless: true, args: flags });
const page = await browser.newPage({ viewport: { width: 1600, height: 1000 } });
await page.goto(pathToFileURL(process.argv[2]).href);
await page.waitForFunction(() => performance.getEntriesByName("heapledger-ready").length > 0);
const ready = await page.evaluate(() => performance.getEntriesByName("heapledger-ready")[0].startTime);
console.log(`open: ${Math.round(ready)} ms from the start of the navigation to the first view`);

async function measure(name, action) {
  await browser.startTracing(page, { path: trace, categories: ["toplevel", "devtools.timeline", "disabled-by-default-devtools.timeline"] });
  await action();
  await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
  await browser.stopTracing();
  const events = JSON.parse(readFileSync(trace, "utf8")).traceEvents;
  const thread = (event) => `${event.pid}:${event.tid}`;
  const main = new Set(events.filter((event) => event.name === "thread_name" && event.args.name === "CrRendererMain").map(thread));
  const tasks = events.filter((event) => event.ph === "X" && event.name.endsWith("RunTask") && main.has(thread(event)));
  const longest = Math.max(...tasks.map((task) => task.dur)) / 1000;
  console.log(`${name.padEnd(32)} ${longest.toFixed(0).padStart(5)} ms`);
}

const wheel = async (times, x, y) => {
  for (let i = 0; i < times; ++i) await page.mouse.wheel(x, y);
};
await measure("flame graph: open", () => page.click("[data-view=flame]"));
const canvas = await page.$eval(".flame-page canvas", (element) => element.getBoundingClientRect().toJSON());
const zoom = async () => {
  await page.mouse.move(canvas.x + 500, canvas.y + 200);
  await page.keyboard.down("Control");
  await wheel(20, 0, -100);
  await page.keyboard.up("Control");
};
await measure("flame graph: zoom", zoom);
await measure("flame graph: move", async () => {
  await page.mouse.down();
  for (let i = 0; i < 40; ++i) await page.mouse.move(canvas.x + 500 - i * 8, canvas.y + 200);
  await page.mouse.up();
});
await measure("flame graph: point", async () => {
  for (let i = 0; i < 60; ++i) await page.mouse.move(canvas.x + 200 + i * 10, canvas.y + 100 + i * 5);
});
await measure("flame graph: show everything", () => page.keyboard.press("0"));
await measure("flame graph: scroll", () => wheel(20, 0, 120));
await measure("flame graph: inverted", () => page.click("[data-choice=up]"));
await measure("flame graph: inverted, zoom", zoom);
await measure("flame graph: other measure", () => page.click("[data-choice=count]"));
await page.click("[data-choice=down]");
await measure("search", async () => {
  await page.focus("input[type=search]");
  await page.keyboard.type("gimple", { delay: 60 });
  await page.waitForFunction(() => document.querySelector(".found").textContent !== "");
});
await measure("search: only these", () => page.click(".only"));
await page.keyboard.press("Escape");
await measure("functions: open", () => page.click("[data-view=functions]"));
await measure("functions: choose", () => page.click(".table-row >> nth=5"));
await page.mouse.move(300, 400);
await measure("functions: scroll", () => wheel(30, 0, 400));
await measure("stacks: open", () => page.click("[data-view=stacks]"));
await measure("stacks: scroll", () => wheel(40, 0, 2000));
await measure("stacks: sort", () => page.click(".table-head .sortable >> nth=3"));
await browser.close();
