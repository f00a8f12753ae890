// Opens a page in Chromium and holds it against the JSON report of the same profile: every number, every frame, and what
// a user does with it. Usage: node browser.mjs PAGE.html REPORT.json [OLD_REPORT.json] [LEAKS.json]: the report of the older
// profile, for a page of two, and what `heapledger leaks --json` says of one that was watched.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";
import { growthIsTheDifference } from "./browser_compared.mjs";
import { backReturns, keysAreEnough, spanByKeys } from "./browser_keys.mjs";
import { everyViewShows, leaksAreTold, mappingsAreTold, marksAreTold, narrowTablesShowTheirOrder, paperHasAll, poolsAreTold, sizesAndLivesAreTold, threadsAreTold } from "./browser_views.mjs";

const [file, ...reportFiles] = process.argv.slice(2);
const address = pathToFileURL(file).href;
const [report, ...others] = reportFiles.map((each) => JSON.parse(readFileSync(each, "utf8")));
const old = others.find((each) => each.format === report.format);
const leaks = others.find((each) => each.format === "heapledger-leaks" && each.watching_since + each.leaks.length > 0);
const flags = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
  "--disable-component-update", "--disable-sync"];

const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", headless: true, args: flags });
const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, colorScheme: "light", reducedMotion: "reduce" });
const troubles = [];
const page = await open("");

async function open(fragment) {
  const opened = await context.newPage();
  opened.on("console", (message) => troubles.push(`console ${message.type()}: ${message.text()}`));
  opened.on("pageerror", (error) => troubles.push(`error: ${error.message}`));
  opened.on("request", (request) => request.url().startsWith(address) || troubles.push(`request: ${request.url()}`));
  opened.on("dialog", (dialog) => troubles.push(`dialog: ${dialog.message()}`));
  await opened.goto(`${address}#${fragment}`);
  await opened.waitForFunction(() => performance.getEntriesByName("heapledger-ready").length > 0);
  return opened;
}

const settled = (of = page) => of.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
const fragment = () => page.evaluate(() => new URLSearchParams(location.hash.slice(1)).toString());
const shown = (text) => text.replace(/[\u0000-\u001f\u007f-\u009f\u202a-\u202e]|\ufffd/g, "?");

// Every stack of the page in the words of the report. What is no text is written differently there and here.
async function stacksAreTheReports() {
  const ours = await page.evaluate(() => {
    const { profile } = window.heapledger;
    const { stacks, places, lines, functions, strings, words } = profile;
    const list = [];
    for (let i = 0; i < stacks.count; ++i) {
      const frames = [];
      const scope = [];
      for (let at = stacks.place[i]; at !== 0; at = places.parent[at]) {
        const line = places.line[at];
        const fn = lines.function[line];
        const name = strings.get(functions.name[fn]);
        if (functions.kind[fn] === 2) {
          scope.unshift(name);
          continue;
        }
        const module = functions.module[fn] < 0 ? null : words.modules[functions.module[fn]];
        const source = lines.file[line] === 0 ? null : strings.get(lines.file[line] - 1);
        frames.push([functions.kind[fn] === 0 ? name : null, source, lines.line[line], module, (lines.flags[line] & 1) !== 0]);
      }
      list.push([stacks.id[i], [stacks.allocations[i], stacks.liveBlocks[i], stacks.allocated[i], stacks.live[i], stacks.temporaries[i],
        stacks.reallocations[i], stacks.peak[i]], scope, frames]);
    }
    return list;
  });
  const visible = (text) => (text === null ? null : text.replace(/\\x[0-9a-f]{2}|\\u\{[0-9a-f]+\}/g, "?"));
  const clean = (text) => (text === undefined ? null : shown(text));
  const theirs = report.stacks.map((s) => [s.id, [s.allocations, s.live_blocks, s.allocated_bytes, s.live_bytes, s.temporaries, s.reallocations, s.peak_bytes],
    s.scope.map(clean), s.frames.map((f) => [clean(f.function || undefined), clean(f.file), f.line ?? 0, clean(f.module), f.inlined])]);
  const sorted = (list) => list.sort((a, b) => a[0] - b[0]);
  const read = ours.map(([id, counts, scope, frames]) =>
    [id, counts, scope.map(visible), frames.map(([name, source, line, module, inlined]) => [visible(name), visible(source), line, visible(module), inlined])]);
  assert.deepEqual(sorted(read), sorted(theirs));
}

async function tilesAreTheTotals() {
  const titles = await page.$$eval(".tile", (tiles) => Object.fromEntries(tiles.map((tile) => [tile.dataset.measure, tile.title])));
  const bytes = (number) => `${number.toLocaleString("en-US")} bytes`;
  const { totals } = report;
  assert.deepEqual(titles, {
    peak: bytes(totals.peak_bytes_seen ?? totals.peak_bytes), live: bytes(totals.live_bytes), allocated: bytes(totals.allocated_bytes),
    count: totals.allocations.toLocaleString("en-US"), temporary: totals.temporaries.toLocaleString("en-US"),
  });
}

