// Every function with what it allocates itself and with all that it calls; and who calls the one that is chosen.
import type { Context, Page } from "../app/context";
import { isBytes } from "../model/measure";
import { functionName, lineText, moduleName, shortName } from "../model/profile";
import { changeText, countText, counted, exactText, percentText, valueText } from "../model/text";
import type { MergedTree } from "../model/merged_tree";
import { fitted } from "../model/names";
import { bar, copyText, el, fill } from "./dom";
import { meanLife } from "./mean_life";
import { Table, type Column } from "./table";

const mostRelatives = 200;
const longestName = 46;

export class FunctionsPage implements Page {
  readonly element = el("section", { class: "page split" });
  private readonly caption = el("p", { class: "caption" });
  private readonly detail = el("aside", { class: "detail" });
  private readonly table: Table;

  constructor(private readonly context: Context) {
    const { model, profile, state } = context;
    const name = (fn: number): string => functionName(profile, fn);
    const value = (of: (fn: number) => number) => (fn: number) => el("span", { title: exactText(of(fn), isBytes(context.state.by)) },
      valueText(of(fn), isBytes(context.state.by)));
    const share = (of: (fn: number) => number) => (fn: number) => {
      const part = of(fn) / (model.whole() || 1);
      return el("span", { class: "share" }, bar(part, context.colours().fill(fn)), percentText(of(fn), model.whole()));
    };
    const self = (fn: number): number => model.allocates()[fn]!;
    const total = (fn: number): number => model.sums().total[fn]!;
    const count = (fn: number): number => model.sums("count").total[fn]!;
    const grown = (fn: number): number => model.growthSums().total[fn]!;
    const grownSelf = (fn: number): number => (context.state.skip ? model.growthSums().site : model.growthSums().self)[fn]!;
    const change = (of: (fn: number) => number) => (fn: number) => el("span", { class: changeClass(of(fn)), title: exactText(of(fn), isBytes(context.state.by)) },
      changeText(of(fn), isBytes(context.state.by)));
    const bySize = (of: (fn: number) => number) => (a: number, b: number) => Math.abs(of(b)) - Math.abs(of(a)) || of(b) - of(a);
    const changes: Column[] = [
      { title: "Δ self", hint: "how much more than before, by this function itself", width: "96px", right: true, wideOnly: true, cell: change(grownSelf), order: bySize(grownSelf) },
      { title: "Δ total", hint: "with all that it calls", width: "96px", right: true, cell: change(grown), order: bySize(grown) },
    ];
    const columns: Column[] = [
      ...(profile.before ? changes : []),
      { title: "Self", hint: "allocated by this function itself", width: "88px", right: true, wideOnly: true, cell: value(self), order: (a, b) => self(b) - self(a), value: self },
      ...(profile.before ? [] : [{ title: "", width: "118px", wideOnly: true, cell: share(self) }]),
      { title: "Total", hint: "with all that it calls", width: "88px", right: true, wideOnly: profile.before !== undefined, cell: value(total), order: (a, b) => total(b) - total(a), value: total },
      ...(profile.before ? [] : [{ title: "", width: "118px", wideOnly: true, cell: share(total) }]),
      { title: "Allocations", hint: "with all that it calls", width: "104px", right: true, wideOnly: true, cell: (fn) => countText(count(fn)), order: (a, b) => count(b) - count(a), value: count },
      ...(profile.stacks.lives ? [meanLife((fn) => model.meanLives()![fn]!)] : []),
      { title: "Function", width: "minmax(220px, 1fr)", cell: (fn) => el("span", { class: "name", title: name(fn) }, swatch(context, fn), fitted(shortName(profile, fn), longestName)), order: (a, b) => name(b).localeCompare(name(a)) * -1 },
      { title: "Module", wideOnly: true, width: "minmax(80px, 150px)", cell: (fn) => moduleName(profile, fn), order: (a, b) => moduleName(profile, a).localeCompare(moduleName(profile, b)) },
    ];
    const [view, column, up] = state.sort.split(":");
    const given = view === "functions" && columns[Number(column)]?.order !== undefined;
    this.table = new Table(columns, {
      sorted: (at, upward) => context.note({ sort: `functions:${at}:${upward ? 1 : 0}` }),
      chosen: (fn) => {
        context.note({ fn });
        this.drawDetail(fn);
      },
    }, given ? Number(column) : 0, given && up === "1");
    const skip = el("input", { type: "checkbox" });
    skip.checked = state.skip;
    skip.addEventListener("change", () => context.change({ skip: skip.checked }));
    this.element.append(
      el("div", { class: "column" },
        el("div", { class: "controls" }, this.caption,
          el("label", { class: "check", title: "what malloc's wrappers, the C and C++ libraries and installed headers allocate is the self of their first caller" },
            skip, " skip wrappers and library code")),
        this.table.element),
      this.detail);
  }

