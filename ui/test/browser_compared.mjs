// What a page of two profiles shows, added up anew from both reports.
import assert from "node:assert/strict";

const keys = { peak: "peak_bytes", live: "live_bytes", allocated: "allocated_bytes", count: "allocations", temporary: "temporaries" };

// Growth in all, and by function, added up anew from both reports.
export async function growthIsTheDifference({ page, settled, report, has }, old) {
  for (const [by, key] of Object.entries(keys)) {
    await page.click(`.measures [data-choice=${by}]`);
    await settled();
    const grown = await page.evaluate(() => window.heapledger.model.growth().total[0]);
    assert.equal(grown, report.totals[key] - old.totals[key], by);
  }
  await page.click(".measures [data-choice=allocated]");
  await page.click("[data-view=functions]");
  await settled();
  const rows = await page.$$eval(".table-row", (list) => list.map((row) => [row.querySelector(".name").title, row.children[1].firstChild.title]));
  const sum = (of, name) => of.stacks.filter((stack) => has(stack, name)).reduce((all, stack) => all + stack.allocated_bytes, 0);
  let seen = 0;
  for (const [name, growth] of rows.filter(([one]) => /^\w+(::\w+)*\(.*\)$/.test(one) || one === "main")) {
    assert.equal(growth, `${(sum(report, name) - sum(old, name)).toLocaleString("en-US")} bytes`, name);
    ++seen;
  }
  assert.ok(seen > 0);
  await relativesAreTheDifference({ page, settled, report, has }, old);
  await page.click("[data-view=flame]");
  await settled();
  const { x, y } = await page.$eval(".flame-page canvas", (canvas) => canvas.getBoundingClientRect().toJSON());
  await page.mouse.move(x + 50, y + 9);
  await settled();
  assert.ok((await page.textContent(".hint-box:not([hidden])")).includes(`${old.totals.allocated_bytes.toLocaleString("en-US")} bytes before`));
  await invertedAddsUp(page, settled, report, old);
  await page.click("[data-view=stacks]");
  await page.click("[data-view=overview]");
  await settled();
}

// Who called a function before and after: of every stack the frame outside of its outermost one.
async function relativesAreTheDifference({ page, settled, report, has }, old) {
  const callers = (of, name) => {
    const sums = new Map();
    for (const stack of of.stacks.filter((each) => has(each, name))) {
      const caller = stack.frames[stack.frames.findLastIndex((frame) => frame.function === name) + 1]?.function;
      sums.set(caller, (sums.get(caller) ?? 0) + stack.allocated_bytes);
    }
    return sums;
  };
  const names = await page.$$eval(".table-row .name", (all) => all.map((one) => one.title));
  const scopes = new Set([report, old].flatMap((of) => of.stacks).flatMap((stack) => stack.scope));
  let seen = 0;
  for (const [i, name] of names.entries()) {
    if (!/^\w+(::\w+)*(\(.*\))?$/.test(name)) continue;
    await page.click(`.table-row >> nth=${i}`);
    await settled();
    const shown = await page.$eval(".detail .relatives", (list) => [...list.querySelectorAll("li:has(a)")].map((row) =>
      [row.querySelector("a").title, row.firstChild.title, row.firstChild.textContent]));
    const [before, after] = [callers(old, name), callers(report, name)];
    for (const [caller, title, text] of shown.filter(([one]) => /^\w+(\(.*\))?$/.test(one) && !scopes.has(one))) {
      const [was, is] = [before.get(caller) ?? 0, after.get(caller) ?? 0];
      assert.equal(title, `${was.toLocaleString("en-US")} bytes before, ${is.toLocaleString("en-US")} bytes after`, `${caller} calls ${name}`);
      assert.equal(Math.sign(parseFloat(text)), Math.sign(is - was), text);
      ++seen;
    }
  }
  assert.ok(seen > 0);
}

// Turned around, each child of the root is a place that allocates: before, after and growth by function are those of all
// stacks that begin there, as raw frames have it.
async function invertedAddsUp(page, settled, report, old) {
  await page.click("[data-view=functions]");
  await page.click("input[type=checkbox]");
  await page.click("[data-view=flame]");
  await page.click("[data-choice=up]");
  await settled();
  const shown = await page.evaluate(() => {
    const { model, profile } = window.heapledger;
    const tree = model.tree();
    return Array.from(tree.children(tree.root), (node) => [profile.strings.get(profile.functions.name[tree.fn(node)]), profile.functions.kind[tree.fn(node)],
      tree.after(node) - tree.growth(node), tree.after(node)]);
  });
  const from = (of, name) => of.stacks.filter((stack) => stack.frames[0]?.function === name).reduce((sum, stack) => sum + stack.allocated_bytes, 0);
  const modules = (name) => new Set([report, old].flatMap((of) => of.stacks).flatMap((stack) => stack.frames).filter((f) => f.function === name).map((f) => f.module)).size;
  const named = shown.filter(([name, kind]) => kind === 0 && modules(name) === 1);
  assert.ok(named.length > 0);
  for (const [name, , before, after] of named) assert.deepEqual([before, after], [from(old, name), from(report, name)], name);
  await page.click("[data-choice=down]");
  await page.click("[data-view=functions]");
  await page.click("input[type=checkbox]");
}
