// The plain views: that each is there, fits its window, and tells what the report does.
import assert from "node:assert/strict";

export async function everyViewShows({ page, settled, report }) {
  const views = await page.$$eval(".tabs [data-view]", (tabs) => tabs.map((tab) => tab.dataset.view));
  for (const known of ["scopes", "pools"]) assert.equal(views.includes(known), report[known] !== undefined, known);
  for (const view of views.filter((each) => !["flame", "functions", "stacks"].includes(each))) {
    await page.click(`[data-view=${view}]`);
    await settled();
    assert.ok((await page.textContent("main")).length > 20, view);
    for (const width of [1600, 420]) {
      await page.setViewportSize({ width, height: 800 });
      await settled();
      const wide = await page.evaluate(() => document.documentElement.scrollWidth);
      assert.ok(wide <= width, `${view} is ${wide} pixels wide in a window of ${width}`);
    }
    await page.setViewportSize({ width: 1280, height: 800 });
  }
}

export async function poolsAreTold({ page, settled, report }) {
  await page.click("[data-view=pools]");
  await settled();
  const text = await page.textContent("main");
  for (const pool of report.pools) {
    for (const number of [pool.chunks_in_use, pool.allocations, pool.frees]) {
      assert.ok(text.includes(number.toLocaleString("en-US")), `${pool.name}: ${number}`);
    }
    assert.ok(text.includes(pool.name), pool.name);
    for (const stack of pool.stacks) {
      const taker = stack.frames.find((frame) => frame.function && !frame.function.includes("heapledger::p"));
      assert.ok(text.includes(taker.function), taker.function);
    }
  }
}

export async function leaksAreTold({ page, settled }) {
  await page.click("[data-view=leaks]");
  await settled();
  const told = await page.evaluate(() => window.heapledger.profile.leaks);
  const cards = await page.$$eval("main .card", (all) => all.map((card) => card.textContent));
  assert.equal(cards.length, told.leaks.length);
  assert.ok(told.leaks.length > 0);
  for (const leak of told.leaks) assert.ok(cards.some((card) => card.includes(leak.blocks.toLocaleString("en-US"))), leak.stack);
}

export async function sizesAndLivesAreTold({ page, settled, report }) {
  await page.click("[data-view=sizes]");
  await settled();
  const sums = await page.$$eval(".histogram", (all) => all.map((one) => [...one.querySelectorAll("[title]")]
    .filter((cell) => /^[\d,]+$/.test(cell.title)).map((cell) => Number(cell.title.replace(/,/g, "")))));
  const add = (numbers) => numbers.reduce((sum, one) => sum + one, 0);
  assert.equal(add(sums[0]), report.totals.allocations);
  const { allocations, temporaries, live_blocks: kept } = report.totals;
  if (kept >= 0 && kept + temporaries <= allocations) assert.deepEqual(sums[1], [temporaries, allocations - kept - temporaries, kept]);
}
