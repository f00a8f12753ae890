// What a flame graph draws: a tree whose children come when asked for, largest first.
import type { Profile } from "./profile";
import type { Weights } from "./weights";

// What a tree adds up. Boxes are as wide as `shown`; where two profiles are compared, they also know these two.
export interface Columns {
  shown: Weights;
  growth?: Weights;
  after?: Weights;
}

export interface Tree {
  readonly root: number;
  fn(node: number): number; // -1 for the root of everything
  value(node: number): number;
  growth(node: number): number;
  after(node: number): number;
  children(node: number): ArrayLike<number>; // only those above zero
  // Works towards children() until a time of performance.now(); true when they are there.
  prepare(node: number, until: number): boolean;
  parent(node: number): number;
  nodesOf(node: number): ArrayLike<number>; // of the profile
}

export class CallTree implements Tree {
  readonly root = 0;
  private readonly known = new Map<number, Uint32Array>();

  constructor(private readonly profile: Profile, private readonly columns: Columns) {}

  fn(node: number): number {
    return this.profile.nodes.fn[node]!;
  }
  value(node: number): number {
    return this.columns.shown.total[node]!;
  }
  growth(node: number): number {
    return this.columns.growth?.total[node] ?? 0;
  }
  after(node: number): number {
    return this.columns.after?.total[node] ?? this.value(node);
  }
  parent(node: number): number {
    return this.profile.nodes.parent[node]!;
  }
  nodesOf(node: number): ArrayLike<number> {
    return [node];
  }
  prepare(): boolean {
    return true; // siblings are found by their ends: there is never much to do
  }
  children(node: number): Uint32Array {
    let children = this.known.get(node);
    if (!children) this.known.set(node, (children = this.sorted(node)));
    return children;
  }

  private sorted(node: number): Uint32Array {
    const { end } = this.profile.nodes;
    const { total } = this.columns.shown;
    const found: number[] = [];
    for (let child = node + 1; child < end[node]!; child = end[child]!) {
      if (total[child]! > 0) found.push(child);
    }
    return Uint32Array.from(found).sort((a, b) => total[b]! - total[a]! || a - b);
  }
}
