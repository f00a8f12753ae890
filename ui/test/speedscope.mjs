// Has speedscope itself, the application of its npm package, import files in Chromium and save what it made of them.
// Usage: node speedscope.mjs FILE...; prints for each file its profiles: name, unit, total, and by frame self and total,
// a frame once where it recurs.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

const application = fileURLToPath(new URL("../node_modules/speedscope/dist/release/index.html", import.meta.url));
const flags = ["--no-sandbox", "--disable-gpu", "--use-gl=angle", "--use-angle=swiftshader", "--disable-quic", "--no-first-run",
  "--disable-background-networking", "--disable-component-update", "--disable-sync"];
const folder = mkdtempSync(join(tmpdir(), "heapledger-speedscope-"));
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", headless: true, args: flags });

// The way of its own command line: a script that gives it the file's bytes.
async function saved(file) {
  const context = await browser.newContext({ acceptDownloads: true });
  const script = join(folder, "file.js");
  writeFileSync(script, `speedscope.loadFileFromBase64(${JSON.stringify(basename(file))}, ${JSON.stringify(readFileSync(file).toString("base64"))})`);
  const page = await context.newPage();
  const troubles = [];
  page.on("pageerror", (error) => troubles.push(error.message));
  page.on("dialog", (dialog) => (troubles.push(dialog.message()), dialog.dismiss()));
  page.on("request", (request) => /^(file|data|blob):/.test(request.url()) || troubles.push(`request: ${request.url()}`));
  await page.goto(`${pathToFileURL(application).href}#localProfilePath=${encodeURIComponent(script)}`);
  await page.getByText("Left Heavy").waitFor();
  const download = page.waitForEvent("download");
  await page.keyboard.press("Control+s");
  const read = JSON.parse(readFileSync(await (await download).path(), "utf8"));
  await context.close();
  if (troubles.length > 0) throw new Error(`${file}: ${troubles.join("; ")}`);
  return read;
}

// speedscope saves openings and closings of frames, at the sums of the weights so far.
function folded({ name, unit, startValue, endValue, events }, frames) {
  const self = new Array(frames.length).fill(0);
  const total = new Array(frames.length).fill(0);
  const open = [];
  const depth = new Array(frames.length).fill(0);
  const since = new Array(frames.length).fill(0);
  let last = startValue;
  for (const { type, frame, at } of events) {
    if (open.length > 0) self[open[open.length - 1]] += at - last;
    last = at;
    if (type === "O") {
      open.push(frame);
      if (depth[frame]++ === 0) since[frame] = at;
    } else {
      if (open.pop() !== frame) throw new Error("frames cross");
      if (--depth[frame] === 0) total[frame] += at - since[frame];
    }
  }
  return { name, unit, total: endValue - startValue, frames: frames.map((frame, i) => ({ name: frame.name, file: frame.file, self: self[i], total: total[i] })).filter((one) => one.total > 0) };
}

try {
  const result = [];
  for (const file of process.argv.slice(2)) {
    const { profiles, shared, exporter } = await saved(file);
    result.push({ exporter, profiles: profiles.map((one) => folded(one, shared.frames)) });
  }
  console.log(JSON.stringify(result));
} finally {
  await browser.close();
  rmSync(folder, { recursive: true });
}
