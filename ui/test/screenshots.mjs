// Pictures of every view of a page, wide and narrow, light and dark, for somebody to look at.
// Usage: node screenshots.mjs PAGE.html FOLDER
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

const [file, folder] = process.argv.slice(2);
mkdirSync(folder, { recursive: true });
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", headless: true, args: ["--no-sandbox", "--disable-gpu"] });
for (const [name, width, height, colorScheme] of [["wide", 1440, 900, "light"], ["narrow", 420, 800, "light"], ["dark", 1440, 900, "dark"]]) {
  const page = await browser.newPage({ viewport: { width, height }, colorScheme, reducedMotion: "reduce" });
  await page.goto(pathToFileURL(file).href);
  await page.waitForFunction(() => performance.getEntriesByName("heapledger-ready").length > 0);
  const pause = () => page.evaluate(() => new Promise((done) => setTimeout(done, 300)));
  const shot = async (view) => (await pause(), page.screenshot({ path: join(folder, `${view}-${name}.png`) }));
  for (const view of await page.$$eval(".tabs [data-view]", (tabs) => tabs.map((tab) => tab.dataset.view))) {
    await page.click(`[data-view=${view}]`);
    await shot(view);
    if (view === "flame") {
      await page.click("[data-choice=up]");
      await shot("flame-inverted");
      await page.click("[data-choice=down]");
    }
    if (view === "functions" || view === "stacks") {
      await page.click(".table-row >> nth=0");
      await shot(`${view}-chosen`);
    }
  }
  await page.close();
}
await browser.close();
