import assert from "node:assert/strict";
import { test } from "node:test";
import { fromFragment, initial, toFragment, type State } from "../src/app/state";
import { Reader } from "../src/data/reader";
import { chartOf, thin, together, withPeak } from "../src/model/chart";
import { placeLines, scopeLines } from "../src/model/chart_lines";
import { ageRows, fates, lifeRows, meanLife } from "../src/model/lifetimes";
import { placeNames } from "../src/model/name_places";
import { fitted } from "../src/model/names";
import { bytesText, changeText, countText, growthText, lifeText, percentText, secondsText } from "../src/model/text";
import { textOn } from "../src/view/colours";
import { brief } from "../src/view/json_stacks";
import { memoryMaps, shownBytes } from "../src/view/memory_page";
import { sizeRows } from "../src/view/sizes_page";
import { sortRows, Sorting } from "../src/view/plain_table";
import { ends } from "../src/view/stack_list";
import { sortByValue } from "../src/view/table";
import { axisSeconds, timeSplits } from "../src/view/timeline";

function varint(value: bigint): number[] {
  const bytes: number[] = [];
  for (; value >= 0x80n; value >>= 7n) bytes.push(Number(value & 0x7fn) | 0x80);
  return [...bytes, Number(value)];
}

test("varints are read exactly up to 2^53", () => {
  for (let bits = 0n; bits <= 53n; ++bits) {
    for (const value of [(1n << bits) - 1n, 1n << bits, (1n << bits) / 3n]) {
      assert.equal(BigInt(new Reader(Uint8Array.from(varint(value))).varint()), value);
    }
  }
});

test("the bar of resident memory is as wide as it, whatever of the live blocks is not resident", () => {
  const map = { time: 1, rss_bytes: 90, live_bytes: 1000, allocator_bytes: -970, tag_bytes: 10, profiler_bytes: 5, mapped_bytes: 20,
    file_bytes: 15, stack_bytes: 6, other_bytes: 4 };
  const { time: _time, rss_bytes: rss, ...rows } = map;
  const shown = (Object.keys(rows) as (keyof typeof rows)[]).map((key) => [key, shownBytes(map, key)] as const);
  assert.equal(shown.reduce((sum, [, bytes]) => sum + bytes, 0), rss);
  assert.deepEqual(shown.slice(0, 2), [["live_bytes", 30], ["allocator_bytes", 0]]);
  assert.equal(shownBytes({ ...map, allocator_bytes: 7 }, "live_bytes"), 1000);
});

test("of two profiles resident memory is that of both", () => {
  const report = (time: number): object => ({ process: { ended: "exited" }, memory_peak: { time }, memory: { time: time + 1 } });
  const titles = memoryMaps({ report: report(1), before: { report: report(5) } } as never).map(([title]) => title);
  assert.deepEqual(titles, ["near the peak, at 1.00 s", "last seen, at 2.00 s", "before, near its peak, at 5.00 s"]);
});

test("of a stack too deep for a browser both ends are shown", () => {
  const frames = (count: number): number[] => Array.from({ length: count }, (_, i) => i);
  assert.deepEqual(ends(frames(401)), { innermost: frames(401), left: 0, outermost: [] });
  const { innermost, left, outermost } = ends(frames(1_000_000));
  assert.equal(innermost.length + left + outermost.length, 1_000_000);
  assert.ok(innermost.length + outermost.length < 1000);
  assert.equal(innermost[0], 0);
  assert.equal(outermost.at(-1), 999_999);
});

test("the axis of time counts in what a clock shows", () => {
  const labels = (high: number): string[] => timeSplits(0, high, 8).map(axisSeconds);
  assert.deepEqual(labels(0.0035), ["0 s", "0.5 ms", "1 ms", "1.5 ms", "2 ms", "2.5 ms", "3 ms", "3.5 ms"]);
  assert.deepEqual(labels(4.1), ["0 s", "1 s", "2 s", "3 s", "4 s"]);
  assert.deepEqual(labels(100), ["0 s", "15 s", "30 s", "45 s", "1 min", "1 min 15 s", "1 min 30 s"]);
  assert.deepEqual(labels(4 * 3600), ["0 s", "30 min", "1 h", "1 h 30 min", "2 h", "2 h 30 min", "3 h", "3 h 30 min", "4 h"]);
  assert.deepEqual(labels(7 * 86400), ["0 s", "24 h", "48 h", "72 h", "96 h", "120 h", "144 h", "168 h"]);
  assert.deepEqual(timeSplits(3599.85, 3600.15, 4).map(axisSeconds), ["59 min 59.9 s", "1 h", "1 h 0.1 s"]);
  assert.ok(timeSplits(0, 2 ** 33, 8).length < 10);
});

