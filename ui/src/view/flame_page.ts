// The flame graph with its controls, its legend, and a line about what is pointed at.
import type { Context, Page } from "../app/context";
import type { FlameDirection } from "../app/state";
import { isBytes, measureTitle } from "../model/measure";
import { functionName, lineText, moduleName, shortName } from "../model/profile";
import { bytesText, changeText, countText, exactText, growthText, percentText, valueText } from "../model/text";
import type { Tree } from "../model/tree";
import { colourName } from "./colours";
import { add, el, fill } from "./dom";
import { Flame } from "./flame";
import { spanOf } from "./flame_layout";
import { Hint } from "./hint";
import { segmented } from "./controls";

export class FlamePage implements Page {
  readonly element = el("section", { class: "page flame-page" });
  private readonly controls = el("div", { class: "controls" });
  private readonly legendBox = el("div", { class: "legend" });
  private readonly nothing = el("p", { class: "empty" }, "Nothing by this measure.");
  private readonly hint = new Hint();
  readonly flame: Flame;
  private tree: Tree | null = null;
  private shown = "";

  constructor(private readonly context: Context, private readonly small = false) {
    this.flame = new Flame({
      label: (fn) => (fn < 0 ? this.wholeLabel() : shortName(context.profile, fn)),
      fill: (tree, node) => this.fill(tree, node),
      found: () => context.model.found()?.functions ?? null,
      hint: (tree, node, event) => this.point(tree, node, event),
      chosen: (tree, node) => this.choose(tree, node),
      moved: () => this.small || context.note({ window: this.flame.shares() }),
    });
    add(this.element, small ? null : this.controls, this.flame.element, this.nothing, this.legendBox);
    document.body.append(this.hint.element);
  }

  update(): void {
    const { model, state } = this.context;
    const tree = this.small ? model.mainInward() : model.tree();
    this.hint.hide();
    this.drawControls();
    this.drawLegend();
    const window = this.small ? null : state.window;
    const key = `${state.rootAtBottom} ${window?.begin} ${window?.end}`;
    if (tree !== this.tree || key !== this.shown) {
      const before = this.flame.shares();
      const same = tree === this.tree && before?.begin === window?.begin && before?.end === window?.end && key.startsWith(this.shown.split(" ")[0]!);
      this.tree = tree;
      this.shown = key;
      if (!same) this.flame.show(tree, state.rootAtBottom && !this.small, window, this.shownStack(tree));
    }
    this.nothing.hidden = tree.value(tree.root) > 0;
    this.flame.element.hidden = this.legendBox.hidden = !this.nothing.hidden;
    this.flame.repaint();
  }

  // The node of the chosen stack, where the window is all its own, as "Show in the flame graph" has it.
  private shownStack(tree: Tree): number {
    const { model, profile, state } = this.context;
    const stack = this.small || tree !== model.callTree() || !state.window ? -1 : model.stackById(state.stack);
    if (stack < 0) return -1;
    const node = profile.places.node[profile.stacks.place[stack]!]!;
    const span = spanOf(tree, node);
    const whole = tree.value(tree.root) || 1;
    const near = (share: number, value: number): boolean => Math.abs(share - value / whole) < 1e-9;
    return near(state.window!.begin, span.begin) && near(state.window!.end, span.end) ? node : -1;
  }

  key(event: KeyboardEvent): boolean {
    const { state } = this.context;
    if (event.key === "i") {
      this.setDirection(state.direction === "up" ? "down" : "up");
      return true;
    }
    if (event.key === "o") {
      this.context.change({ rootAtBottom: !state.rootAtBottom });
      return true;
    }
    return this.flame.key(event);
  }

  private setDirection(direction: FlameDirection): void {
    this.context.change({ direction, window: null });
  }

  private fill(tree: Tree, node: number): string {
    const colours = this.context.colours();
    if (!this.context.profile.before) return colours.fill(tree.fn(node));
    return colours.change(tree.growth(node), tree.value(node));
  }

  private wholeLabel(): string {
    const { model, state, profile } = this.context;
    return `${measureTitle(state.by, profile)}: ${valueText(model.whole(), isBytes(state.by))}`;
  }

  private drawControls(): void {
    if (this.small) return;
    const { state, model, profile } = this.context;
    const choices: [FlameDirection, string, string][] = [
      ["down", "From main inward", "who calls what: main is the root"],
      ["up", "From allocations outward", "inverted: the place that allocates is at the root, its callers follow"],
    ];
    if (model.isFunction(state.fn)) {
      const name = shortName(profile, state.fn);
      choices.push(["callers", `Callers of ${cut(name)}`, `who leads to ${name}`]);
      choices.push(["callees", `Callees of ${cut(name)}`, `what ${name} leads to`]);
    }
    fill(this.controls,
      segmented(choices, state.direction, (direction) => this.setDirection(direction)),
      segmented([["top", "Icicle", "root on top"], ["bottom", "Flame", "root at the bottom"]],
        state.rootAtBottom ? "bottom" : "top",
        (side) => this.context.change({ rootAtBottom: side === "bottom" })),
      model.scopeNames() === 0 ? null : segmented([["shown", "With scopes", "scopes are the outermost boxes"], ["hidden", "Without", "what is in scopes added up, whatever the scope"]],
        model.showsScopes() ? "shown" : "hidden", (scopes) => this.context.change({ scopes, window: null })),
      el("button", { on: { click: () => this.flame.zoomOut() }, title: "show everything (0)" }, "Reset zoom"),
      el("span", { class: "hint wide-only" }, "click: zoom · drag: move · Ctrl+wheel: zoom · arrows, Enter, +, -"));
  }

