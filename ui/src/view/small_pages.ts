// Threads, scopes and problems: tables that are small enough to be plain ones.
import type { Context, Page } from "../app/context";
import type { ScopeRow } from "../data/report";
import { largestFirst } from "../model/scope_order";
import { bytesText, countText, counted, exactText, percentText, secondsText } from "../model/text";
import { bar, el, fill, type Child } from "./dom";
import { stackCard } from "./json_stacks";
import { plainTable, Sorting, type PlainColumn } from "./plain_table";
import { stackList } from "./stack_list";

export class ThreadsPage implements Page {
  readonly element = el("section", { class: "page scroll" });
  private grouped: boolean;
  private readonly sorting = new Sorting();

  constructor(private readonly context: Context) {
    this.grouped = new Set(context.profile.words.threads).size > 1; // else there would be one row for all
  }

  update(): void {
    const { report, words } = this.context.profile;
    const { threads, process } = report;
    const rows = threads.map((thread, i) => ({
      name: words.threads[i] || `tid ${thread.tid}`, threads: 1, begin: thread.start, end: thread.end ?? process.duration, tid: String(thread.tid),
      allocations: thread.allocations, frees: thread.frees, allocated: thread.allocated_bytes, freed: thread.freed_bytes,
    }));
    const merged = new Map<string, (typeof rows)[number]>();
    for (const row of rows) {
      const known = merged.get(row.name);
      if (!known) merged.set(row.name, { ...row });
      else {
        known.threads += 1;
        known.allocations += row.allocations;
        known.frees += row.frees;
        known.allocated += row.allocated;
        known.freed += row.freed;
        known.begin = Math.min(known.begin, row.begin);
        known.end = Math.max(known.end, row.end);
        known.tid = "";
      }
    }
    const shown = (this.grouped ? [...merged.values()] : rows).sort((a, b) => b.allocations - a.allocations);
    const all = rows.reduce((sum, row) => sum + row.allocations, 0);
    const group = el("input", { type: "checkbox" });
    group.checked = this.grouped;
    group.addEventListener("change", () => {
      this.grouped = group.checked;
      this.update();
    });
    const life = (row: (typeof rows)[number]): HTMLElement => {
      const piece = el("i");
      piece.style.marginLeft = `${(100 * row.begin) / (process.duration || 1)}%`;
      piece.style.width = `${Math.max(0.5, (100 * (row.end - row.begin)) / (process.duration || 1))}%`;
      return el("span", { class: "bar life", title: `${secondsText(row.begin)} to ${secondsText(row.end)}` }, piece);
    };
    type Row = (typeof rows)[number];
    const columns: PlainColumn<Row>[] = [
      { title: "Name", left: true, cell: (row) => row.name, by: (row) => row.name },
      this.grouped ? { title: "Threads", cell: (row) => countText(row.threads), by: (row) => row.threads }
        : { title: "tid", cell: (row) => row.tid, by: (row) => Number(row.tid) },
      { title: "Share", cell: (row) => percentText(row.allocations, all), by: (row) => row.allocations },
      { title: "", left: true, cell: (row) => bar(row.allocations / (all || 1), "var(--accent)") },
      { title: "Allocations", cell: (row) => countText(row.allocations), by: (row) => row.allocations },
      { title: "Allocated", cell: (row) => amount(row.allocated), by: (row) => row.allocated },
      { title: "Frees", cell: (row) => countText(row.frees), by: (row) => row.frees },
      { title: "Freed", cell: (row) => amount(row.freed), by: (row) => row.freed },
      { title: "Lived", left: true, cell: life, by: (row) => row.end - row.begin },
    ];
    fill(this.element, el("h2", {}, counted(threads.length, "thread")),
      el("div", { class: "controls" }, el("label", { class: "check" }, group, " threads of one name are one row"),
        el("span", { class: "hint" }, "a free is counted by the thread that frees, whoever allocated")),
      plainTable(columns, shown, this.sorting));
  }
}

export class ScopesPage implements Page {
  readonly element = el("section", { class: "page scroll" });

