// The numbers behind every view, computed when they are asked for and kept until what they depend on changes.
import { stackValues, type Measure } from "../model/measure";
import { kindScope, type Profile } from "../model/profile";
import { matcher, search, stacksIn, type Found } from "../model/search";
import { MergedTree, type Direction } from "../model/merged_tree";
import { CallTree, type Columns, type Tree } from "../model/tree";
import { forTopmost, sitePlaces, sumFunctions, weigh, type FunctionSums, type Weights } from "../model/weights";
import { initial, type State } from "./state";

const mostScopesShown = 100; // of more, none is wide enough for its name

export class Model {
  private state: State = initial;
  private readonly sites: Uint32Array;
  private readonly kept = new Map<string, unknown>();
  private readonly keptLarge = new Map<string, unknown>(); // an array by node in each

  constructor(readonly profile: Profile) {
    this.sites = sitePlaces(profile);
  }

  follow(state: State): void {
    this.state = state;
  }

  // Where the stacks of this measure stand, what is left out by the filter not among them.
  weights(by: Measure = this.state.by): Weights {
    return this.weightsOf(by, this.filterKey());
  }

  private weightsOf(by: Measure, filter: string): Weights {
    const chosen = filter === "" ? null : this.filter();
    return this.keepLarge(`weights ${by} ${filter}`, () => weigh(this.profile, stackValues(this.profile.stacks, by), this.sites, chosen));
  }

  // How much more everything has than before.
  growth(by: Measure = this.state.by): Weights {
    const { stacks, before } = this.profile;
    return this.keepLarge(`growth ${by} ${this.filterKey()}`, () => {
      const old = stackValues(before!.stacks, by);
      return weigh(this.profile, stackValues(stacks, by).map((value, i) => value - old[i]!), this.sites, this.filter());
    });
  }

  growthSums(): FunctionSums {
    return this.keep(`growth sums ${this.state.by} ${this.filterKey()}`, () => sumFunctions(this.profile, this.growth()));
  }

  // The larger of before and after, so that what is gone has room, too.
  private larger(): Weights {
    const { stacks, before } = this.profile;
    const { by } = this.state;
    const old = stackValues(before!.stacks, by);
    return this.keepLarge(`larger ${by} ${this.filterKey()}`, () =>
      weigh(this.profile, stackValues(stacks, by).map((value, i) => Math.max(value, old[i]!)), this.sites, this.filter()));
  }

  // What each module allocates over the run.
  moduleWeights(): Map<number, number> {
    const { stacks, places, lines, functions } = this.profile;
    const weights = new Map<number, number>();
    for (let i = 0; i < stacks.count; ++i) {
      const line = places.line[this.sites[stacks.place[i]!]!]!;
      const module = line < 0 ? -1 : functions.module[lines.function[line]!]!;
      weights.set(module, (weights.get(module) ?? 0) + stacks.allocated[i]!);
    }
    return weights;
  }

  sums(by: Measure = this.state.by): FunctionSums {
    return this.keep(`sums ${by} ${this.filterKey()}`, () => sumFunctions(this.profile, this.weights(by)));
  }

  // Of each function the line at which most of the measure is allocated, or changed most; -1: nothing is.
  siteLines(): Int32Array {
    const { stacks, before, places, lines, functions } = this.profile;
    const { by } = this.state;
    return this.keep(`site lines ${by} ${this.filterKey()}`, () => {
      const now = stackValues(stacks, by);
      const old = before ? stackValues(before.stacks, by) : null;
      const chosen = this.filter();
      const weights = new Float64Array(lines.count);
      for (let i = 0; i < stacks.count; ++i) {
        const line = places.line[this.sites[stacks.place[i]!]!]!;
        if (line >= 0 && (!chosen || chosen[i] !== 0)) weights[line]! += now[i]! - (old ? old[i]! : 0);
      }
      const result = new Int32Array(functions.count).fill(-1);
      weights.forEach((weight, line) => {
        const fn = lines.function[line]!;
        if (weight !== 0 && (result[fn]! < 0 || Math.abs(weight) > Math.abs(weights[result[fn]!]!))) result[fn] = line;
      });
      return result;
    });
  }

  // Of each function the mean life of what was freed of its own and its callees' allocations, in seconds; -1: nothing was.
  // null where blocks were not timed.
  meanLives(): Float64Array | null {
    const { lives } = this.profile.stacks;
    if (!lives) return null;
    return this.keep(`lives ${this.filterKey()}`, () => {
      const sums = (values: Float64Array): Float64Array => sumFunctions(this.profile, weigh(this.profile, values, this.sites, this.filter())).total;
      const ended = sums(lives.ended);
      return sums(lives.lived).map((lived, fn) => (ended[fn]! > 0 ? lived / ended[fn]! : -1));
    });
  }

