// The plain views: that each is there, fits its window, and tells what the report does.
import assert from "node:assert/strict";

export async function everyViewShows({ page, settled, report }) {
  const views = await page.$$eval(".tabs [data-view]", (tabs) => tabs.map((tab) => tab.dataset.view));
  for (const [view, key] of [["scopes", "scopes"], ["pools", "pools"], ["marks", "markers"]])
    assert.equal(views.includes(view), report[key] !== undefined, view);
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

// On paper nothing can be scrolled to, and a dark page is not dark.
export async function paperHasAll({ page, settled }) {
  await page.emulateMedia({ media: "print", colorScheme: "dark" });
  for (const view of ["overview", "stacks", "sizes"]) {
    await page.$eval(`[data-view=${view}]`, (tab) => tab.click());
    await settled();
    const hidden = await page.$$eval("html, body, #app, main, .page, .page .card:not(.graph), .detail", (all) =>
      all.filter((one) => one.scrollHeight > one.clientHeight + 1 && getComputedStyle(one).overflowY !== "visible").map((one) => one.className));
    assert.deepEqual(hidden, [], view);
    if (view === "stacks") assert.ok((await page.$eval("main .table-body", (one) => one.clientHeight)) < 2000);
    assert.equal(await page.$eval("body", (one) => getComputedStyle(one).backgroundColor), "rgb(255, 255, 255)");
  }
  await page.emulateMedia({ media: "screen", colorScheme: "light" });
}

// Other text is escaped, and told apart from control characters only.
const isPlain = (text) => /^[\x20-\x7e]+$/.test(text ?? "");
const hasHidden = (text) => /[\u0000-\u0009\u000b-\u001f\u202e]/.test(text);

export async function poolsAreTold({ page, settled, report }) {
  await page.click("[data-view=pools]");
  await settled();
  const text = await page.textContent("main");
  assert.ok(!hasHidden(text), "hidden characters");
  for (const pool of report.pools) {
    for (const number of [pool.chunks_in_use, pool.allocations, pool.frees]) {
      assert.ok(text.includes(number.toLocaleString("en-US")), `${pool.name}: ${number}`);
    }
    if (isPlain(pool.name)) assert.ok(text.includes(pool.name), pool.name);
    for (const stack of pool.stacks) {
      const taker = stack.frames.find((frame) => frame.function && !frame.function.includes("heapledger::p"));
      if (isPlain(taker.function)) assert.ok(text.includes(taker.function), taker.function);
    }
  }
  await plainTableSorts(page);
}

export async function marksAreTold({ page, settled, report }) {
  await page.click("[data-view=marks]");
  await settled();
  const rows = await page.$$eval("main tbody tr", (all) => all.map((row) => [row.children[1].firstChild.title, row.children[3].textContent, row.children[4].textContent,
    row.children[5].textContent]));
  assert.deepEqual(rows, report.markers.map((marker) => [`${marker.live_bytes.toLocaleString("en-US")} bytes`, marker.live_blocks.toLocaleString("en-US"), marker.name,
    marker.snapshot ? "snapshot" : ""]));
}

// What a narrow window's table goes by is to be seen.
export async function narrowTablesShowTheirOrder({ page, settled }) {
  await page.setViewportSize({ width: 400, height: 800 });
  for (const view of ["stacks", "functions"]) {
    await page.click(`[data-view=${view}]`);
    for (const by of await page.$$eval(".measures [data-choice]", (all) => all.map((one) => one.dataset.choice))) {
      await page.click(`.measures [data-choice=${by}]`);
      await settled();
      assert.ok(await page.isVisible("main .table-head [aria-sort]"), `${view} by ${by}`);
      const cells = await page.$$eval("main .table-row:first-child > *", (all) => all.map((cell) => cell.clientWidth));
      assert.ok(cells.every((width) => width === 0 || width > 60), `${view} by ${by}: cells of ${cells}`);
    }
  }
  await page.setViewportSize({ width: 1280, height: 800 });
}

// Those of one name are a row, where that leaves more than one.
export async function threadsAreTold({ page, settled, report }) {
  await page.click("[data-view=threads]");
  await settled();
  const names = new Set(report.threads.map((thread) => thread.name || thread.tid)).size;
  const rows = await page.$$eval("main tbody tr", (all) => all.length);
  assert.equal(rows, names > 1 ? names : report.threads.length);
  await plainTableSorts(page);
}

// By each head that can be clicked: once, the other way round, and back to how it stood. The keyboard stays with the head.
async function plainTableSorts(page) {
  const column = (i) => page.$$eval("main .plain tbody tr", (all, at) => all.map((row) => row.children[at].textContent), i);
  const heads = await page.$$eval("main .plain th", (all) => all.map((head, i) => (head.querySelector("button") ? i : -1)).filter((i) => i >= 0));
  assert.ok(heads.length > 2, `${heads}`);
  for (const i of heads) {
    const stood = await column(i);
    const head = `main .plain th:nth-child(${i + 1})`;
    const directions = [];
    for (const key of ["click", "Enter", "Enter"]) {
      if (key === "click") await page.click(`${head} button`);
      else await page.keyboard.press(key);
      directions.push(await page.getAttribute(head, "aria-sort"));
      assert.deepEqual((await column(i)).toSorted(), stood.toSorted());
    }
    assert.deepEqual([directions.slice(0, 2).toSorted(), directions[2]], [["ascending", "descending"], null], `head ${i}`);
    assert.deepEqual(await column(i), stood);
  }
}

export async function mappingsAreTold({ page, settled, report }) {
  await page.click("[data-view=memory]");
  await settled();
  const cards = await page.$$eval("main .card", (all) => all.map((card) => card.textContent));
  assert.equal(cards.length, report.mapped.stacks.length);
  assert.ok(!cards.some(hasHidden), "hidden characters");
  const seen = report.mapped.stacks.some((stack) => stack.most_resident_bytes > 0);
  const most = (stack) => (seen ? stack.most_resident_bytes : stack.live_bytes);
  const all = report.mapped.stacks.reduce((sum, stack) => sum + most(stack), 0);
  const told = [...report.mapped.stacks].sort((a, b) => most(b) - most(a));
  told.forEach((stack, i) => {
    for (const words of [`${stack.ranges.toLocaleString("en-US")} range`, `${stack.calls.toLocaleString("en-US")} call`])
      assert.ok(cards[i].includes(words), `${words} is not in: ${cards[i]}`);
    const share = `${((100 * most(stack)) / (all || 1)).toFixed(1)} %`;
    assert.ok(cards[i].startsWith(share), `${cards[i]} should begin with ${share}`);
    const plain = stack.frames.find((frame) => isPlain(frame.function));
    if (plain) assert.ok(cards[i].includes(plain.function), plain.function);
  });
}

// `leaks`: what `heapledger leaks --json` says. Each is a card, in the same order, with its numbers and its stack.
export async function leaksAreTold({ page, settled, leaks }) {
  await page.click("[data-view=leaks]");
  await settled();
  assert.ok(leaks.leaks.length > 0);
  const cards = await page.$$eval("main .card", (all) => all.map((card) => card.textContent));
  assert.equal(cards.length, leaks.leaks.length);
  assert.ok(!cards.some(hasHidden), "hidden characters");
  const order = ["leak", "retention", "suspect"];
  const told = [...leaks.leaks].sort((a, b) => order.indexOf(a.verdict) - order.indexOf(b.verdict));
  told.forEach((leak, i) => {
    const plain = leak.frames.find((frame) => !frame.inlined && isPlain(frame.function));
    const facts = [`${leak.blocks.toLocaleString("en-US")} block`];
    if (plain) facts.push(plain.function);
    if (leak.sampled > 0) facts.push(`${leak.untouched} of ${leak.sampled} watched blocks not touched`);
    if (leak.witnesses.includes("unreachable")) facts.push("nothing points to it");
    for (const words of facts) assert.ok(cards[i].includes(words), `leak ${i}: ${words} is not in: ${cards[i]}`);
  });
  const found = leaks.leaks.filter((leak) => leak.verdict === "leak").length;
  assert.equal(await page.textContent("[data-view=leaks]"), found > 0 ? `Leaks ${found}` : "Leaks");
}

export async function sizesAndLivesAreTold({ page, settled, report }) {
  await page.click("[data-view=sizes]");
  await settled();
  const sums = await page.$$eval(".histogram", (all) => all.map((one) => [...one.querySelectorAll("[title]")]
    .filter((cell) => /^[\d,]+$/.test(cell.title)).map((cell) => Number(cell.title.replace(/,/g, "")))));
  const add = (numbers) => numbers.reduce((sum, one) => sum + one, 0);
  assert.equal(add(sums[0]), report.totals.allocations);
  const { allocations, temporaries, live_blocks: kept } = report.totals;
  const timed = report.lifetimes !== undefined;
  const fates = sums[timed ? 2 : 1];
  if (kept >= 0 && kept + temporaries <= allocations) assert.deepEqual(fates, [temporaries, allocations - kept - temporaries, kept]);
  const text = await page.textContent("main");
  assert.equal(text.includes("heapledger run --lifetimes"), !timed, "how to have blocks timed");
  if (timed) await livesAreTold({ page, settled, report }, sums[1]);
}

// The rows are decades from a microsecond on; the tables show the means of the report.
async function livesAreTold({ page, settled, report }, shown) {
  const decades = new Map();
  for (const { to, frees } of report.lifetimes) {
    const decade = Math.max(-6, Math.floor(Math.log10(to)) + 1);
    decades.set(decade, (decades.get(decade) ?? 0) + frees);
  }
  assert.deepEqual(shown.filter((count) => count > 0), [...decades].sort((a, b) => a[0] - b[0]).map(([, frees]) => frees));
  const column = async (view) => {
    await page.click(`[data-view=${view}]`);
    await settled();
    await page.click(".table-head >> text=Mean life");
    await settled();
    return page.evaluate(() => [...document.querySelectorAll(".table-row")].flatMap((row) =>
      [...row.querySelectorAll("[title$=' ns']")].map((cell) => Number(cell.title.replace(/[^0-9]/g, "")))));
  };
  if (await page.evaluate(() => window.heapledger.profile.before !== undefined)) return; // there, like stacks are one
  const means = report.stacks.filter((stack) => stack.timed_frees > 0).map((stack) => Math.round(stack.mean_lifetime * 1e9)).sort((a, b) => b - a);
  const stacks = await column("stacks");
  assert.ok(stacks.length > 0);
  stacks.forEach((mean, i) => assert.ok(Math.abs(mean - means[i]) <= 1 + 1e-9 * means[i], `stack ${i}: ${mean} ns, the report has ${means[i]}`));
  const functions = await column("functions");
  assert.ok(functions.length > 0 && functions.every((mean) => mean <= means[0] + 1), "no function's mean is above every stack's");
}
