// Every stack, and the chosen one in full.
import type { Context, Page } from "../app/context";
import { isBytes, liveTitle, stackValues, type Measure } from "../model/measure";
import { lineText, moduleName, shortName, type Counters, type Stacks } from "../model/profile";
import { bytesText, changeText, countText, counted, exactText, lifeText, percentText } from "../model/text";
import { fitted } from "../model/names";
import { copyText, el, fill } from "./dom";
import { spanOf } from "./flame_layout";
import { frames, stackList, stackText } from "./stack_list";
import { changeClass, swatch } from "./functions_page";
import { meanLife } from "./mean_life";
import { Table, type Column } from "./table";

const order = ["peak", "live", "allocated", "count", "temporary"];

function stackLife(stacks: Stacks, i: number): number {
  const ended = stacks.lives?.ended[i] ?? 0;
  return ended > 0 ? stacks.lives!.lived[i]! / ended : -1;
}

export class StacksPage implements Page {
  readonly element = el("section", { class: "page split" });
  private readonly caption = el("p", { class: "caption" });
  private readonly detail = el("aside", { class: "detail" });
  private readonly table: Table;
  private shown = "";
  private first = 0; // columns before those of the measures

  constructor(private readonly context: Context) {
    const { profile, state } = context;
    const { stacks } = profile;
    const number = (title: string, values: Float64Array, bytes: boolean, hint: string): Column => ({
      title,
      hint,
      width: "84px",
      right: true,
      wideOnly: true,
      cell: (i) => el("span", { title: exactText(values[i]!, bytes) }, bytes ? bytesText(values[i]!) : countText(values[i]!)),
      order: (a, b) => values[b]! - values[a]!,
      value: (i) => values[i]!,
    });
    const lived = (i: number): number => stackLife(stacks, i);
    const before = profile.before?.stacks;
    const grown = (i: number): number => stackValues(stacks, context.state.by)[i]! - stackValues(before!, context.state.by)[i]!;
    const change: Column = {
      title: "Δ",
      hint: "how much more than before",
      width: "96px",
      right: true,
      cell: (i) => el("span", { class: changeClass(grown(i)) }, changeText(grown(i), isBytes(context.state.by))),
      order: (a, b) => Math.abs(grown(b)) - Math.abs(grown(a)) || grown(b) - grown(a),
    };
    this.first = before ? 1 : 0;
    const columns: Column[] = [
      ...(before ? [change] : []),
      number("At peak", stacks.peak, true, "bytes that were live at the process's peak"),
      number("Live", stacks.live, true, liveTitle(profile).toLowerCase()),
      number("Allocated", stacks.allocated, true, "all bytes over the run"),
      number("Count", stacks.allocations, false, "allocations over the run"),
      number("Temporary", stacks.temporaries, false, "freed before their thread's next allocation"),
      ...(stacks.lives ? [meanLife(lived)] : []),
      {
        title: "Allocates in",
        width: "minmax(160px, 1.2fr)",
        cell: (i) => this.placeCell(i),
      },
      { title: "Called by", width: "minmax(120px, 2fr)", wideOnly: true, cell: (i) => el("span", { class: "soft name" }, this.callers(i)) },
    ];
    const [view, column, up] = state.sort.split(":");
    const given = view === "stacks" && columns[Number(column)]?.order !== undefined;
    this.table = new Table(columns, {
      sorted: (at, upward) => context.note({ sort: `stacks:${at}:${upward ? 1 : 0}` }),
      chosen: (i) => {
        context.note({ stack: stacks.id[i]! });
        this.drawDetail(i);
      },
    }, given ? Number(column) : this.columnOf(state.by), given && up === "1");
    const only = el("span", { class: "hint" }, "a search shows only the stacks that it finds");
    this.element.append(el("div", { class: "column" }, el("div", { class: "controls" }, this.caption, only), this.table.element), this.detail);
  }

  update(): void {
    const { model, profile, state } = this.context;
    const found = model.found();
    const { stacks, places } = profile;
    let rows = model.chosenStacks();
    if (found) rows = rows.filter((i) => found.nodes[places.node[stacks.place[i]!]!] !== 0);
    if (this.shown !== state.by) {
      if (this.shown !== "") this.table.setSort(this.columnOf(state.by), false);
      this.shown = state.by;
    }
    this.caption.textContent = counted(rows.length, "stack") + (rows.length < stacks.count ? ` of ${countText(stacks.count)}` : "");
    this.table.show(rows);
    const chosen = model.stackById(state.stack);
    const shown = chosen >= 0 ? chosen : this.table.first();
    this.table.select(shown);
    this.drawDetail(shown);
  }

