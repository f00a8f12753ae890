// How long blocks live: as they were timed, where the program ran with --lifetimes; else as far as counters know it.
import type { Leak, LifetimeBucket, TimelinePoint, Totals } from "../data/report";

// Every allocation is in one of them.
export interface Fates {
  atOnce: number; // freed before its thread's next allocation
  later: number;
  kept: number; // not freed
}

export function fates(totals: Totals): Fates {
  const kept = Math.min(Math.max(totals.live_blocks, 0), totals.allocations);
  const atOnce = Math.min(totals.temporaries, totals.allocations - kept);
  return { atOnce, later: totals.allocations - kept - atOnce, kept };
}

const fewestPoints = 8;

// In seconds: blocks that live at a time, over the blocks made in that time (Little's law). Null where the timeline is too
// short to say. What was never freed counts with its life so far.
export function meanLife(timeline: TimelinePoint[], totals: Totals): number | null {
  if (timeline.length < fewestPoints || totals.allocations === 0) return null;
  let lived = 0;
  for (let i = 1; i < timeline.length; ++i) {
    const before = timeline[i - 1]!;
    const now = timeline[i]!;
    lived += ((before.live_blocks + now.live_blocks) / 2) * (now.time - before.time);
  }
  return lived > 0 ? lived / totals.allocations : null;
}

export interface LifeRow {
  name: string;
  frees: number;
  bytes: number;
}

const decades: [number, string][] = [[1e-6, "under 1 µs"], [1e-5, "1 to 10 µs"], [1e-4, "10 to 100 µs"], [1e-3, "0.1 to 1 ms"], [1e-2, "1 to 10 ms"],
  [0.1, "10 to 100 ms"], [1, "0.1 to 1 s"], [10, "1 to 10 s"], [100, "10 to 100 s"], [1e3, "100 to 1,000 s"], [1e4, "1,000 to 10,000 s"],
  [Infinity, "10,000 s and more"]];

// The histogram by decades, without empty rows at either end. No bucket lies in two decades.
export function lifeRows(buckets: LifetimeBucket[]): LifeRow[] {
  const rows = decades.map(([, name]) => ({ name, frees: 0, bytes: 0 }));
  for (const bucket of buckets) {
    const row = rows[decades.findIndex(([below]) => bucket.to < below)] ?? rows[rows.length - 1]!;
    row.frees += bucket.frees;
    row.bytes += bucket.freed_bytes;
  }
  while (rows.length > 0 && rows[0]!.frees === 0) rows.shift();
  while (rows.length > 0 && rows[rows.length - 1]!.frees === 0) rows.pop();
  return rows;
}

const ages: [number, string][] = [[1, "under 1 s"], [10, "1 to 10 s"], [60, "10 to 60 s"], [600, "1 to 10 min"], [3600, "10 to 60 min"],
  [86400, "1 to 24 h"], [Infinity, "over a day"]];

export interface AgeRow {
  name: string;
  stacks: number;
  blocks: number;
}

// Of the stacks that the leak watch reports: how old the oldest block is that it has watched.
export function ageRows(leaks: Leak[]): AgeRow[] {
  const rows = ages.map(([, name]) => ({ name, stacks: 0, blocks: 0 }));
  for (const leak of leaks) {
    if (leak.oldest_age === undefined) continue;
    const row = rows[ages.findIndex(([below]) => leak.oldest_age! < below)]!;
    row.stacks += 1;
    row.blocks += leak.blocks;
  }
  while (rows.length > 0 && rows[0]!.stacks === 0) rows.shift();
  while (rows.length > 0 && rows[rows.length - 1]!.stacks === 0) rows.pop();
  return rows;
}
