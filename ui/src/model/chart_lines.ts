// What parts of the program held over time, at the times of the timeline: its outermost scopes, or where it has none,
// the places that held most.
import type { PlacesOverTime, ScopeRow } from "../data/report";
import { along } from "./along";

export interface ChartLine {
  name: string;
  title: string;
  live: (number | null)[]; // null before the first look
}

// Looks may be seconds apart while the timeline goes on: between two of them a part is taken to change evenly, as the
// chart draws all else.
function drawn(times: number[], values: number[], time: number[]): (number | null)[] {
  const last = times.length - 1;
  return along(times, values, time).map((value, i) => (time[i]! > times[last]! ? values[last]! : value));
}

// The largest at any moment, so many of them.
export function scopeLines(scopes: ScopeRow[], time: number[], most: number): ChartLine[] {
  const lines = scopes.filter((row) => row.timeline && row.timeline.length > 1);
  const highest = (row: ScopeRow): number => row.timeline!.reduce((high, point) => Math.max(high, point.live_bytes), 0);
  lines.sort((a, b) => highest(b) - highest(a));
  return lines.slice(0, most).map((row) => {
    const points = row.timeline!;
    const name = row.scope.join(" / ");
    return {
      name, title: `live bytes of all scopes ${name}, with what is below them`,
      live: drawn(points.map((point) => point.time), points.map((point) => point.live_bytes), time),
    };
  });
}

// They come in this order.
export function placeLines({ time: times, lines }: PlacesOverTime, time: number[], most: number): ChartLine[] {
  return lines.slice(0, most).map(({ name, place, live }) => ({
    name, title: `live bytes allocated by ${name}${place && `, ${place}`}`, live: drawn(times, live, time),
  }));
}
