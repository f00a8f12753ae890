// What resident memory consists of.
import type { Context, Page } from "../app/context";
import type { MemoryMap, Report } from "../data/report";
import type { Profile } from "../model/profile";
import { bytesText, counted, countText, exactText, percentText, secondsText } from "../model/text";
import { add, el, type Child } from "./dom";
import { stackCard } from "./json_stacks";

const mostMappings = 20;

interface Part {
  key: keyof MemoryMap;
  name: string;
  meaning: string;
  colour: string;
}

const parts: Part[] = [
  { key: "live_bytes", name: "live blocks", meaning: "as the program asked for them", colour: "var(--accent)" },
  { key: "allocator_bytes", name: "allocator", meaning: "free lists, rounding", colour: "#c98b2b" },
  { key: "mapped_bytes", name: "mapped", meaning: "by the program itself (mmap)", colour: "#a3a23c" },
  { key: "file_bytes", name: "files", meaning: "the program and its libraries", colour: "#4f9e87" },
  { key: "stack_bytes", name: "stacks", meaning: "of threads", colour: "#b06fa8" },
  { key: "other_bytes", name: "other", meaning: "shared memory", colour: "#8a94a3" },
  { key: "tag_bytes", name: "tags", meaning: "what heapledger adds to blocks", colour: "#6b7280" },
  { key: "profiler_bytes", name: "heapledger", meaning: "its tables in the process", colour: "#9ca3af" },
];

// Mappings that found no room in the table are in nobody's row.
function meaningOf(part: Part, profile: Profile): string {
  if (part.key !== "allocator_bytes") return part.meaning;
  const meaning = "mappings_full" in profile.report.profiler.losses ? "free lists, and mappings not booked" : part.meaning;
  return memoryMaps(profile).some(([, map]) => map.allocator_bytes < 0) ? `${meaning}, less blocks that are not resident` : meaning;
}

function mapsOf({ memory, memory_peak, process }: Report, peakWords: string): [string, MemoryMap][] {
  const maps: [string, MemoryMap][] = [];
  if (memory_peak) maps.push([`${peakWords}, at ${secondsText(memory_peak.time)}`, memory_peak]);
  if (memory && memory.time !== memory_peak?.time) {
    maps.push([process.ended === "running" ? "now" : `last seen, at ${secondsText(memory.time)}`, memory]);
  }
  return maps;
}

// Of the older profile, where two are compared, the one to compare with the first.
export function memoryMaps({ report, before }: Profile): [string, MemoryMap][] {
  const older = before ? mapsOf(before.report, "near its peak").slice(0, 1) : [];
  return [...mapsOf(report, "near the peak"), ...older.map(([when, map]): [string, MemoryMap] => [`before, ${when}`, map])];
}

// What the bar shows. Live blocks that were never written to are not resident: where they are more than what the
// allocator holds beside them, its row is below zero, and as much of the live blocks is not in the bar.
export function shownBytes(map: MemoryMap, key: keyof MemoryMap): number {
  return Math.max(0, key === "live_bytes" ? map.live_bytes + Math.min(0, map.allocator_bytes) : map[key]);
}

export class MemoryBars {
  readonly element = el("div", { class: "memory-bars" });

  constructor(profile: Profile) {
    const maps = memoryMaps(profile);
    if (maps.length === 0) this.element.append(el("p", { class: "empty" }, "Not recorded."));
    const widest = Math.max(1, ...maps.map(([, map]) => parts.reduce((sum, part) => sum + shownBytes(map, part.key), 0)));
    const used = parts.filter((part) => maps.some(([, map]) => map[part.key] !== 0));
    maps.forEach(([title, map], at) => {
      const stack = el("div", { class: "stacked" });
      for (const part of used) {
        const bytes = shownBytes(map, part.key);
        if (bytes === 0) continue;
        const less = bytes < map[part.key] ? `, ${bytesText(bytes)} of it resident` : "";
        const piece = el("i", { title: `${part.name}: ${bytesText(map[part.key])}${less}` });
        piece.style.width = `${(100 * bytes) / widest}%`;
        piece.style.background = part.colour;
        stack.append(piece);
      }
      this.element.append(el("p", {}, el("b", {}, bytesText(map.rss_bytes)), ` ${title}`), stack);
      if (at === 0) this.element.append(el("ul", { class: "keys" }, ...used.map((part) => this.key(part, map, profile))));
    });
  }