  constructor(context: Context) {
    const rows = largestFirst(context.profile.report.scopes ?? []);
    if (rows.length === 0) {
      this.element.append(el("p", { class: "empty" }, "This program uses no scopes. They charge memory to a request, a query or a module: heapledger/scope.hpp."));
      return;
    }
    const whole = context.profile.report.totals;
    // A tree as long as it stands as one.
    const name = (row: ScopeRow, sorted: boolean): Child => {
      const path = row.scope.join(" / ") || "outside of scopes";
      const cell = el("span", { class: "name", title: path }, sorted ? path : (row.scope[row.scope.length - 1] ?? path));
      if (!sorted) cell.style.paddingLeft = `${Math.max(0, row.scope.length - 1) * 18}px`;
      return cell;
    };
    const sums = (row: ScopeRow): ScopeRow["with_descendants"] => (row.scope.length === 0 ? row : row.with_descendants);
    const limits = (row: ScopeRow): string => {
      const { budget } = row;
      return [budget?.live_bytes !== undefined && `${bytesText(budget.live_bytes)} live`,
        budget?.allocated_bytes !== undefined && `${bytesText(budget.allocated_bytes)} allocated`,
        budget?.allocations !== undefined && counted(budget.allocations, "allocation")].filter(Boolean).join(", ");
    };
    this.element.append(el("h2", {}, "Scopes"),
      el("p", { class: "soft" }, "Each with the scopes below it. In the flame graph they are the outermost frames."),
      plainTable<ScopeRow>([
        { title: "Scope", left: true, cell: name, by: (row) => row.scope.join(" / ") },
        { title: "Live", cell: (row) => amount(sums(row).live_bytes), by: (row) => sums(row).live_bytes },
        { title: "Allocated", cell: (row) => amount(sums(row).allocated_bytes), by: (row) => sums(row).allocated_bytes },
        { title: "Share", cell: (row) => percentText(sums(row).allocated_bytes, whole.allocated_bytes), by: (row) => sums(row).allocated_bytes },
        { title: "", left: true, cell: (row) => bar(sums(row).allocated_bytes / (whole.allocated_bytes || 1), "var(--accent)") },
        { title: "Allocations", cell: (row) => countText(sums(row).allocations), by: (row) => sums(row).allocations },
        { title: "Highest of one", cell: (row) => (row.peak_bytes === undefined ? "" : amount(row.peak_bytes)), by: (row) => row.peak_bytes },
        { title: "Opened", cell: (row) => (row.opened === undefined ? "" : countText(row.opened)), by: (row) => row.opened },
        { title: "Budget", left: true, cell: limits },
        { title: "Refused", cell: (row) => (row.refusals ? countText(row.refusals) : ""), by: (row) => row.refusals || undefined },
      ], rows));
  }

  update(): void {}
}

export class ProblemsPage implements Page {
  readonly element = el("section", { class: "page scroll problems" });

  constructor(private readonly context: Context) {}

  update(): void {
    const { profile, model } = this.context;
    const { words, report } = profile;
    const content: Child[] = [];
    if (report.errors.length > 0) content.push(el("h2", {}, "Errors in the program"));
    report.errors.slice(0, 200).forEach((error, i) => {
      const stack = model.stackById(error.stack);
      content.push(el("div", { class: "card" }, el("p", { class: "alarm" }, words.errors[i] ?? error.kind),
        stack < 0 ? null : el("p", { class: "soft" }, "The block was allocated by"),
        stack < 0 ? null : stackList(this.context, profile.stacks.place[stack]!),
        error.freed_frames ? stackCard("and freed by", error.freed_frames) : null));
    });
    const list = (title: string, texts: string[]): void => {
      if (texts.length > 0) content.push(el("h2", {}, title), el("ul", { class: "texts" }, ...texts.map((text) => el("li", {}, text))));
    };
    list("What these numbers do not show", words.losses);
    list("Symbols that are missing", words.symbols);
    if (words.symbols.length > 0) {
      content.push(el("p", { class: "soft" }, "Build with -g, or install the package with debug symbols, and make the page again: heapledger html --debug-path /usr/lib/debug PROFILE; or with --debuginfod, which fetches them from the servers in DEBUGINFOD_URLS."));
    }
    const own = report.profiler;
    content.push(el("h2", {}, "heapledger itself"), el("p", {}, `${bytesText(own.own_bytes)} of tables and ${bytesText(own.tag_bytes)} of tags, ` +
      `for ${counted(profile.stacks.count, "stack")} (a tree of ${counted(Math.max(0, own.nodes - 1), "frame")}).`));
    if (report.errors.length + words.losses.length + words.symbols.length === 0) {
      content.unshift(el("p", { class: "good" }, "No errors were found, nothing was lost, and every place has a name."));
    }
    fill(this.element, ...content);
  }
}

export function problems(context: Context): number {
  const { words } = context.profile;
  return words.errors.length + words.losses.length + words.symbols.length;
}

export function amount(bytes: number): HTMLElement {
  return el("span", { title: exactText(bytes, true) }, bytesText(bytes));
}
