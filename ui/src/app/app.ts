// The frame around the views: header, tabs, search, keyboard, theme and address.
import { isBytes, measureMeaning, measures, measureTitle, totalOf } from "../model/measure";
import type { Profile } from "../model/profile";
import { counted, countText, percentText, secondsText, valueText } from "../model/text";
import { Colours } from "../view/colours";
import { segmented } from "../view/controls";
import { el, fill } from "../view/dom";
import { FlamePage } from "../view/flame_page";
import { FunctionsPage } from "../view/functions_page";
import { helpBox } from "../view/help";
import { LeaksPage, leaksFound } from "../view/leaks_page";
import { MarksPage } from "../view/marks_page";
import { MemoryPage } from "../view/memory_page";
import { OverviewPage } from "../view/overview_page";
import { PoolsPage } from "../view/pools_page";
import { SizesPage } from "../view/sizes_page";
import { ProblemsPage, problems, ScopesPage, ThreadsPage } from "../view/small_pages";
import { StacksPage } from "../view/stacks_page";
import type { Context, Page } from "./context";
import { Model } from "./model";
import { fromFragment, initial, toFragment, views, type State, type View } from "./state";

const searchDelay = 120;

export class App implements Context {
  readonly model: Model;
  state: State;
  private readonly pages = new Map<View, Page>();
  private readonly tabs = el("nav", { class: "tabs", "aria-label": "views" });
  private readonly measureBox = el("div", { class: "measures" });
  private readonly searchBox = el("input", { type: "search", placeholder: "Search function, file, module, /regex/", "aria-label": "search", spellcheck: "false" });
  private readonly searchResult = el("span", { class: "found" });
  private readonly only = el("button", { class: "only", title: "leave out everything that the search does not find" }, "Only these");
  private readonly content = el("main");
  private readonly status = el("div", { class: "status", role: "status", hidden: true });
  private readonly help = helpBox();
  private keptColours: { theme: string; colours: Colours } | null = null;
  private readonly usual: State;
  private statusTimer = 0;

  constructor(readonly profile: Profile, private readonly root: HTMLElement) {
    this.model = new Model(profile);
    const by = profile.report.process.ended === "exited" ? "peak" : "live";
    this.usual = { ...initial, by };
    this.state = fromFragment(location.hash, this.usual);
    this.model.follow(this.state);
  }