  allocates(by: Measure = this.state.by): Float64Array {
    return this.state.skip ? this.sums(by).site : this.sums(by).self;
  }

  siteOf(stack: number): number {
    const place = this.profile.stacks.place[stack]!;
    return this.state.skip ? this.sites[place]! : place;
  }

  found(): Found | null {
    const { query } = this.state;
    if (query === "") return null;
    return this.keepLarge(`found ${query} ${this.state.by}`, () => {
      const matches = matcher(query);
      return matches ? search(this.profile, this.weightsOf(this.state.by, ""), matches) : null;
    });
  }

  chosenStacks(): Uint32Array {
    return this.keep(`stacks ${this.filterKey()}`, () => {
      const filter = this.filter();
      const all = new Uint32Array(this.profile.stacks.count);
      for (let i = 0; i < all.length; ++i) all[i] = i;
      return filter ? all.filter((i) => filter[i] !== 0) : all;
    });
  }

  tree(): Tree {
    const { direction, fn, skip } = this.state;
    const key = `tree ${this.state.by} ${direction} ${skip} ${fn} ${this.showsScopes()} ${this.filterKey()}`;
    if (direction === "down" || ((direction === "callers" || direction === "callees") && !this.isFunction(fn))) {
      return this.mainInward();
    }
    if (direction !== "up") return this.around(fn, direction);
    return this.keepLarge(key, () => MergedTree.inverted(this.profile, this.columns(), skip ? "site" : "self", this.showsScopes()));
  }

  mainInward(): Tree {
    if (this.showsScopes()) return this.callTree();
    return this.keepLarge(`without scopes ${this.state.by} ${this.filterKey()}`, () => MergedTree.withoutScopes(this.profile, this.columns()));
  }

  scopeNames(): number {
    return this.keep("scope names", () => this.profile.functions.kind.reduce((count, kind) => count + (kind === kindScope ? 1 : 0), 0));
  }

  // As boxes of the graph.
  showsScopes(): boolean {
    const { scopes } = this.state;
    return scopes === "" ? this.scopeNames() <= mostScopesShown : scopes === "shown";
  }

  private columns(): Columns {
    return this.profile.before ? { shown: this.larger(), growth: this.growth(), after: this.weights() } : { shown: this.weights() };
  }

  callTree(): Tree {
    return this.keepLarge(`calls ${this.state.by} ${this.filterKey()}`, () => new CallTree(this.profile, this.columns()));
  }

  around(fn: number, direction: Direction): MergedTree {
    return this.keepLarge(`around ${this.state.by} ${fn} ${direction} ${this.showsScopes()} ${this.filterKey()}`, () => {
      const columns = this.columns();
      const roots: number[] = [];
      forTopmost(this.profile, (node, of) => of === fn && columns.shown.total[node] !== 0 && roots.push(node));
      return new MergedTree(this.profile, columns, direction, fn, roots, this.showsScopes());
    });
  }

  // All of the measure, filtered.
  whole(by: Measure = this.state.by): number {
    return this.weights(by).total[0]!;
  }

  isFunction(fn: number): boolean {
    return fn >= 0 && fn < this.profile.functions.count;
  }

  stackById(id: number): number {
    if (id < 0) return -1;
    const index = this.keep("ids", () => {
      const ids = new Map<number, number>();
      this.profile.stacks.id.forEach((one, i) => ids.set(one, i));
      return ids;
    });
    return index.get(id) ?? -1;
  }

  private filterKey(): string {
    return this.state.only && this.state.query !== "" ? this.state.query : "";
  }

  private filter(): Uint8Array | null {
    const found = this.filterKey() === "" ? null : this.found();
    return found ? stacksIn(this.profile, found.nodes) : null;
  }

  private keep<T>(key: string, make: () => T): T {
    return remember(this.kept, 40, key, make);
  }

  private keepLarge<T>(key: string, make: () => T): T {
    return remember(this.keptLarge, 10, key, make);
  }
}

// What was asked for longest ago goes first.
function remember<T>(kept: Map<string, unknown>, most: number, key: string, make: () => T): T {
  const found = kept.has(key);
  const value = found ? (kept.get(key) as T) : make();
  kept.delete(key);
  kept.set(key, value);
  if (kept.size > most) kept.delete(kept.keys().next().value!);
  return value;
}
