// How long blocks live, as far as counters know it: the profile has no time of birth for each block.
import type { Leak, TimelinePoint, Totals } from "../data/report";

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