test("names of moments do not cover each other, and the first ones are shown", () => {
  assert.deepEqual(placeNames([{ x: 50, width: 20 }], 0, 100), [54]);
  assert.deepEqual(placeNames([{ x: 90, width: 20 }], 0, 100), [66], "before its line");
  assert.deepEqual(placeNames([{ x: 50, width: 60 }], 0, 100), [null], "wider than both sides");
  const crowd = Array.from({ length: 4000 }, (_, i) => ({ x: i / 4, width: 30 + (i % 50) }));
  const begins = placeNames(crowd, 0, 1000);
  const spans = begins.flatMap((begin, i) => (begin === null ? [] : [[begin, begin + crowd[i]!.width] as const])).sort((a, b) => a[0] - b[0]);
  assert.ok(begins[0] === 4 && spans.length > 10);
  spans.slice(1).forEach(([begin], i) => assert.ok(begin > spans[i]![1], `${begin} is covered`));
});

test("columns that are cut off are refused", () => {
  assert.throws(() => new Reader(Uint8Array.from([5, 1, 2])).block(), /cut off/);
  assert.throws(() => new Reader(Uint8Array.from([255, 255, 255, 255, 255])).varint(), /cut off/);
});

test("differences and signs", () => {
  const column = [6, 2, 2, 1, 4, 3, 0];
  assert.deepEqual([...new Reader(Uint8Array.from(column)).differences(6)], [1, 2, 1, 3, 1, 1]);
  assert.deepEqual([...new Reader(Uint8Array.from(column)).signed(6)], [1, 1, -1, 2, -2, 0]);
});

test("numbers read as in the text report", () => {
  assert.equal(bytesText(0), "0 B");
  assert.equal(bytesText(1023), "1023 B");
  assert.equal(bytesText(1024), "1.0 KiB");
  assert.equal(bytesText(1048575), "1.0 MiB");
  assert.equal(bytesText(-1536), "-1.5 KiB");
  assert.equal(countText(1234567), "1,234,567");
  assert.equal(countText(-1234), "-1,234");
  assert.equal(countText(999), "999");
  assert.equal(percentText(1, 0), "0.0 %");
  assert.equal(secondsText(0.001), "1.00 ms");
  assert.equal(secondsText(125), "2 min 05 s");
  assert.equal(secondsText(7260), "2 h 01 min");
});

test("an address brings every part of a view back", () => {
  const state: State = {
    view: "stacks", by: "temporary", direction: "callees", rootAtBottom: true, scopes: "hidden", window: { begin: 0.125, end: 0.3333333333 },
    fn: 12, stack: 99, query: "a&b=c #\"<x>/", only: true, skip: false, sort: "stacks:2:1", span: { begin: 0.5, end: 1.25 }, theme: "dark",
  };
  assert.deepEqual(fromFragment("#" + toFragment(state), initial), state);
  assert.deepEqual(fromFragment("#" + toFragment(initial), initial), initial);
});

test("an address that makes no sense shows the usual view", () => {
  assert.deepEqual(fromFragment("#view=x&by=size&dir=&x=3_1&fn=-5&stack=1e9&t=a_b&theme=pink&%E0%A4%A", initial), initial);
});

test("a thinned timeline keeps every peak", () => {
  const time = [...Array(100_000).keys()];
  const live = time.map((i) => (i === 77_777 ? 1e9 : i === 5 ? -1 : i % 7));
  const thinned = thin(time, live, time.map(() => null));
  assert.ok(thinned.time.length <= 8100);
  assert.ok(thinned.live.includes(1e9) && thinned.live.includes(-1));
  assert.deepEqual(thinned.time, [...thinned.time].sort((a, b) => a - b));
});

test("two timelines on one axis keep every point of both", () => {
  const now = { time: [0, 2, 4], live: [0, 20, 10], rss: [1, null, 3] };
  const before = { time: [1, 2, 8], live: [5, 50, 80], rss: [null, null, null] };
  assert.deepEqual(together(now, before), {
    time: [0, 1, 2, 4, 8], live: [0, 10, 20, 10, null], rss: [1, null, null, 3, null], before: [null, 5, 50, 60, 80],
  });
});

test("every allocation is in one row of the histogram", () => {
  const buckets = [{ from: 0, to: 0, allocations: 3 }, { from: 8, to: 11, allocations: 5 }, { from: 12, to: 15, allocations: 7 }, { from: 64, to: 79, allocations: 0 }];
  assert.deepEqual(sizeRows(buckets), [{ from: 0, to: 0, allocations: 3 }, { from: 8, to: 15, allocations: 12 }]);
});

test("of a place without a name the offset stays", () => {
  assert.equal(fitted("libx264.so.164+0x91466", 22), "libx264.so.164+0x91466");
  assert.equal(fitted("libx264.so.164+0x91466", 15), "libx26…+0x91466");
  assert.equal(fitted("libx264.so.164+0x91466", 9), "libx264.…");
});