  // With the numbers of the first bar.
  private key(part: Part, map: MemoryMap, profile: Profile): HTMLElement {
    const notResident = part.key === "allocator_bytes" && memoryMaps(profile).every(([, each]) => each.allocator_bytes <= 0);
    const swatch = el("i", { class: "swatch" });
    swatch.style.background = notResident ? "none" : part.colour;
    return el("li", { title: meaningOf(part, profile) }, swatch, notResident ? "not resident" : part.name, el("b", {}, bytesText(map[part.key])));
  }
}

function mappings(profile: Profile): Child[] {
  const { mapped } = profile.report;
  if (!mapped) return [];
  type Row = typeof mapped.stacks[number];
  const anyResident = mapped.seen !== undefined && mapped.stacks.some((row) => row.most_resident_bytes);
  const most = (row: Row): number => (anyResident ? row.most_resident_bytes ?? 0 : row.live_bytes);
  const sum = (of: (row: Row) => number): number => mapped.stacks.reduce((all, row) => all + of(row), 0);
  const rows = [...mapped.stacks].sort((a, b) => most(b) - most(a));
  const seen = mapped.seen === undefined ? "" : `${bytesText(sum((row) => row.resident_bytes ?? 0))} were resident at ${secondsText(mapped.seen)}. `;
  return [
    el("h2", {}, "What the program mapped itself (mmap)"),
    el("p", { class: "soft" }, `${seen}At most ${bytesText(mapped.peak_bytes)} of addresses were mapped at a time. What malloc maps for its blocks is not in it.`),
    ...rows.slice(0, mostMappings).map((row) => stackCard(`${percentText(most(row), sum(most))}  ${mapped.seen === undefined ? ""
      : `${bytesText(row.most_resident_bytes ?? 0)} resident at most, `}${bytesText(row.live_bytes)} mapped in ${counted(row.ranges, "range")}, ${counted(row.calls, "call")}${
      row.kind === "anonymous" ? "" : ` (${row.kind})`}`, row.frames)),
    rows.length > mostMappings ? el("p", { class: "soft" }, `${countText(rows.length - mostMappings)} more stacks: heapledger report --json`) : null,
  ];
}

export class MemoryPage implements Page {
  readonly element = el("section", { class: "page scroll memory" });

  constructor(context: Context) {
    const { profile } = context;
    const maps = memoryMaps(profile);
    this.element.append(el("h2", {}, "Why the process is larger than what it has allocated"),
      el("p", { class: "soft" }, "The rows add up to resident memory (RSS)."), new MemoryBars(profile).element);
    const row = (name: string, meaning: string, of: (map: MemoryMap) => number, strong = false): HTMLElement =>
      el("tr", { class: strong ? "strong" : "" }, el("th", {}, name),
        ...maps.map(([, map]) => el("td", { class: "right", title: exactText(of(map), true) }, bytesText(of(map)))),
        ...maps.slice(0, 1).map(([, map]) => el("td", { class: "right" }, percentText(of(map), map.rss_bytes))),
        el("td", { class: "soft meaning" }, meaning));
    const unexplained = (map: MemoryMap): number => map.rss_bytes - parts.reduce((sum, part) => sum + map[part.key], 0);
    if (maps.length === 0) {
      add(this.element, ...mappings(profile));
      return;
    }
    this.element.append(el("table", { class: "plain" },
      el("thead", {}, el("tr", {}, el("th"), ...maps.map(([title]) => el("th", { class: "right" }, title)), el("th"), el("th"))),
      el("tbody", {}, ...parts.map((part) => row(part.name, meaningOf(part, profile), (map) => map[part.key])),
        maps.some(([, map]) => unexplained(map) !== 0) ? row("not explained", "", unexplained) : null,
        row("RSS", "", (map) => map.rss_bytes, true))));
    if (maps.some(([, map]) => map.allocator_bytes < 0)) {
      this.element.append(el("p", { class: "soft" }, "The allocator's row is below zero where live blocks were never written to, or are swapped out: they are counted whole, and are not resident."));
    }
    add(this.element, ...mappings(profile));
  }

  update(): void {}
}