  start(): void {
    this.build();
    addEventListener("hashchange", () => this.readAddress());
    addEventListener("keydown", (event) => this.key(event));
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.show());
    this.searchBox.value = this.state.query;
    this.show();
  }

  colours(): Colours {
    const theme = document.documentElement.dataset.theme ?? "light";
    if (this.keptColours?.theme !== theme) {
      this.keptColours = { theme, colours: new Colours(this.profile, this.model.moduleWeights(), theme === "dark") };
    }
    return this.keptColours.colours;
  }

  change(change: Partial<State>): void {
    const { view, fn, stack, direction } = this.state;
    const filterChanged = change.by !== undefined || change.only !== undefined || (change.query !== undefined && this.state.only);
    this.state = { ...this.state, ...(filterChanged ? { window: null } : {}), ...change };
    this.model.follow(this.state);
    this.writeAddress(this.state.view !== view || this.state.fn !== fn || this.state.stack !== stack || this.state.direction !== direction);
    this.show();
  }

  note(change: Partial<State>): void {
    this.state = { ...this.state, ...change };
    this.model.follow(this.state);
    this.writeAddress();
  }

  say(text: string): void {
    this.status.textContent = text;
    this.status.hidden = false;
    clearTimeout(this.statusTimer);
    this.statusTimer = window.setTimeout(() => (this.status.hidden = true), 2500);
  }

  private build(): void {
    const { report, words } = this.profile;
    const { process } = report;
    const name = words.name || "heapledger";
    document.title = `${name}: memory, heapledger`;
    const { before } = this.profile;
    const compared = before && `compared with ${before.words.command === words.command ? "" : before.words.command + ", "}pid ${before.report.process.pid}`;
    const facts = [compared, `pid ${process.pid}${words.host ? " on " + words.host : ""}`, process.start_time > 0 ? new Date(process.start_time * 1000).toLocaleString() : "",
      process.attached_after ? `attached ${secondsText(process.attached_after)} after its start, watched for ${secondsText(process.duration)}` : `ran ${secondsText(process.duration)}`,
      words.ending].filter(Boolean).join(" · ");
    let timer = 0;
    this.searchBox.addEventListener("input", () => {
      clearTimeout(timer);
      timer = window.setTimeout(() => this.change({ query: this.searchBox.value.trim() }), searchDelay);
    });
    this.only.addEventListener("click", () => this.change({ only: !this.state.only }));
    const theme = el("button", { title: "light or dark (t)", class: "icon", "aria-label": "light or dark", on: { click: () => this.toggleTheme() } }, "◐");
    const help = el("button", { title: "keys (?)", class: "icon", "aria-label": "keys", on: { click: () => this.toggleHelp() } }, "?");
    this.root.append(
      el("header", { class: "top" },
        el("div", { class: "title" }, el("h1", { title: words.command }, name, el("span", { class: "soft" }, words.command)), el("p", { title: facts }, facts)),
        el("div", { class: "search" }, this.searchBox, this.searchResult, this.only), theme, help),
      el("div", { class: "bar-row" }, this.tabs, this.measureBox),
      this.content, this.status, this.help);
  }

  get flame(): unknown {
    return (this.page("flame") as FlamePage).flame;
  }

  private page(view: View): Page {
    let page = this.pages.get(view);
    if (!page) this.pages.set(view, (page = this.make(view)));
    return page;
  }

  private make(view: View): Page {
    switch (view) {
      case "overview":
        return new OverviewPage(this);
      case "flame":
        return new FlamePage(this);
      case "functions":
        return new FunctionsPage(this);
      case "stacks":
        return new StacksPage(this);
      case "sizes":
        return new SizesPage(this);
      case "threads":
        return new ThreadsPage(this);
      case "scopes":
        return new ScopesPage(this);
      case "marks":
        return new MarksPage(this);
      case "pools":
        return new PoolsPage(this);
      case "leaks":
        return new LeaksPage(this);
      case "memory":
        return new MemoryPage(this);
      case "problems":
        return new ProblemsPage(this);
    }
  }

  private show(): void {
    this.applyTheme();
    this.drawTabs();
    const weighed = ["overview", "flame", "functions", "stacks"].includes(this.state.view);
    this.measureBox.hidden = !weighed;
    if (weighed) {
      fill(this.measureBox, segmented(measures.map((by) => [by, measureTitle(by, this.profile), measureMeaning(by)]), this.state.by, (by) => this.change({ by })));
    }
    this.drawSearch();
    const page = this.page(this.state.view);
    if (page.element.parentElement !== this.content) this.content.replaceChildren(page.element);
    page.update();
  }

  private drawTabs(): void {
    const { report } = this.profile;
    const count = problems(this);
    const titles: Record<View, string> = {
      overview: "Overview", flame: "Flame graph", functions: "Functions", stacks: "Stacks", sizes: "Sizes and lives",
      threads: `Threads ${countText(report.threads.length)}`, scopes: "Scopes", marks: "Marks", pools: "Pools",
      leaks: leaksFound(this) > 0 ? `Leaks ${leaksFound(this)}` : "Leaks", memory: "Resident memory", problems: count > 0 ? `Problems ${count}` : "Problems",
    };
    const absent: Partial<Record<View, boolean>> = { scopes: !report.scopes, marks: !report.markers, pools: !report.pools, leaks: !this.profile.leaks };
    const shown = views.filter((view) => !absent[view] || this.state.view === view);
    fill(this.tabs, ...shown.map((view) => el("button", {
      "data-view": view, "aria-current": view === this.state.view ? "page" : undefined,
      class: (view === "problems" && report.errors.length > 0) || (view === "leaks" && leaksFound(this) > 0) ? "alarm" : "",
      on: { click: () => this.change({ view }) },
    }, titles[view])));
  }

  private drawSearch(): void {
    const found = this.model.found();
    const { query, only } = this.state;
    this.only.hidden = query === "" || !found;
    this.only.setAttribute("aria-pressed", String(only));
    if (document.activeElement !== this.searchBox) this.searchBox.value = query;
    this.searchBox.classList.toggle("bad", query !== "" && !found);
    if (query === "") this.searchResult.textContent = "";
    else if (!found) this.searchResult.textContent = "no such expression";
    else {
      const all = totalOf(this.profile.report.totals, this.state.by);
      this.searchResult.textContent = `${percentText(found.value, all)} · ${valueText(found.value, isBytes(this.state.by))} · ${counted(found.count, "function")}`;
    }
  }

  private applyTheme(): void {
    const dark = this.state.theme === "" ? matchMedia("(prefers-color-scheme: dark)").matches : this.state.theme === "dark";
    document.documentElement.dataset.theme = dark ? "dark" : "light";
  }

  private toggleTheme(): void {
    this.change({ theme: document.documentElement.dataset.theme === "dark" ? "light" : "dark" });
  }

  private toggleHelp(): void {
    if (this.help.open) this.help.close();
    else this.help.showModal();
  }

  private readAddress(): void {
    const state = fromFragment(location.hash, this.usual);
    if (toFragment(state) === toFragment(this.state)) return;
    this.state = state;
    this.model.follow(state);
    this.searchBox.value = state.query;
    this.show();
  }

  // The browser's Back returns to the view and the function before, not to each step of a search or a zoom.
  private writeAddress(elsewhere = false): void {
    const address = `#${toFragment(this.state)}`;
    if (elsewhere) history.pushState(null, "", address);
    else history.replaceState(null, "", address);
  }

  private key(event: KeyboardEvent): void {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (this.help.open && event.key !== "?") return;
    const typing = event.target instanceof HTMLInputElement && event.target.type !== "checkbox";
    if (event.key === "Escape") {
      if (this.state.query !== "") {
        this.searchBox.value = "";
        this.searchBox.blur();
        this.change({ query: "", only: false });
      } else if (this.state.window) this.change({ window: null });
      return;
    }
    if (typing) return;
    if (this.page(this.state.view).key?.(event) || this.command(event.key)) event.preventDefault();
  }

  private command(key: string): boolean {
    const shown = Array.from(this.tabs.querySelectorAll<HTMLElement>("button"));
    const tab = shown[Number(key) - 1];
    if (/^[1-9]$/.test(key) && tab) tab.click();
    else if (key === "/") this.searchBox.select();
    else if (key === "m") this.change({ by: measures[(measures.indexOf(this.state.by) + 1) % measures.length]! });
    else if (key === "f" && this.state.query !== "") this.change({ only: !this.state.only });
    else if (key === "t") this.toggleTheme();
    else if (key === "?") this.toggleHelp();
    else return false;
    return true;
  }
}
