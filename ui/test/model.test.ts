import assert from "node:assert/strict";
import { test } from "node:test";
import { stackValues } from "../src/model/measure";
import { Model } from "../src/app/model";
import { initial } from "../src/app/state";
import { functionName, kindScope, lineText, type Profile } from "../src/model/profile";
import type { ScopeRow } from "../src/data/report";
import { largestFirst } from "../src/model/scope_order";
import { matcher, search, stacksIn } from "../src/model/search";
import { MergedTree } from "../src/model/merged_tree";
import { CallTree, type Tree } from "../src/model/tree";
import { forTopmost, sitePlaces, sumFunctions, weigh, type Weights } from "../src/model/weights";
import { layOut, spanOf } from "../src/view/flame_layout";
import { stackText } from "../src/view/stack_list";
import { functionIndex, sample } from "./sample";

const small = sample([
  { path: ["main@1", "load@2", "parse@3", "~libc!malloc"], peak: 60 },
  { path: ["main@1", "load@2", "parse@4", "~libc!malloc"], peak: 10 },
  { path: ["main@1", "walk@5", "walk@6", "walk@6", "~libc!malloc"], peak: 20 },
  { path: ["main@1", "walk@5", "load@2"], peak: 10 },
]);

function weights(profile: Profile, chosen: Uint8Array | null = null): Weights {
  return weigh(profile, stackValues(profile.stacks, "peak"), sitePlaces(profile), chosen);
}

// "main 100 (load 70 (...) walk 30 (...))"
function shape(profile: Profile, tree: Tree, node = tree.root, deepest = 9): string {
  const children = deepest === 0 ? [] : Array.from(tree.children(node));
  const inner = children.map((child) => shape(profile, tree, child, deepest - 1)).join(" ");
  return `${functionName(profile, tree.fn(node))} ${tree.value(node)}${inner && ` (${inner})`}`;
}

test("the call tree holds every stack, larger ones first", () => {
  assert.equal(shape(small, new CallTree(small, { shown: weights(small) })),
    "everything 100 (main 100 (load 70 (parse 70 (malloc 70)) walk 30 (walk 20 (walk 20 (malloc 20)) load 10)))");
});

test("a recursive function's total counts each stack once", () => {
  const sums = sumFunctions(small, weights(small));
  assert.equal(sums.total[functionIndex(small, "walk")], 30);
  assert.equal(sums.total[functionIndex(small, "load")], 80);
  assert.equal(sums.total[functionIndex(small, "main")], 100);
});

test("what machinery allocates belongs to its first caller that is none", () => {
  const sums = sumFunctions(small, weights(small));
  assert.equal(sums.self[functionIndex(small, "malloc")], 90);
  assert.equal(sums.site[functionIndex(small, "malloc")], 0);
  assert.equal(sums.site[functionIndex(small, "parse")], 70);
  assert.equal(sums.site[functionIndex(small, "walk")], 20);
  assert.equal(sums.site[functionIndex(small, "load")], 10);
});

test("a stack that is nothing but machinery belongs to where it allocates", () => {
  const only = sample([{ path: ["~start", "~libc!malloc"], peak: 5 }]);
  assert.equal(sumFunctions(only, weights(only)).site[functionIndex(only, "malloc")], 5);
});

test("the inverted tree begins where memory is allocated", () => {
  const all = weights(small);
  assert.equal(shape(small, MergedTree.inverted(small, { shown: all }, "site")),
    "everything 100 (parse 70 (load 70 (main 70)) walk 20 (walk 20 (walk 20 (main 20))) load 10 (walk 10 (main 10)))");
});

test("callers and callees of one function", () => {
  const all = weights(small);
  const load = functionIndex(small, "load");
  const roots: number[] = [];
  forTopmost(small, (node, fn) => fn === load && roots.push(node));
  assert.equal(shape(small, new MergedTree(small, { shown: all }, "callers", load, roots)), "load 80 (main 70 walk 10 (main 10))");
  assert.equal(shape(small, new MergedTree(small, { shown: all }, "callees", load, roots)), "load 80 (parse 70 (malloc 70))");
});

