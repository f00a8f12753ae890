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

  constructor(readonly profile: Profile) {
    this.sites = sitePlaces(profile);
  }

  follow(state: State): void {
    this.state = state;
  }

  // Where the stacks of this measure stand, what is left out by the filter not among them.
  weights(by: Measure = this.state.by): Weights {
    return this.keep(`weights ${by} ${this.filterKey()}`, () => weigh(this.profile, stackValues(this.profile, by), this.sites, this.filter()));
  }

  private weightsOfAll(): Weights {
    return this.keep(`all ${this.state.by}`, () => weigh(this.profile, stackValues(this.profile, this.state.by), this.sites, null));
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
    return this.keep(`found ${query} ${this.state.by}`, () => {
      const matches = matcher(query);
      return matches ? search(this.profile, this.weightsOfAll(), matches) : null;
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
    return this.keep(key, () => {
      const weights = this.weights();
      if (direction === "up") return MergedTree.inverted(this.profile, weights, skip ? weights.site : weights.self);
      return this.around(fn, direction);
    });
  }

  callTree(): Tree {
    return this.keep(`calls ${this.state.by} ${this.filterKey()}`, () => new CallTree(this.profile, this.weights()));
  }

  around(fn: number, direction: Direction): MergedTree {
    return this.keep(`around ${this.state.by} ${fn} ${direction} ${this.filterKey()}`, () => {
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
    if (this.kept.has(key)) return this.kept.get(key) as T;
    if (this.kept.size > 60) this.kept.clear();
    const made = make();
    this.kept.set(key, made);
    return made;
  }
}
