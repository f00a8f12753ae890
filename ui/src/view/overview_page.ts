// The first screen: where the memory went, in one look.
import type { Context, Page } from "../app/context";
import { isBytes, knownTotal, liveTitle, measureTitle, type Measure } from "../model/measure";
import { functionName, lineText, moduleName, shortName } from "../model/profile";
import { bytesText, changeText, countText, counted, exactText, growthText, percentText, secondsText, valueText } from "../model/text";
import { fitted } from "../model/names";
import { bar, el, fill, type Attributes } from "./dom";
import { FlamePage } from "./flame_page";
import { swatch } from "./functions_page";
import { MemoryBars } from "./memory_page";
import { problems } from "./small_pages";
import { Timeline } from "./timeline";

const placesShown = 10;
const longestName = 40;

export class OverviewPage implements Page {
  readonly element = el("section", { class: "page overview" });
  private readonly tiles = el("div", { class: "tiles" });
  private readonly warning = el("div", { class: "warnings" });
  private readonly places = el("section", { class: "card places" });
  private readonly flame: FlamePage;
  private readonly timeline: Timeline;
  private theme = "";

  constructor(private readonly context: Context) {
    this.flame = new FlamePage(context, true);
    this.timeline = new Timeline(context.profile, context.state.span, (span) => context.note({ span }));
    const open = el("button", { on: { click: () => context.change({ view: "flame" }) } }, "Open");
    const memory = new MemoryBars(context.profile);
    this.element.append(
      this.tiles, this.warning,
      el("div", { class: "row" }, this.timeline.element,
        el("section", { class: "card rss" }, el("header", {}, el("h2", {}, "Resident memory (RSS)")), memory.element)),
      el("div", { class: "row tall" }, this.places,
        el("section", { class: "card graph" }, el("header", {}, el("h2", {}, context.profile.before ? "What grew and what shrank" : "Who called it"), open), this.flame.element)));
  }

  update(): void {
    this.drawTiles();
    this.drawWarnings();
    this.drawPlaces();
    this.flame.update();
    const theme = document.documentElement.dataset.theme ?? "";
    if (theme !== this.theme) {
      this.theme = theme;
      this.timeline.draw();
    }
  }

  private drawTiles(): void {
    const { profile, state } = this.context;
    const { totals, process } = profile.report;
    const old = profile.before?.report.totals;
    const rate = process.duration >= 0.1 ? `, ${countText(Math.floor(totals.allocations / process.duration))} a second` : "";
    const tile = (by: Measure, title: string, details: string): HTMLElement => {
      const now = knownTotal(totals, by);
      const was = old && knownTotal(old, by);
      const more = was === undefined ? details : `was ${valueText(was, isBytes(by))}, ${growthText(was, now)}`;
      return el("button", {
        class: "tile", "aria-pressed": String(state.by === by), "data-measure": by, title: exactText(now, isBytes(by)),
        on: { click: () => this.context.change({ by, window: null }) },
      }, el("small", {}, title), el("b", {}, valueText(now, isBytes(by))), el("span", {}, more));
    };
    const error = totals.peak_bytes_error > 0 ? `, true to within ${bytesText(totals.peak_bytes_error)}` : "";
    const stacks = totals.peak_bytes_seen === undefined ? "" : `at least; by stack ${bytesText(totals.peak_bytes)}, `;
    fill(this.tiles,
      tile("peak", "Peak", stacks + (totals.peak_time === undefined ? "most that was live at once" : `after ${secondsText(totals.peak_time)}`) + error),
      tile("live", liveTitle(profile), `in ${counted(totals.live_blocks, "block")}`),
      tile("allocated", "Allocated", `freed ${bytesText(totals.freed_bytes)}`),
      tile("count", "Allocations", `${countText(totals.reallocations)} resized${rate}`),
      tile("temporary", "Temporary", `${percentText(totals.temporaries, totals.allocations)} freed at once`));
  }

  private drawWarnings(): void {
    const { profile } = this.context;
    const { words, report, exact } = profile;
    const texts: string[] = [...words.error_kinds];
    if (words.nameless !== "") texts.push(words.nameless);
    if (words.dead_ends !== "") texts.push(words.dead_ends);
    const loss = words.losses[0];
    if (loss !== undefined) texts.push(report.totals.allocations === 0 ? loss : `Not everything could be booked: ${loss}`);
    if (!exact) texts.push("Some numbers of this profile are above 2^53; here they are rounded.");
    const shown = texts.slice(0, 2);
    const all = problems(this.context);
    const open = (): void => this.context.change({ view: "problems" });
    fill(this.warning,
      ...words.notes.map((text) => el("p", { class: "warning note" }, text)),
      ...words.resident.map((text) => el("p", { class: "warning note" }, text, el("button", { on: { click: () => this.context.change({ view: "memory" }) } }, "Resident memory"))),
      ...shown.map((text) => el("p", { class: "warning" }, text, el("button", { on: { click: open } }, all > shown.length ? `All ${all}` : "More"))));
  }

