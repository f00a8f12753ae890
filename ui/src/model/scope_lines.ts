// What outermost scopes held over time, at the times of the timeline.
import type { ScopeRow } from "../data/report";
import { along } from "./along";

export interface ScopeLine {
  name: string;
  live: (number | null)[]; // null before the first look at scopes
}

// The largest at any moment, so many of them. Looks may be seconds apart while the timeline goes on: between two of them
// a scope is taken to change evenly, as the chart draws all else.
export function scopeLines(scopes: ScopeRow[], time: number[], most: number): ScopeLine[] {
  const lines = scopes.filter((row) => row.timeline && row.timeline.length > 1);
  const highest = (row: ScopeRow): number => row.timeline!.reduce((high, point) => Math.max(high, point.live_bytes), 0);
  lines.sort((a, b) => highest(b) - highest(a));
  return lines.slice(0, most).map((row) => {
    const points = row.timeline!;
    const last = points[points.length - 1]!;
    const live = along(points.map((point) => point.time), points.map((point) => point.live_bytes), time)
      .map((value, i) => (time[i]! > last.time ? last.live_bytes : value));
    return { name: row.scope.join(" / "), live };
  });
}
