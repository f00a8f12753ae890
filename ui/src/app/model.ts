// The numbers behind every view, computed when they are asked for and kept until what they depend on changes.
import { stackValues, type Measure } from "../model/measure";
import type { Profile } from "../model/profile";
import { matcher, search, stacksIn, type Found } from "../model/search";
import { CallTree, MergedTree, type Direction, type Tree } from "../model/tree";
import { forTopmost, sitePlaces, sumFunctions, weigh, type FunctionSums, type Weights } from "../model/weights";
import { initial, type State } from "./state";

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
    return this.keepLarge(`weights ${by} ${filter}`, () => weigh(this.profile, stackValues(this.profile, by), this.sites, chosen));
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
      const all = Uint32Array.from({ length: this.profile.stacks.count }, (_, i) => i);
      return filter ? all.filter((i) => filter[i] !== 0) : all;
    });
  }

  tree(): Tree {
    const { direction, fn, skip } = this.state;
    const key = `tree ${this.state.by} ${direction} ${skip} ${fn} ${this.filterKey()}`;
    if (direction === "down" || ((direction === "callers" || direction === "callees") && !this.isFunction(fn))) {
      return this.callTree();
    }
    return this.keepLarge(key, () => {
      const weights = this.weights();
      if (direction === "up") return MergedTree.inverted(this.profile, weights, skip ? weights.site : weights.self);
      return this.around(fn, direction);
    });
  }

  callTree(): Tree {
    return this.keepLarge(`calls ${this.state.by} ${this.filterKey()}`, () => new CallTree(this.profile, this.weights()));
  }

  around(fn: number, direction: Direction): MergedTree {
    return this.keepLarge(`around ${this.state.by} ${fn} ${direction} ${this.filterKey()}`, () => {
      const weights = this.weights();
      const roots = { nodes: [] as number[], values: [] as number[] };
      forTopmost(this.profile, (node, of) => {
        if (of !== fn || weights.total[node] === 0) return;
        roots.nodes.push(node);
        roots.values.push(weights.total[node]!);
      });
      return new MergedTree(this.profile, weights, direction, fn, roots);
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
