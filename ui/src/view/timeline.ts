// Live bytes and resident memory over time, the peak and markers on it; a span can be chosen and is told of.
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import type { Profile } from "../model/profile";
import { bytesText, countText, secondsText } from "../model/text";
import { scopeLines, type ScopeLine } from "../model/scope_lines";
import { el, fill } from "./dom";
import { drawMarks, marksAt } from "./timeline_marks";

const mostPoints = 8000;
const shortestTimeline = 0.01; // seconds: what ends sooner, looking more often does not catch
const scopeColours = ["#b5541c", "#2f7d4f", "#8b4fb0", "#a08a00", "#c0417e"];

export interface Span {
  begin: number;
  end: number;
}

interface Series {
  time: number[];
  live: number[];
  rss: (number | null)[];
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

export class Timeline {
  readonly element = el("section", { class: "card timeline" });
  private readonly plotBox = el("div", { class: "plot" });
  private readonly caption = el("p", { class: "caption" });
  private readonly legend = el("div", { class: "legend" });
  private plot: uPlot | null = null;
  private showRss: boolean;

  constructor(
    private readonly profile: Profile,
    private span: Span | null,
    private readonly chosen: (span: Span | null) => void,
  ) {
    this.showRss = false;
    const hasRss = profile.report.timeline.some((point) => point.rss_bytes);
    const toggle = el("label", { class: "check" }, el("input", { type: "checkbox" }), " resident memory (RSS)");
    const box = toggle.querySelector("input")!;
    box.addEventListener("change", () => {
      this.showRss = box.checked;
      this.draw();
    });
    this.element.append(
      el("header", {}, el("h2", {}, "Live bytes over time"), hasRss ? toggle : null,
        el("span", { class: "hint" }, "drag to choose a span, double click for all")),
      this.plotBox, this.legend, this.caption);
    new ResizeObserver(() => this.resize()).observe(this.plotBox);
  }

  draw(): void {
    const width = this.plotBox.clientWidth;
    if (width === 0) return;
    this.plot?.destroy();
    const points = this.profile.report.timeline;
    if (points.length < 2) {
      const none = this.profile.report.process.ended === "running" ? "Only the profile that is written at the end has a timeline." : "This profile has no timeline.";
      const advice = this.profile.report.process.duration < shortestTimeline ? "." : ": run --interval 1 looks more often.";
      fill(this.plotBox, el("p", { class: "empty" }, points.length === 0 ? none : `It ran too short for a timeline${advice}`));
      return;
    }
    const { time, live, rss } = withPeak(thin(points.map((p) => p.time), points.map((p) => p.live_bytes),
      points.map((p) => p.rss_bytes ?? null)), this.profile.report.totals);
    const style = getComputedStyle(document.documentElement);
    const colour = (name: string): string => style.getPropertyValue(name).trim();
    const axis = { stroke: colour("--soft"), grid: { stroke: colour("--line"), width: 1 }, ticks: { show: false } };
    const series: uPlot.Series[] = [{}, {
      label: "live", stroke: colour("--accent"), width: 1.5, fill: colour("--accent-faint"), points: { show: false },
    }];
    const data: uPlot.AlignedData = [time, live];
    if (this.showRss) {
      series.push({ label: "RSS", spanGaps: true, stroke: colour("--rss"), width: 1.5, points: { show: false } });
      (data as unknown[]).push(rss);
    }
    const scopes = scopeLines(this.profile.report.scopes ?? [], time, scopeColours.length);
    scopes.forEach((scope, i) => {
      series.push({ label: scope.name, spanGaps: true, stroke: scopeColours[i]!, width: 1.5, points: { show: false } });
      (data as unknown[]).push(scope.live);
    });
    this.drawLegend(scopes);
    const options: uPlot.Options = {
      width,
      height: this.plotBox.clientHeight,
      series,
      legend: { show: false },
      padding: [14, 12, 0, 0],
      cursor: { points: { size: 6 }, drag: { x: true, y: false } },
      scales: {
        x: { time: false, ...(this.span ? { min: this.span.begin, max: this.span.end } : {}) },
        y: { range: (_plot, _low, high) => [0, Math.max(high, 1) * 1.08] },
      },
      axes: [
        { ...axis, size: 26, splits: (plot, _axis, low, high) => timeSplits(low, high, plot.width / 90), values: (_plot, ticks) => ticks.map(axisSeconds) },
        { ...axis, size: 72, splits: (_plot, _axis, low, high) => byteSplits(low, high), values: (_plot, ticks) => ticks.map(axisBytes) },
      ],
      hooks: {
        draw: [(plot) => drawMarks(plot, this.profile.report, colour)],
        setScale: [(plot, key) => key === "x" && this.scaled(plot)],
        setCursor: [(plot) => this.tell(plot.cursor.idx ?? null, time, live, rss, scopes, marksAt(plot, this.profile.report))],
      },
    };
    fill(this.plotBox);
    this.plot = new uPlot(options, data, this.plotBox);
    this.plot.over.addEventListener("dblclick", () => {
      this.span = null;
      this.chosen(null);
      this.tell(null, time, live, rss);
    });
    this.tell(null, time, live, rss);
  }