function has(stack, name) {
  return stack.frames.some((frame) => frame.function !== undefined && shown(frame.function) === name);
}

// Totals by function, added up anew from the report, against the table.
async function functionsAddUp() {
  await page.click("[data-view=functions]");
  await page.click("[data-choice=allocated]");
  await settled();
  const rows = await page.$$eval(".table-row", (list) => list.map((row) => [row.querySelector(".name").title, row.children[2].firstChild.title]));
  assert.ok(rows.length > 0);
  for (const [name, value] of rows) {
    const named = name.replace(/\\x[0-9a-f]{2}|\\u\{[0-9a-f]+\}/g, "?");
    const total = report.stacks.filter((stack) => has(stack, named)).reduce((sum, stack) => sum + stack.allocated_bytes, 0);
    const same = new Set(report.stacks.flatMap((stack) => stack.frames).filter((f) => f.function !== undefined && shown(f.function) === named).map((f) => f.module));
    if (same.size === 1) assert.equal(value, `${total.toLocaleString("en-US")} bytes`, name);
  }
  await page.click(".table-head .sortable >> nth=1");
  await settled();
  const totals = await page.$$eval(".table-row", (list) => list.map((row) => Number(row.children[2].firstChild.title.replace(/\D/g, ""))));
  assert.deepEqual(totals, [...totals].sort((a, b) => b - a));
  assert.match(await fragment(), /sort=functions%3A2%3A0/);
}

function picture(of = page) {
  return of.$eval(".flame-page canvas", (canvas) => canvas.toDataURL());
}

async function flameDrawsAndZooms() {
  await page.click("[data-view=flame]");
  await page.click("[data-choice=top]");
  await settled();
  const colours = await page.$eval(".flame-page canvas", (canvas) => {
    const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, Math.min(canvas.height, 200));
    const seen = new Set();
    for (let i = 0; i < data.length; i += 4) if (data[i + 3] === 255) seen.add((data[i] << 16) | (data[i + 1] << 8) | data[i + 2]);
    return seen.size;
  });
  assert.ok(colours > 2, `only ${colours} colours`);
  const all = await picture();
  // The root is a row over the whole width; it says how much that is.
  const { x, y } = await page.$eval(".flame-page canvas", (canvas) => canvas.getBoundingClientRect().toJSON());
  await page.mouse.move(x + 100, y + 9);
  await settled();
  assert.match(await page.textContent(".hint-box:not([hidden])"), new RegExp(`${report.totals.allocated_bytes.toLocaleString("en-US")} bytes`));
  for (let i = 0; i < 4; ++i) await page.keyboard.press("ArrowDown");
  await page.keyboard.press("+");
  await settled();
  assert.match(await fragment(), /x=0/);
  assert.notEqual(await picture(), all);
  await page.keyboard.press("0");
  await page.waitForFunction(() => !location.hash.includes("x=0"));
  // A click on a box brings it to the full width.
  const target = await page.evaluate(() => {
    const { boxes } = window.heapledger.flame;
    const box = boxes.find((one) => one.node > 0 && one.width > 40 && one.x > 1);
    return box && { x: box.x + 5, y: box.level * 19 + 9, begin: box.begin, end: box.end };
  });
  if (target && target.y < 500) {
    const canvas = await page.$eval(".flame-page canvas", (one) => one.getBoundingClientRect().toJSON());  // a chosen frame may take lines above it
    await page.mouse.click(canvas.x + target.x, canvas.y + target.y);
    await page.waitForFunction(() => location.hash.includes("x=0"));
    const [begin, end] = new URLSearchParams(await fragment()).get("x").split("_").map(Number);
    const whole = report.totals.allocated_bytes;
    assert.ok(Math.abs(begin * whole - target.begin) < 1 && Math.abs(end * whole - target.end) < 1);
    await page.keyboard.press("0");
    await page.waitForFunction(() => !location.hash.includes("x=0"));
  }
  await page.click("[data-choice=bottom]");
  await settled();
  assert.notEqual(await picture(), all);
  await page.click("[data-choice=up]");
  await settled();
  assert.match(await fragment(), /dir=up/);
}

async function searchKnowsItsShare() {
  await page.click("[data-view=flame]");
  await page.click("[data-choice=down]");
  const stack = report.stacks.reduce((most, one) => (one.allocated_bytes > most.allocated_bytes ? one : most));
  const name = [...stack.frames].reverse().map((frame) => frame.function).find((one) => one !== undefined && /^\w+$/.test(one)) ?? "main";
  const before = await picture();
  await page.fill("input[type=search]", `/^${name}(\\(.*\\))?$/`);
  await page.waitForFunction(() => document.querySelector(".found").textContent !== "");
  const pattern = new RegExp(`^${name}(\\(.*\\))?$`, "i");
  const hit = (frame) => [frame.function, frame.file].some((text) => text !== undefined && pattern.test(text)) ||
    pattern.test((frame.module ?? "").split("/").pop());
  const value = report.stacks.filter((one) => one.frames.some(hit)).reduce((sum, one) => sum + one.allocated_bytes, 0);
  const share = `${((100 * value) / report.totals.allocated_bytes).toFixed(1)} %`;
  const said = await page.textContent(".found");
  assert.ok(said.startsWith(share), `${said} should begin with ${share}`);
  assert.notEqual(await picture(), before);
  await page.click(".only");
  await settled();
  const whole = await page.evaluate(() => window.heapledger.model.whole());
  assert.equal(whole, value);
  await page.click("[data-view=stacks]");
  await settled();
  const rows = report.stacks.filter((one) => one.frames.some(hit)).length;
  assert.ok((await page.textContent(".split .caption")).startsWith(`${rows.toLocaleString("en-US")} stack`));
}