test("text can be read on what is dark and what is light", () => {
  assert.notEqual(textOn("hsl(220 6% 42%)"), textOn("hsl(6 35% 52%)"));
  assert.equal(textOn("hsl(220 6% 34%)"), textOn("hsl(220 6% 42%)"));
  assert.equal(textOn("hsl(30 72% 61.2%)"), textOn("hsl(220 10% 86%)"));
});

test("names lose outer scopes before they are cut", () => {
  assert.equal(fitted("a::b<c::d>::e", 20), "a::b<c::d>::e");
  assert.equal(fitted("a::b<c::d>::e", 12), "b<c::d>::e");
  assert.equal(fitted("a::b<c::d>::e", 5), "e");
  assert.equal(fitted("<a::Vec<a::b> as c::From<I>>::new", 30), "<Vec<a::b> as From<I>>::new");
  assert.equal(fitted("<a::Vec<a::b> as c::From<I>>::new", 20), "<Vec<a::b>>::new");
  assert.equal(fitted("<a::Vec<a::b> as c::From<I>>::new", 10), "new");
  assert.equal(fitted("abcdefgh", 5), "abcd…");
  assert.equal(fitted("operator new(std::size_t)", 10), "operator …");
  assert.equal(fitted("::::::", 2), "::");
});

test("names in one word", () => {
  assert.equal(brief("main"), "main");
  assert.equal(brief("unsigned long a::b<c, d<e> >(int, void (*)(char))"), "a::b");
  assert.equal(brief("(anonymous namespace)::threads()::{lambda()#1}::operator()() const"), "threads::{lambda#1}::operator()");
  assert.equal(brief("a::b::get() const &"), "a::b::get");
  assert.equal(brief("a::f(int) [clone .part.0]"), "a::f");
  assert.equal(brief("operator new(unsigned long)"), "operator new");
  assert.equal(brief("a::operator delete[](void*)"), "a::operator delete[]");
  assert.equal(brief("std::ostream& a::operator<< <char>(std::ostream&, char)"), "a::operator<<");
});

test("growth in words", () => {
  assert.equal(growthText(0, 5), "new");
  assert.equal(growthText(5, 5), "the same");
  assert.equal(growthText(200, 100), "-50.0 %");
  assert.equal(changeText(1536, true), "+1.5 KiB");
  assert.equal(changeText(-3, false), "-3");
});

test("the peak is a point of the timeline", () => {
  const series = { time: [0, 1, 2], live: [5, 7, 6], rss: [1, 2, 3] };
  assert.deepEqual(withPeak(series, { peak_time: 1.5, peak_bytes: 9 }), { time: [0, 1, 1.5, 2], live: [5, 7, 9, 6], rss: [1, 2, null, 3] });
  assert.deepEqual(withPeak(series, { peak_time: 1, peak_bytes: 9 }), { time: [0, 1, 2], live: [5, 9, 6], rss: [1, 2, 3] });
  assert.deepEqual(withPeak(series, { peak_bytes: 9 }), series);
  assert.deepEqual(withPeak(series, { peak_time: 3, peak_bytes: 9 }), series);
});

test("every allocation has one fate", () => {
  const totals = { allocations: 10, frees: 7, allocated_bytes: 0, freed_bytes: 0, live_blocks: 3, live_bytes: 0, reallocations: 0, temporaries: 4, peak_bytes: 0, peak_bytes_error: 0 };
  assert.deepEqual(fates(totals), { atOnce: 4, later: 3, kept: 3 });
  assert.deepEqual(fates({ ...totals, live_blocks: -2, temporaries: 11 }), { atOnce: 10, later: 0, kept: 0 });
  // Ten blocks a second, each for two seconds: twenty live at a time.
  const steady = [...Array(101)].map((_, time) => ({ time, live_bytes: 0, live_blocks: 20, allocations: 10 * time }));
  assert.equal(meanLife(steady, { ...totals, allocations: 1000 }), 2);
  assert.equal(meanLife(steady.slice(0, 3), totals), null);
});

test("lives by decades", () => {
  const bucket = (from: number, to: number, frees: number): { from: number; to: number; frees: number; freed_bytes: number } => ({ from, to, frees, freed_bytes: 10 * frees });
  assert.deepEqual(lifeRows([bucket(0, 0, 1), bucket(5e-7, 0.000000999, 2), bucket(1e-6, 0.000001999, 4), bucket(5e-4, 0.000999999, 8), bucket(5e9, 9e9, 0)]), [
    { name: "under 1 µs", frees: 3, bytes: 30 }, { name: "1 to 10 µs", frees: 4, bytes: 40 },
    { name: "10 to 100 µs", frees: 0, bytes: 0 }, { name: "0.1 to 1 ms", frees: 8, bytes: 80 }]);
  assert.deepEqual(lifeRows([bucket(5e9, 9223372036.854776, 1)]), [{ name: "10,000 s and more", frees: 1, bytes: 10 }]);
  assert.deepEqual(lifeRows([]), []);
  assert.deepEqual([0, 3.12e-7, 9.996e-7, 4.2e-6, 0.0031, 0.25, 2.5, 61].map(lifeText), ["0 ns", "312 ns", "1 µs", "4.2 µs", "3.1 ms", "250 ms", "2.50 s", "1 min 01 s"]);
});