  private drawLegend(scopes: ScopeLine[]): void {
    fill(this.legend, ...scopes.map((scope, i) => {
      const swatch = el("i", { class: "swatch" });
      swatch.style.background = scopeColours[i]!;
      return el("span", { title: `live bytes of all scopes ${scope.name}, with what is below them` }, swatch, scope.name);
    }));
    this.legend.hidden = scopes.length === 0;
  }

  private resize(): void {
    const width = this.plotBox.clientWidth;
    if (width === 0) return;
    if (this.plot) this.plot.setSize({ width, height: this.plotBox.clientHeight });
    else this.draw();
  }

  private scaled(plot: uPlot): void {
    const { min, max } = plot.scales.x!;
    const times = plot.data[0];
    const first = times[0];
    const last = times[times.length - 1];
    if (min == null || max == null || first === undefined || last === undefined) return;
    const all = min <= first && max >= last;
    const span = all ? null : { begin: min, end: max };
    if (span?.begin === this.span?.begin && span?.end === this.span?.end) return;
    this.span = span;
    this.chosen(span);
    this.tell(null, [], [], []);
  }

  private tell(index: number | null, time: number[], live: number[], rss: (number | null)[], scopes: ScopeLine[] = [], marks: string[] = []): void {
    if (index !== null && time[index] !== undefined) {
      const resident = rss[index];
      this.caption.textContent = `${secondsText(time[index]!)}: ${bytesText(live[index]!)} live` +
        (resident ? `, ${bytesText(resident)} resident` : "") +
        scopes.map((scope) => (scope.live[index] == null ? "" : ` · ${scope.name} about ${bytesText(scope.live[index]!)}`)).join("") +
        marks.map((name) => ` · ${name}`).join("");
      return;
    }
    this.caption.textContent = this.span ? this.tellSpan(this.span) : this.tellAll();
  }

  private tellAll(): string {
    const { duration } = this.profile.report.process;
    const points = this.profile.report.timeline.length;
    return `${secondsText(duration)} in ${countText(points)} points`;
  }

  private tellSpan(span: Span): string {
    const points = this.profile.report.timeline.filter((p) => p.time >= span.begin && p.time <= span.end);
    const first = points[0];
    const last = points[points.length - 1];
    if (!first || !last || first === last) return "No two points of the timeline are in this span.";
    const seconds = last.time - first.time;
    const grown = last.live_bytes - first.live_bytes;
    const count = last.allocations - first.allocations;
    const highest = points.reduce((most, p) => Math.max(most, p.live_bytes), 0);
    return `${secondsText(first.time)} to ${secondsText(last.time)}: live bytes ${grown < 0 ? "fell" : "grew"} by ` +
      `${bytesText(Math.abs(grown))} (${bytesText(Math.round(grown / seconds))} a second), highest ${bytesText(highest)}; ` +
      `${countText(count)} allocations (${countText(Math.round(count / seconds))} a second)`;
  }
}

const minute = 60;
const hour = 3600;
const timeSteps = [
  ...[-9, -8, -7, -6, -5, -4, -3, -2, -1].flatMap((power) => [1, 2, 5].map((step) => step * 10 ** power)),
  ...[1, 2, 5, 10, 15, 30],
  ...[1, 2, 5, 10, 15, 30].map((step) => step * minute),
  ...[1, 2, 3, 6, 12, 24, 48].map((step) => step * hour),
  ...Array.from({ length: 16 }, (_, i) => 96 * hour * 2 ** i),
];

export function timeSplits(low: number, high: number, most: number): number[] {
  const step = timeSteps.find((each) => high - low <= each * most) ?? high - low;
  const splits: number[] = [];
  for (let i = Math.ceil(low / step); i * step <= high; ++i) splits.push(i * step);
  return splits;
}

export function axisSeconds(time: number): string {
  if (time < 1 && time > 0) return `${+(time * 1e3).toFixed(6)} ms`;
  const seconds = +time.toFixed(9);
  const parts = [[Math.floor(seconds / hour), "h"], [Math.floor(seconds / minute) % 60, "min"], [+(seconds % minute).toFixed(9), "s"]];
  return parts.filter(([value]) => value !== 0).map(([value, unit]) => `${value} ${unit}`).join(" ") || "0 s";
}

function axisBytes(bytes: number): string {
  return bytesText(bytes).replace(/\.0 /, " ");
}

function byteSplits(low: number, high: number): number[] {
  let step = 1;
  while ((high - low) / step > 5) step *= 2;
  const splits: number[] = [];
  for (let at = Math.ceil(low / step) * step; at <= high; at += step) splits.push(at);
  return splits;
}
