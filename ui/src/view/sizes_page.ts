// What sizes were asked for, and how long blocks live.
import type { Context, Page } from "../app/context";
import type { SizeBucket } from "../data/report";
import { ageRows, fates, lifeRows, meanLife } from "../model/lifetimes";
import { liveTitle } from "../model/measure";
import { bytesText, countText, counted, exactText, lifeText, percentText, secondsText } from "../model/text";
import { bar, el, fill, type Child } from "./dom";

// One row for each power of two.
export function sizeRows(buckets: SizeBucket[]): SizeBucket[] {
  const rows = new Map<number, SizeBucket>();
  for (const bucket of buckets) {
    const power = bucket.from < 1 ? -1 : Math.floor(Math.log2(bucket.from));
    const row = rows.get(power);
    if (row) row.allocations += bucket.allocations;
    else rows.set(power, { from: power < 0 ? 0 : 2 ** power, to: power < 0 ? 0 : 2 ** (power + 1) - 1, allocations: bucket.allocations });
  }
  const sorted = [...rows].sort((a, b) => a[0] - b[0]).map(([, row]) => row);
  while (sorted.length > 0 && sorted[0]!.allocations === 0) sorted.shift();
  while (sorted.length > 0 && sorted[sorted.length - 1]!.allocations === 0) sorted.pop();
  return sorted;
}

function rangeText(row: SizeBucket): string {
  if (row.from === row.to) return `${row.from} B`;
  const round = (bytes: number): string => bytesText(bytes).replace(".0 ", " ");
  return row.to < 1024 ? `${row.from} to ${row.to} B` : `${round(row.from)} to ${round(row.to + 1)}`;
}

interface Row {
  name: string;
  count: number;
  note?: string;
}

function histogram(rows: Row[]): HTMLElement {
  const all = rows.reduce((sum, row) => sum + row.count, 0);
  const highest = rows.reduce((most, row) => Math.max(most, row.count), 1);
  return el("div", { class: "histogram" }, ...rows.flatMap((row) => [
    el("span", { class: "right", title: row.note }, row.name),
    bar(row.count / highest, "var(--accent)"),
    el("span", { class: "right", title: exactText(row.count, false) }, countText(row.count)),
    el("span", { class: "right soft" }, percentText(row.count, all)),
  ]));
}

export class SizesPage implements Page {
  readonly element = el("section", { class: "page scroll" });

  constructor(private readonly context: Context) {
    const { sizes, totals } = context.profile.report;
    const mean = totals.allocations > 0 ? totals.allocated_bytes / totals.allocations : 0;
    fill(this.element, el("h2", {}, "Sizes asked for"),
      el("p", { class: "soft" }, `${counted(totals.allocations, "allocation")}, ${bytesText(Math.round(mean))} on average`),
      histogram(sizeRows(sizes).map((row) => ({ name: rangeText(row), count: row.allocations }))),
      ...this.lifetimes());
  }

  update(): void {}

  private timed(): Child[] {
    const { lifetimes, totals } = this.context.profile.report;
    const kept = totals.mean_age === undefined ? "" : `; what was not freed was ${lifeText(totals.mean_age)} old at the end, on average`;
    return [
      el("h2", {}, "How long blocks lived"),
      el("p", { class: "soft" }, totals.mean_lifetime === undefined ? "Every block was timed; none was freed."
        : `Every block was timed, from its allocation to its free: ${lifeText(totals.mean_lifetime)} on average${kept}.`),
      histogram(lifeRows(lifetimes!).map((row) => ({ name: row.name, count: row.frees, note: `${exactText(row.bytes, true)} in these` }))),
    ];
  }

  private lifetimes(): Child[] {
    const { report, leaks } = this.context.profile;
    const { atOnce, later, kept } = fates(report.totals);
    const mean = meanLife(report.timeline, report.totals);
    const watched = ageRows(leaks?.leaks ?? []);
    const known = report.lifetimes !== undefined;
    const estimate = mean === null ? "Blocks were counted, not timed: what is known is in which of these three ways each ended."
      : `About ${secondsText(mean)} on average, by the timeline: as many blocks as lived at a time, over those that were made.`;
    return [
      ...(known ? this.timed() : []),
      el("h2", {}, known ? "How blocks ended" : "How long blocks lived"),
      !known && el("p", { class: "soft" }, estimate + " To have every block timed, run the program with ", el("code", {}, "heapledger run --lifetimes"), "."),
      histogram([
        { name: "freed at once", count: atOnce, note: "before the next allocation of the thread: temporary" },
        { name: "freed later", count: later },
        { name: liveTitle(this.context.profile).toLowerCase(), count: kept },
      ]),
      watched.length > 0 && el("h2", {}, "How old watched blocks are"),
      watched.length > 0 && el("p", { class: "soft" }, "Blocks of the stacks under Leaks, by the age of the oldest that the leak watch has watched."),
      watched.length > 0 && histogram(watched.map((row) => ({ name: row.name, count: row.blocks, note: counted(row.stacks, "stack") }))),
    ];
  }
}