test("watched blocks by age", () => {
  const leak = { stack: 1, verdict: "leak" as const, witnesses: [], bytes: 0, bytes_low: 0, bytes_high: 0, bytes_per_hour: 0, blocks: 5, sampled: 0, untouched: 0, growth_stopped: false, frames: [] };
  assert.deepEqual(ageRows([{ ...leak, oldest_age: 5 }, { ...leak, oldest_age: 90, blocks: 2 }, { ...leak, oldest_age: 9.9 }, leak]),
    [{ name: "1 to 10 s", stacks: 2, blocks: 10 }, { name: "10 to 60 s", stacks: 0, blocks: 0 }, { name: "1 to 10 min", stacks: 1, blocks: 2 }]);
  assert.deepEqual(ageRows([]), []);
});

test("rows by value, zeros as they stood", () => {
  const values = [0, 5, -2, 0, 7, 5, -9];
  const sorted = (upward: boolean): number[] => {
    const rows = Uint32Array.from(values.keys());
    sortByValue(rows, (row) => values[row]!, upward);
    return [...rows];
  };
  assert.deepEqual(sorted(false), [4, 1, 5, 0, 3, 2, 6]);
  assert.deepEqual(sorted(true), [6, 2, 0, 3, 1, 5, 4]);
});

test("lines of places end with their program, where an older one ran for longer", () => {
  const report = (...times: number[]): object => ({ totals: { peak_bytes: 1 }, timeline: times.map((time) => ({ time, live_bytes: 1 })) });
  const words = { places: { time: [1, 2], lines: [{ name: "f", place: "", live: [10, 20] }] } };
  const chart = chartOf({ report: report(1, 2, 3), words, before: { report: report(1, 4) } } as never, 5);
  assert.deepEqual(chart.time, [1, 2, 3, 4]);
  assert.deepEqual(chart.parts[0]!.live, [10, 20, 20, null]);
});

test("scopes at the times of the timeline", () => {
  const row = (name: string, values: [number, number][]): never =>
    ({ scope: [name], timeline: values.map(([time, live_bytes]) => ({ time, live_bytes })) }) as never;
  const scopes = [row("small", [[0, 1], [4, 1]]), row("large", [[1, 10], [2, 90], [4, 6]]), { scope: ["none"] } as never];
  assert.deepEqual(scopeLines(scopes, [0, 1.5, 2, 3, 4], 2), [
    { name: "large", title: "live bytes of all scopes large, with what is below them", live: [null, 50, 90, 48, 6] },
    { name: "small", title: "live bytes of all scopes small, with what is below them", live: [1, 1, 1, 1, 1] },
  ]);
  assert.equal(scopeLines(scopes, [0], 1).length, 1);
});

test("places at the times of the timeline", () => {
  const places = { time: [1, 3], lines: [{ name: "load", place: "load.cpp:7", live: [10, 30] }, { name: "rest", place: "", live: [1, 1] }] };
  assert.deepEqual(placeLines(places, [0, 1, 2, 4], 1), [
    { name: "load", title: "live bytes allocated by load, load.cpp:7", live: [null, 10, 20, 30] },
  ]);
  assert.equal(placeLines(places, [0], 2)[1]!.title, "live bytes allocated by rest");
});

test("a plain table: largest first, or from A on; the other way round; as it stood", () => {
  const sorting = new Sorting();
  const seen = [1, 1, 1, 2, 1].map((column) => (sorting.click(column), [sorting.column, sorting.backward]));
  assert.deepEqual(seen, [[1, false], [1, true], [-1, false], [2, false], [1, false]]);
  const rows = [{ name: "b", size: 2 }, { name: "worker 10", size: undefined }, { name: "worker 9", size: 7 }, { name: "a", size: 2 }];
  const sizes = (backward: boolean): unknown[] => sortRows(rows, (row) => row.size, backward).map((row) => row.size);
  assert.deepEqual([sizes(false), sizes(true)], [[7, 2, 2, undefined], [2, 2, 7, undefined]]);
  assert.deepEqual(sortRows(rows, (row) => row.size, false).map((row) => row.name), ["worker 9", "b", "a", "worker 10"], "equal ones as they stood");
  assert.deepEqual(sortRows(rows, (row) => row.name, false).map((row) => row.name), ["a", "b", "worker 9", "worker 10"]);
});