async function linkRestoresView() {
  await page.click("[data-view=flame]");
  await page.mouse.move(2, 2);
  await settled();
  const state = await page.evaluate(() => window.heapledger.state);
  const again = await open(await fragment());
  await settled(again);
  assert.deepEqual(await again.evaluate(() => window.heapledger.state), state);
  assert.equal(await picture(again), await picture());
  await again.close();
  await page.keyboard.press("Escape");
  await page.keyboard.press("Escape");
  assert.doesNotMatch(await fragment(), /q=/);
}

async function stackIsCopied() {
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  await page.click("[data-view=stacks]");
  await page.click(".table-row >> nth=0");
  await page.keyboard.press("c");
  await page.waitForFunction(() => !document.querySelector(".status").hidden);
  const copied = await page.evaluate(() => navigator.clipboard.readText());
  const id = Number((await fragment()).match(/stack=(\d+)/)[1]);
  const stack = report.stacks.find((one) => one.id === id);
  assert.equal(copied === "" ? 0 : copied.split("\n").length, stack.frames.length + stack.scope.length);
}

// However deep it is.
async function stackIsShownInTheGraph() {
  await page.click(".measures [data-choice=allocated]");
  await page.click("[data-view=stacks]");
  await settled();
  const deepest = report.stacks.filter((stack) => stack.allocated_bytes > 0).reduce((most, one) => (one.frames.length > most.frames.length ? one : most));
  await page.setViewportSize({ width: 1280, height: 420 });
  await page.evaluate((stack) => window.heapledger.change({ stack }), deepest.id);
  await page.click("text=Show in the flame graph");
  await settled();
  const { chosen, node, y, height } = await page.evaluate(() => {
    const { flame, model, profile, state } = window.heapledger;
    const box = flame.boxes.find((one) => one.node === flame.selected);
    return { chosen: flame.selected, node: profile.places.node[profile.stacks.place[model.stackById(state.stack)]],
      y: box && flame.top(box.level) - flame.element.scrollTop, height: flame.element.clientHeight };
  });
  assert.equal(chosen, node);
  assert.ok(y >= 0 && y + 19 <= height, `its box is at ${y} of ${height} pixels`);
  await page.setViewportSize({ width: 1280, height: 800 });
}

async function nothingIsSaid() {
  await page.click("[data-view=overview]");
  assert.match(await page.textContent(".warnings"), /Not one allocation was seen/);
  await page.click("[data-view=flame]");
  assert.equal(await page.textContent("main .empty:not([hidden])"), "Nothing by this measure.");
  assert.equal(await page.isVisible("main .flame"), false);
}

async function nothingWasInjected() {
  const found = await page.evaluate(() => ({
    images: document.images.length, scripts: document.scripts.length, title: document.title, links: document.querySelectorAll("[onerror],iframe,object,embed").length,
  }));
  assert.deepEqual({ ...found, title: "" }, { images: 0, scripts: 1, title: "", links: 0 });
  assert.match(found.title, /: memory, heapledger$/);
}

const opened = { page, settled, report, has };
try {
  await tilesAreTheTotals();
  if (old) {
    await growthIsTheDifference(opened, old);
  } else {
    await onePageOfOneProfile();
  }
  await everyViewShows(opened);
  await paperHasAll(opened);
  await keysAreEnough(opened);
  if (report.timeline.length > 4) await spanByKeys(opened);
  await backReturns(opened);
  await sizesAndLivesAreTold(opened);
  await narrowTablesShowTheirOrder(opened);
  if (report.markers) await marksAreTold(opened);
  if (report.pools) await poolsAreTold(opened);
  await threadsAreTold(opened);
  if (report.mapped) await mappingsAreTold(opened);
  assert.equal((await page.$("[data-view=leaks]")) !== null, leaks !== undefined, "a view of leaks");
  if (leaks) await leaksAreTold({ ...opened, leaks });
  await nothingWasInjected();
  assert.deepEqual(troubles, []);
} catch (error) {
  console.error(error);
  console.error(troubles.join("\n"));
  process.exitCode = 1;
} finally {
  await browser.close();
}

async function onePageOfOneProfile() {
  await stacksAreTheReports();
  if (report.stacks.length === 0) return nothingIsSaid();
  await functionsAddUp();
  await flameDrawsAndZooms();
  await searchKnowsItsShare();
  await linkRestoresView();
  await stackIsCopied();
  await stackIsShownInTheGraph();
}
