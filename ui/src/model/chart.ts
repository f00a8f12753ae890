// The lines of the chart of live bytes over time.
import type { Report } from "../data/report";
import { along } from "./along";
import { placeLines, scopeLines, type ChartLine } from "./chart_lines";
import type { Profile } from "./profile";

const mostPoints = 8000;

interface Series {
  time: number[];
  live: number[];
  rss: (number | null)[];
}

// What is drawn, by time; null where a line is not.
export interface Chart {
  time: number[];
  live: (number | null)[];
  rss: (number | null)[];
  before: (number | null)[] | null; // of the older profile, where two are compared
  parts: ChartLine[];
}

// So many points at most; of each stretch the lowest and the highest stay.
export function thin(time: number[], live: number[], rss: (number | null)[]): Series {
  if (time.length <= mostPoints) return { time, live, rss };
  const kept: number[] = [];
  const stretch = Math.ceil((2 * time.length) / mostPoints);
  for (let begin = 0; begin < time.length; begin += stretch) {
    const end = Math.min(time.length, begin + stretch);
    let low = begin;
    let high = begin;
    for (let i = begin; i < end; ++i) {
      if (live[i]! < live[low]!) low = i;
      if (live[i]! > live[high]!) high = i;
    }
    kept.push(Math.min(low, high));
    if (low !== high) kept.push(Math.max(low, high));
  }
  return { time: kept.map((i) => time[i]!), live: kept.map((i) => live[i]!), rss: kept.map((i) => rss[i]!) };
}

// The peak is known exactly. It lies between two points, or at one that may have seen a little less.
export function withPeak(series: Series, totals: { peak_time?: number; peak_bytes: number }): Series {
  const { peak_time: when, peak_bytes: bytes } = totals;
  const next = when === undefined ? -1 : series.time.findIndex((time) => time >= when);
  if (when === undefined || next < 0) return series;
  if (series.time[next] === when) {
    return { ...series, live: series.live.map((live, i) => (i === next ? Math.max(live, bytes) : live)) };
  }
  const put = <T>(list: T[], value: T): T[] => [...list.slice(0, next), value, ...list.slice(next)];
  return { time: put(series.time, when), live: put(series.live, bytes), rss: put(series.rss, null) };
}

function seriesOf(report: Report): Series {
  const points = report.timeline;
  return withPeak(thin(points.map((p) => p.time), points.map((p) => p.live_bytes), points.map((p) => p.rss_bytes ?? null)), report.totals);
}

// Two timelines on one axis, both from their program's start.
export function together(now: Series, before: Series): Omit<Chart, "parts"> {
  const time = [...new Set([...now.time, ...before.time])].sort((a, b) => a - b);
  const rss = new Map(now.time.map((when, i) => [when, now.rss[i]!]));
  return {
    time, live: along(now.time, now.live, time), rss: time.map((when) => rss.get(when) ?? null), before: along(before.time, before.live, time),
  };
}

export function chartOf({ report, words, before }: Profile, mostParts: number): Chart {
  const now = seriesOf(report);
  const lines = before && before.report.timeline.length > 1 ? together(now, seriesOf(before.report)) : { ...now, before: null };
  const scopes = scopeLines(report.scopes ?? [], lines.time, mostParts);
  const parts = scopes.length > 0 ? scopes : placeLines(words.places, lines.time, mostParts);
  const end = now.time.at(-1) ?? 0; // the older program may have run for longer
  return { ...lines, parts: parts.map((part) => ({ ...part, live: part.live.map((live, i) => (lines.time[i]! > end ? null : live)) })) };
}