test("of two profiles, merged nodes know what was before and after", () => {
  const paths = [["main", "load", "parse"], ["main", "walk", "parse"], ["main", "gone"]];
  const [after, before] = [[30, 5, 0], [10, 20, 7]];
  const both = sample(paths.map((path, i) => ({ path, peak: Math.max(after![i]!, before![i]!) })));
  const of = (values: number[]): Weights => weigh(both, Float64Array.from(values), sitePlaces(both), null);
  const columns = { shown: weights(both), growth: of(after!.map((value, i) => value - before![i]!)), after: of(after!) };
  const tree = MergedTree.inverted(both, columns, "site");
  const told = (node: number): unknown => [functionName(both, tree.fn(node)), tree.value(node), tree.growth(node), tree.after(node)];
  const children = Array.from(tree.children(tree.root));
  assert.deepEqual([tree.root, ...children].map(told), [["everything", 57, -2, 35], ["parse", 50, 5, 35], ["gone", 7, -7, 0]]);
  assert.deepEqual(Array.from(tree.children(children[0]!)).map(told), [["load", 30, 20, 30], ["walk", 20, -15, 5]]);
  assert.equal(new CallTree(both, columns).growth(0), -2);
});

test("a tree may grow in steps, and another in between", () => {
  const wide = sample([...Array(14400)].map((_, i) => ({ path: ["main", `f${i % 120}`, `g${Math.floor(i / 120)}`, "take"], peak: 1 + (i % 5) })));
  const all = weights(wide);
  const take = [...Array(wide.nodes.count).keys()].filter((node) => wide.nodes.fn[node] === functionIndex(wide, "take"));
  const grown = (steps: boolean): unknown => {
    const tree = new MergedTree(wide, { shown: all }, "callers", 0, take);
    const other = new MergedTree(wide, { shown: all }, "callees", 0, [0]);
    let stops = 0;
    while (steps && !tree.prepare(tree.root, 0)) if (++stops === 3) other.children(other.root);
    assert.ok(!steps || stops >= 3, `${stops} stops`);
    const children = tree.children(tree.root);
    return [children.length, Array.from(children).slice(0, 50).map((node) => [tree.fn(node), tree.value(node)]), Array.from(other.children(0)).map((node) => other.value(node))];
  };
  assert.deepEqual(grown(true), grown(false));
});

test("without scopes, what is in them is added up", () => {
  const scoped = sample([
    { path: ["request 1", "query", "main", "load"], peak: 5 }, { path: ["request 1", "main", "load"], peak: 10 },
    { path: ["request 2", "main", "load"], peak: 20 }, { path: ["request 2", "main", "parse"], peak: 1 }, { path: ["main", "load"], peak: 40 },
  ]);
  const names = Array.from({ length: scoped.functions.count }, (_, fn) => functionName(scoped, fn));
  names.forEach((name, fn) => /request|query/.test(name) && (scoped.functions.kind[fn] = kindScope));
  const all = weights(scoped);
  assert.equal(shape(scoped, MergedTree.withoutScopes(scoped, { shown: all })), "everything 76 (main 76 (load 75 parse 1))");
  assert.equal(shape(scoped, MergedTree.inverted(scoped, { shown: all }, "site", false)), "everything 76 (load 75 (main 75) parse 1 (main 1))");
  assert.equal(shape(scoped, new CallTree(scoped, { shown: all })),
    "everything 76 (main 40 (load 40) request 2 21 (main 21 (load 20 parse 1)) request 1 15 (main 10 (load 10) query 5 (main 5 (load 5))))");
});

test("a search finds functions, files and modules, and knows their share", () => {
  const all = weights(small);
  const value = (query: string): number => search(small, all, matcher(query)!).value;
  assert.equal(value("WALK"), 30);
  assert.equal(value("libc"), 90);
  assert.equal(value("/^(parse|walk)$/"), 100);
  assert.equal(value("program.cpp"), 100);
  assert.equal(value("nothing like this"), 0);
  assert.equal(matcher("/(/"), null);
});

