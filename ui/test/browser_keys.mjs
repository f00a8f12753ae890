// The page without a mouse, and the browser's way back.
import assert from "node:assert/strict";

export async function keysAreEnough({ page, settled }) {
  const focused = (what) => page.evaluate((name) => document.activeElement.closest(".tabs, .table-head")?.className + document.activeElement[name], what);
  await page.click("[data-view=overview]");
  for (const key of (await page.$(".places [role=button]")) ? ["Enter", " "] : []) {
    await page.click("[data-view=overview]");
    await page.focus(".places [role=button]");
    await page.keyboard.press(key);
    assert.match(await page.evaluate(() => location.hash), /view=functions/, key);
  }
  await page.click("[data-view=overview]");
  await page.focus("[data-view=functions]");
  await page.keyboard.press("Enter");
  await settled();
  assert.match(await focused("textContent"), /^tabsFunctions/, "a view that was opened by its tab");

  await page.focus("main .table-head [role=columnheader][tabindex]:not([aria-sort]) >> nth=0");
  await page.keyboard.press("Enter");
  await settled();
  assert.match(await focused("ariaSort"), /^table-headdescending/);
  await page.keyboard.press(" ");
  await settled();
  assert.match(await focused("ariaSort"), /^table-headascending/);
  assert.equal(await page.$$eval("main .table-row", (rows) => rows.filter((row) => row.querySelector(":scope > :not([role=cell])")).length), 0);

  await page.keyboard.press("/");
  await page.keyboard.type("main");
  await page.waitForFunction(() => location.hash.includes("q=main"));
  await page.focus("main .table");
  await page.keyboard.press("?");
  assert.ok(await page.$("dialog[open]"));
  await page.keyboard.press("Escape");
  assert.equal(await page.$("dialog[open]"), null);
  assert.ok(page.url().includes("q=main"), "the keys' box was closed, and the search ended with it");
  await page.keyboard.press("Escape");
}

// A span of the timeline, and all of it again.
export async function spanByKeys({ page, settled, report }) {
  await page.click("[data-view=overview]");
  await page.focus(".plot");
  for (let i = 0; i < 25; ++i) await page.keyboard.press("ArrowRight");
  await settled();
  assert.match(await page.textContent(".timeline .caption"), / live/);
  await page.keyboard.press("Shift+End");
  await page.keyboard.press("Shift+ArrowLeft");
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => /[#&]t=/.test(location.hash));
  const [begin, end] = await page.evaluate(() => [window.heapledger.state.span.begin, window.heapledger.state.span.end]);
  const last = report.timeline.at(-1).time;
  assert.ok(begin > 0.2 * last && begin < 0.3 * last + 0.8 * report.timeline[0].time && end > 0.95 * last && end < last, `${begin} to ${end} of ${last}`);
  await page.keyboard.press("0");
  await page.waitForFunction(() => !/[#&]t=/.test(location.hash));
}

export async function backReturns({ page, settled }) {
  const view = () => page.evaluate(() => [window.heapledger.state.view, document.querySelector(".tabs [aria-current]").dataset.view]);
  await page.click("[data-view=overview]");
  await page.click("[data-view=stacks]");
  await page.fill("input[type=search]", "m");
  await page.waitForFunction(() => location.hash.includes("q=m"));
  await page.click("[data-view=sizes]");
  await page.goBack();
  await settled();
  assert.deepEqual(await view(), ["stacks", "stacks"]);
  assert.equal(await page.inputValue("input[type=search]"), "m");
  await page.goBack();
  await settled();
  assert.deepEqual(await view(), ["overview", "overview"]);
  await page.goForward();
  await settled();
  assert.deepEqual(await view(), ["stacks", "stacks"]);
  await page.keyboard.press("Escape");
}
