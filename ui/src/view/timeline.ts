// Live bytes and resident memory over time, the peak and markers on it; a span can be chosen and is told of.
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { chartOf, type Chart } from "../model/chart";
import type { Profile } from "../model/profile";
import { bytesText, countText, secondsText } from "../model/text";
import { el, fill } from "./dom";
import { TimelineKeys } from "./timeline_keys";
import { drawMarks, marksAt } from "./timeline_marks";

const shortestTimeline = 0.01; // seconds: what ends sooner, looking more often does not catch
const partColours = ["#b5541c", "#2f7d4f", "#8b4fb0", "#a08a00", "#c0417e"];

export interface Span {
  begin: number;
  end: number;
}

export class Timeline {
  readonly element = el("section", { class: "card timeline" });
  private readonly plotBox = el("div", { class: "plot", tabindex: 0, role: "application",
    "aria-label": "live bytes over time: arrows move the pointer, with Shift they choose a span, Enter shows it, 0 shows all" });
  private readonly caption = el("p", { class: "caption", "aria-live": "polite" });
  private readonly legend = el("div", { class: "legend" });
  private plot: uPlot | null = null;
  private chart: Chart | null = null;
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
        profile.report.timeline.length > 1 ? el("span", { class: "hint" }, "drag to choose a span, double click for all") : null),
      this.plotBox, this.legend, this.caption);
    const keys = new TimelineKeys(() => this.plot);
    this.plotBox.addEventListener("keydown", (event) => keys.key(event));
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
    const { time, live, rss, before, parts } = (this.chart ??= chartOf(this.profile, partColours.length));
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
    if (before) {
      series.push({ label: "before", stroke: colour("--soft"), width: 1.5, dash: [6, 3], points: { show: false } });
      (data as unknown[]).push(before);
    }
    parts.forEach((part, i) => {
      series.push({ label: part.name, spanGaps: true, stroke: partColours[i]!, width: 1.5, points: { show: false } });
      (data as unknown[]).push(part.live);
    });
    this.drawLegend();
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
        draw: [(plot) => drawMarks(plot, this.profile, colour)],
        setScale: [(plot, key) => key === "x" && this.scaled(plot)],
        setCursor: [(plot) => this.tell(plot)],
      },
    };
    fill(this.plotBox);
    this.plot = new uPlot(options, data, this.plotBox);
    this.plot.over.addEventListener("dblclick", () => {
      this.span = null;
      this.chosen(null);
      this.tell();
    });
    this.tell();
  }

  private drawLegend(): void {
    const { before, parts } = this.chart!;
    const line = (name: string, colour: string, title: string): HTMLElement => {
      const swatch = el("i", { class: "swatch" });
      swatch.style.background = colour;
      return el("span", { title }, swatch, name);
    };
    fill(this.legend, before && line("before", "var(--soft)", "live bytes of the older profile"),
      ...parts.map(({ name, title }, i) => line(name, partColours[i]!, title)));
    this.legend.hidden = !before && parts.length === 0;
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
    this.tell();
  }

  // Of what the pointer is at, else of the span.
  private tell(plot?: uPlot): void {
    const i = plot?.cursor.idx;
    if (!plot || i == null || !this.chart) {
      this.caption.textContent = this.span ? this.tellSpan(this.span) : this.tellAll();
      return;
    }
    const { time, live, rss, before, parts } = this.chart;
    const known = (line: (number | null)[] | null, words: (bytes: string) => string): string => (line?.[i] == null ? "" : words(bytesText(line[i]!)));
    this.caption.textContent = `${secondsText(time[i]!)}: ` + [known(live, (bytes) => `${bytes} live`), known(rss, (bytes) => `${bytes} resident`),
      known(before, (bytes) => `${bytes} before`)].filter(Boolean).join(", ") +
      parts.map((part) => known(part.live, (bytes) => ` · ${part.name} about ${bytes}`)).join("") +
      marksAt(plot, this.profile.report).map((name) => ` · ${name}`).join("");
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