test("only what was found", () => {
  const all = weights(small);
  const chosen = stacksIn(small, search(small, all, matcher("walk")!).nodes);
  assert.deepEqual([...chosen], [0, 0, 1, 1]);
  assert.equal(shape(small, new CallTree(small, { shown: weights(small, chosen) })),
    "everything 30 (main 30 (walk 30 (walk 20 (walk 20 (malloc 20)) load 10)))");
});

test("values below zero do not take room from others", () => {
  const odd = sample([{ path: ["main", "a"], peak: 50 }, { path: ["main", "b"], peak: -20 }]);
  const tree = new CallTree(odd, { shown: weights(odd) });
  assert.equal(shape(odd, tree), "everything 30 (main 30 (a 50))");
  const boxes = layOut(tree, { begin: 0, end: 30 }, 300, 99);
  assert.deepEqual(boxes.map((box) => box.width), [300, 300, 300]);
});

test("boxes lie within their callers, and nothing too narrow is drawn by itself", () => {
  const many = sample([...Array(1000)].map((_, i) => ({ path: ["main", `f${i}`], peak: i === 0 ? 9000 : 1 })));
  const tree = new CallTree(many, { shown: weights(many) });
  const boxes = layOut(tree, { begin: 0, end: tree.value(0) }, 1000, 99);
  assert.equal(boxes.length, 4);
  assert.equal(boxes[3]!.node, -1);
  assert.ok(Math.abs(boxes[3]!.x + boxes[3]!.width - 1000) < 1e-6);
  for (const box of boxes.slice(1)) {
    const outer = boxes[box.parent]!;
    assert.ok(box.x >= outer.x - 1e-6 && box.x + box.width <= outer.x + outer.width + 1e-6);
  }
  const zoomed = layOut(tree, { begin: 9000, end: 9100 }, 1000, 99);
  assert.equal(zoomed.filter((box) => box.level === 2 && box.node >= 0).length, 100);
});

test("a node's span is where it is drawn", () => {
  const tree = new CallTree(small, { shown: weights(small) });
  for (const box of layOut(tree, { begin: 0, end: 100 }, 100, 99)) {
    assert.deepEqual(spanOf(tree, box.node), { begin: box.x, end: box.x + box.width });
  }
});

test("scopes are a tree, of one parent the largest first, each behind what it is in", () => {
  const row = (scope: string[], allocated_bytes: number): ScopeRow => {
    const counts = { allocations: 0, frees: 0, allocated_bytes, freed_bytes: 0, live_blocks: 0, live_bytes: 0 };
    return { scope, ...counts, with_descendants: counts };
  };
  const rows = [row([], 9), row(["a"], 1), row(["a", "x"], 1), row(["b"], 5), row(["b", "x"], 2), row(["b", "y"], 3), row(["c"], 1)];
  assert.deepEqual(largestFirst(rows).map(({ scope }) => scope.join("/")), ["", "b", "b/y", "b/x", "a", "a/x", "c"]);
});

test("a stack as text, from the allocation outward", () => {
  assert.equal(stackText(small, small.stacks.place[0]!),
    "malloc  /src/program.cpp  in libc\nparse  /src/program.cpp:3  in program\nload  /src/program.cpp:2  in program\nmain  /src/program.cpp:1  in program");
});

test("a function is shown with the line at which most of it is allocated", () => {
  const model = new Model(sample([
    { path: ["main@1", "load@2", "~libc!malloc"], peak: 10 },
    { path: ["main@1", "load@7", "~libc!malloc"], peak: 60 },
    { path: ["main@1", "load@9", "~libc!malloc"], peak: 30 },
  ]));
  model.follow({ ...initial, by: "peak" });
  const { profile } = model;
  assert.match(lineText(profile, model.siteLines()[functionIndex(profile, "load")]!), /:7$/);
  assert.equal(model.siteLines()[functionIndex(profile, "main")], -1);
});