  key(event: KeyboardEvent): boolean {
    if (event.key !== "c") return false;
    const chosen = this.context.model.stackById(this.context.state.stack);
    void this.copy(chosen >= 0 ? chosen : this.table.first());
    return true;
  }

  private columnOf(by: Measure): number {
    return this.first > 0 ? 0 : order.indexOf(by);
  }

  private placeCell(i: number): HTMLElement {
    const { profile, model } = this.context;
    const line = profile.places.line[model.siteOf(i)]!;
    if (line < 0) return el("span", { class: "soft" }, "no stack");
    const fn = profile.lines.function[line]!;
    const where = lineText(profile, line) || moduleName(profile, fn);
    return el("span", { class: "name", title: `${shortName(profile, fn)}\n${where}` }, swatch(this.context, fn), fitted(shortName(profile, fn), 32),
      el("small", {}, " " + where.slice(where.lastIndexOf("/") + 1)));
  }

  private callers(i: number): string {
    const { profile, model } = this.context;
    const names: string[] = [];
    let last = "";
    for (let at = profile.places.parent[model.siteOf(i)]!; at !== 0 && names.length < 6; at = profile.places.parent[at]!) {
      const name = fitted(shortName(profile, profile.lines.function[profile.places.line[at]!]!), 26);
      if (name !== last) names.push(name);
      last = name;
    }
    return names.join(" ← ");
  }

  private async copy(i: number): Promise<void> {
    if (i < 0) return;
    const copied = await copyText(stackText(this.context.profile, this.context.profile.stacks.place[i]!));
    this.context.say(copied ? "the stack was copied" : "this browser did not let the page copy");
  }

  private drawDetail(i: number): void {
    if (i < 0) return fill(this.detail, el("p", { class: "empty" }, "No stack."));
    const { profile } = this.context;
    const { stacks } = profile;
    const place = stacks.place[i]!;
    const before = profile.before?.stacks;
    const fact = (title: string, of: (stacks: Counters) => Float64Array, bytes: boolean, whole: number): HTMLElement => {
      const value = of(stacks)[i]!;
      const text = (amount: number): string => (bytes ? bytesText(amount) : countText(amount));
      return el("div", { class: "fact", title: exactText(value, bytes) }, el("small", {}, title), el("b", {}, text(value)),
        el("span", {}, before ? `was ${text(of(before)[i]!)}` : `${percentText(value, whole)} of all`));
    };
    const totals = profile.report.totals;
    fill(this.detail,
      el("h2", {}, `Stack ${stacks.id[i]!}`),
      el("p", { class: "soft" }, counted(frames(profile, place).length, "frame")),
      el("div", { class: "facts" },
        fact("at the peak", (of) => of.peak, true, totals.peak_bytes),
        fact(liveTitle(profile).toLowerCase(), (of) => of.live, true, totals.live_bytes),
        fact("allocated", (of) => of.allocated, true, totals.allocated_bytes),
        fact("allocations", (of) => of.allocations, false, totals.allocations),
        fact("live blocks", (of) => of.liveBlocks, false, totals.live_blocks),
        fact("temporary", (of) => of.temporaries, false, totals.temporaries),
        fact("reallocated", (of) => of.reallocations, false, totals.reallocations),
        stacks.lives && stackLife(stacks, i) >= 0 && el("div", { class: "fact" }, el("small", {}, "lived"), el("b", {}, lifeText(stackLife(stacks, i))),
          el("span", {}, `mean of ${countText(stacks.lives.ended[i]!)}`))),
      el("div", { class: "controls" },
        el("button", { title: "c", on: { click: () => void this.copy(i) } }, "Copy stack"),
        el("button", { on: { click: () => this.showInGraph(i) } }, "Show in the flame graph")),
      stackList(this.context, place));
  }

  private showInGraph(i: number): void {
    const { profile, model, state } = this.context;
    const node = profile.places.node[profile.stacks.place[i]!]!;
    const tree = model.callTree();
    const whole = tree.value(tree.root);
    if (tree.value(node) <= 0) return this.context.say(`this stack has nothing by this measure (${state.by})`);
    const span = spanOf(tree, node);
    const window = { begin: span.begin / whole, end: span.end / whole };
    this.context.change({ view: "flame", direction: "down", window, ...(model.showsScopes() ? {} : { scopes: "shown" as const }) });
  }
}