  private drawLegend(): void {
    const colours = this.context.colours();
    if (this.context.profile.before) {
      return fill(this.legendBox, legendOf("grew", colours.change(3, 4)), legendOf("new", colours.change(1, 1)), legendOf("shrank", colours.change(-3, 4)),
        legendOf("gone", colours.change(-1, 1)), legendOf("the same", colours.change(0, 1)), el("span", {}, "as wide as the larger of before and after"));
    }
    fill(this.legendBox, ...colours.legend.slice(0, this.small ? 5 : 9).map((module) => {
      const swatch = el("i", { class: "swatch" });
      swatch.style.background = module.fill;
      return el("span", { title: module.name }, swatch, module.name.slice(module.name.lastIndexOf("/") + 1));
    }), legendOf("C and C++ libraries, others", colours.faint), legendOf("allocation wrappers, headers, start code", "var(--machinery)"));
  }

  private point(tree: Tree, node: number, event: MouseEvent | null): void {
    if (!event) return this.hint.hide();
    if (node < 0) return this.hint.show(event.clientX, event.clientY, el("b", {}, "smaller ones"), el("p", {}, "click to zoom in"));
    const { state, model, profile } = this.context;
    const fn = tree.fn(node);
    const value = tree.value(node);
    const bytes = isBytes(state.by);
    const whole = model.whole();
    const root = tree.value(tree.root);
    if (profile.before) return this.pointChange(tree, node, event);
    const where = state.direction === "down" || this.small ? this.linesOf(tree, node) : "";
    this.hint.show(event.clientX, event.clientY,
      el("b", {}, fn < 0 ? this.wholeLabel() : functionName(profile, fn)),
      el("p", {}, `${valueText(value, bytes)} · ${percentText(value, whole)} of all` +
        (root !== whole ? ` · ${percentText(value, root)} of this graph` : "")),
      bytes ? el("p", { class: "soft" }, exactText(value, bytes)) : null,
      where !== "" ? el("p", { class: "soft" }, where) : null,
      fn >= 0 ? el("p", { class: "soft" }, colourName(profile, fn)) : null);
  }

  private pointChange(tree: Tree, node: number, event: MouseEvent): void {
    const { state, profile } = this.context;
    const bytes = isBytes(state.by);
    const fn = tree.fn(node);
    const after = tree.after(node);
    const growth = tree.growth(node);
    this.hint.show(event.clientX, event.clientY,
      el("b", {}, fn < 0 ? this.wholeLabel() : functionName(profile, fn)),
      el("p", {}, `${changeText(growth, bytes)} (${growthText(after - growth, after)})`),
      el("p", { class: "soft" }, `${exactText(after - growth, bytes)} before, ${exactText(after, bytes)} after`),
      fn >= 0 ? el("p", { class: "soft" }, colourName(profile, fn)) : null);
  }

  private linesOf(tree: Tree, node: number): string {
    const { nodes, places } = this.context.profile;
    const texts = new Set<string>();
    const of = tree.nodesOf(node);
    for (let i = 0; i < of.length && texts.size < 4; ++i) {
      const at = of[i]!;
      for (let place = nodes.firstPlace[at]!; place < nodes.firstPlace[at + 1]! && texts.size < 4; ++place) {
        const text = lineText(this.context.profile, places.line[place]!);
        if (text !== "") texts.add(text);
      }
    }
    const list = [...texts];
    return list.slice(0, 3).join("\n") + (list.length > 3 ? "\n…" : "");
  }

  private choose(tree: Tree, node: number): void {
    const fn = tree.fn(node);
    const { direction } = this.context.state;
    if (fn >= 0 && direction !== "callers" && direction !== "callees") {
      this.context.note({ fn });
      this.drawControls();
    }
    if (!this.small && fn >= 0) {
      this.context.say(`${functionName(this.context.profile, fn)}  ${moduleName(this.context.profile, fn)}  ` +
        (isBytes(this.context.state.by) ? bytesText(tree.value(node)) : countText(tree.value(node))));
    }
  }
}

function legendOf(name: string, colour: string): HTMLElement {
  const swatch = el("i", { class: "swatch" });
  swatch.style.background = colour;
  return el("span", {}, swatch, name);
}

function cut(name: string): string {
  return name.length > 26 ? name.slice(0, 25) + "…" : name;
}