  private opens(fn: number): Attributes["on"] {
    const open = (): void => this.context.change({ view: "functions", fn });
    return {
      click: open,
      keydown: (event) => {
        if (event.key !== "Enter" && event.key !== " ") return;
        event.preventDefault();
        open();
      },
    };
  }

  private drawPlaces(): void {
    const { model, profile, state } = this.context;
    const bytes = isBytes(state.by);
    if (profile.before) return this.drawChanges();
    const site = model.sums().site;
    const whole = model.whole();
    const ranked = Array.from(site.keys()).filter((fn) => site[fn]! > 0).sort((a, b) => site[b]! - site[a]! || a - b);
    const top = ranked.slice(0, placesShown);
    const rest = ranked.slice(placesShown).reduce((sum, fn) => sum + site[fn]!, 0);
    const rows = top.map((fn) => {
      const value = site[fn]!;
      const where = this.whereOf(fn);
      return el("li", { title: `${functionName(profile, fn)}\n${exactText(value, bytes)}`, tabindex: 0, role: "button", on: this.opens(fn) },
        el("b", { class: "percent" }, percentText(value, whole)),
        el("div", {}, el("span", { class: "name" }, swatch(this.context, fn), fitted(shortName(profile, fn), longestName)), el("small", {}, where),
          bar(value / (whole || 1), this.context.colours().fill(fn))),
        el("span", { class: "right" }, valueText(value, bytes)));
    });
    fill(this.places,
      el("header", {}, el("h2", {}, `${measureTitle(state.by, profile)}: where ${bytes ? bytesText(whole) : countText(whole)} ${bytes ? "went" : "come from"}`)),
      el("ol", {}, ...rows,
        rest > 0 ? el("li", { class: "soft" }, el("b", { class: "percent" }, percentText(rest, whole)),
          el("div", {}, `${counted(ranked.length - placesShown, "more function")}`), el("span", { class: "right" }, valueText(rest, bytes))) : null,
        top.length === 0 ? el("li", { class: "soft" }, el("b"), el("div", {}, whole > 0 ? "It was recorded without stacks." : "Nothing by this measure.")) : null));
  }

  private drawChanges(): void {
    const { model, profile, state } = this.context;
    const bytes = isBytes(state.by);
    const after = model.sums().site;
    const growth = model.growthSums().site;
    const ranked = Array.from(growth.keys()).filter((fn) => growth[fn] !== 0).sort((a, b) => Math.abs(growth[b]!) - Math.abs(growth[a]!) || a - b);
    const largest = Math.abs(growth[ranked[0] ?? 0] ?? 1) || 1;
    const colours = this.context.colours();
    const rows = ranked.slice(0, placesShown).map((fn) => {
      const change = growth[fn]!;
      return el("li", { title: `${functionName(profile, fn)}\n${exactText(change, bytes)}`, tabindex: 0, role: "button", on: this.opens(fn) },
        el("b", { class: `percent ${change > 0 ? "grew" : "shrank"}` }, changeText(change, bytes)),
        el("div", {}, el("span", { class: "name" }, fitted(shortName(profile, fn), longestName)), el("small", {}, this.whereOf(fn)),
          bar(Math.abs(change) / largest, colours.change(change, Math.max(1, Math.abs(change))))),
        el("span", { class: "right soft" }, growthText(after[fn]! - change, after[fn]!)));
    });
    const whole = model.growth().total[0]!;
    fill(this.places, el("header", {}, el("h2", {}, `${measureTitle(state.by, profile)}: what changed, ${changeText(whole, bytes)} in all`)),
      el("ol", { class: "changes" }, ...rows,
        ranked.length > placesShown ? el("li", { class: "soft" }, el("b"), el("div", {}, `${counted(ranked.length - placesShown, "more function")}`)) : null,
        ranked.length === 0 ? el("li", { class: "soft" }, el("b"), el("div", {}, "Nothing by this measure.")) : null));
  }

  private whereOf(fn: number): string {
    const { profile, model } = this.context;
    const { lines } = profile;
    const most = lineText(profile, model.siteLines()[fn]!);
    if (most !== "") return `${most.split("/").slice(-2).join("/")} · ${moduleName(profile, fn)}`;
    for (let line = 0; line < lines.count; ++line) {
      if (lines.function[line] === fn) {
        const text = lineText(profile, line);
        if (text !== "") return `${text.split("/").slice(-2).join("/")} · ${moduleName(profile, fn)}`;
      }
    }
    return moduleName(profile, fn);
  }
}