  update(): void {
    const { model, profile, state } = this.context;
    const found = model.found();
    const total = model.sums().total;
    const grown = profile.before ? model.growthSums().total : null;
    const rows: number[] = [];
    for (let fn = 0; fn < profile.functions.count; ++fn) {
      if ((!found || found.functions[fn]) && (total[fn] !== 0 || (grown !== null && grown[fn] !== 0))) rows.push(fn);
    }
    this.caption.textContent = counted(rows.length, "function") + (found ? ` of ${countText(profile.functions.count)}` : "");
    this.table.show(rows);
    const chosen = model.isFunction(state.fn) ? state.fn : this.table.first();
    this.table.select(chosen);
    this.drawDetail(chosen);
  }

  private drawDetail(fn: number): void {
    const { model, profile, state } = this.context;
    if (fn < 0) return fill(this.detail, el("p", { class: "empty" }, "No function."));
    const bytes = isBytes(state.by);
    const whole = model.whole();
    const total = model.sums().total[fn]!;
    const fact = (title: string, value: number, grown: number | null): HTMLElement =>
      el("div", { class: "fact", title: exactText(value, bytes) }, el("small", {}, title), el("b", {}, valueText(value, bytes)),
        el("span", {}, grown === null ? percentText(value, whole) : `was ${valueText(value - grown, bytes)}`));
    const growth = profile.before ? model.growthSums() : null;
    const show = (direction: "callers" | "callees"): void =>
      this.context.change({ view: "flame", fn, direction, window: null });
    fill(this.detail,
      el("h2", { class: "name" }, swatch(this.context, fn), functionName(profile, fn)),
      el("p", { class: "soft" }, moduleName(profile, fn)),
      el("div", { class: "facts" }, fact("self", model.allocates()[fn]!, growth && (state.skip ? growth.site : growth.self)[fn]!),
        fact("total", total, growth && growth.total[fn]!)),
      el("div", { class: "controls" },
        el("button", { on: { click: () => show("callers") } }, "Graph of callers"),
        el("button", { on: { click: () => show("callees") } }, "Graph of callees"),
        el("button", { on: { click: () => void this.copyName(fn) } }, "Copy name")),
      el("h3", {}, "Called by"), this.relatives(model.around(fn, "callers"), total),
      el("h3", {}, "Calls"), this.relatives(model.around(fn, "callees"), total),
      el("h3", {}, "Lines"), this.lines(fn));
  }

  private async copyName(fn: number): Promise<void> {
    if (await copyText(functionName(this.context.profile, fn))) this.context.say("copied");
  }

  private relatives(tree: MergedTree, whole: number): HTMLElement {
    const list = el("ul", { class: "relatives" });
    const children = Array.from(tree.children(tree.root));
    if (children.length === 0) list.append(el("li", { class: "soft" }, "nothing"));
    const { before } = this.context.profile;
    if (before) children.sort((a, b) => Math.abs(tree.growth(b)) - Math.abs(tree.growth(a)) || a - b);
    const most = before ? Math.abs(tree.growth(children[0] ?? tree.root)) : whole;
    for (const child of children.slice(0, mostRelatives)) {
      const fn = tree.fn(child);
      const link = el("a", { href: "#", title: functionName(this.context.profile, fn) }, fitted(shortName(this.context.profile, fn), longestName - 10));
      link.addEventListener("click", (event) => {
        event.preventDefault();
        this.context.change({ fn });
      });
      list.append(el("li", {}, ...(before ? this.relativeChange(tree, child, most) : this.relativePart(tree, child, most)), link));
    }
    if (children.length > mostRelatives) list.append(el("li", { class: "soft" }, `${countText(children.length - mostRelatives)} more`));
    return list;
  }

  private relativePart(tree: MergedTree, child: number, whole: number): HTMLElement[] {
    const value = tree.value(child);
    const bytes = isBytes(this.context.state.by);
    return [el("span", { class: "right", title: exactText(value, bytes) }, valueText(value, bytes)), bar(value / (whole || 1), this.context.colours().fill(tree.fn(child)))];
  }

  private relativeChange(tree: MergedTree, child: number, most: number): HTMLElement[] {
    const bytes = isBytes(this.context.state.by);
    const growth = tree.growth(child);
    const after = tree.after(child);
    return [el("span", { class: `right ${changeClass(growth)}`, title: `${exactText(after - growth, bytes)} before, ${exactText(after, bytes)} after` }, changeText(growth, bytes)),
      bar(Math.abs(growth) / (most || 1), this.context.colours().change(growth, Math.abs(growth)))];
  }

  private lines(fn: number): HTMLElement {
    const { profile } = this.context;
    const texts: string[] = [];
    for (let line = 0; line < profile.lines.count; ++line) {
      if (profile.lines.function[line] !== fn) continue;
      const text = lineText(profile, line);
      if (text !== "" && !texts.includes(text)) texts.push(text);
    }
    return el("ul", { class: "lines" }, ...texts.slice(0, 50).map((text) => el("li", {}, text)),
      texts.length === 0 ? el("li", { class: "soft" }, "not known: no debug information") : null);
  }
}

export function changeClass(change: number): string {
  return change > 0 ? "grew" : change < 0 ? "shrank" : "soft";
}

export function swatch(context: Context, fn: number): HTMLElement {
  const element = el("i", { class: "swatch" });
  element.style.background = context.colours().fill(fn);
  return element;
}
