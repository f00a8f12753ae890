// What a flame graph draws: a tree whose children come when asked for, largest first.
import type { Profile } from "./profile";
import type { Weights } from "./weights";

export interface Tree {
  readonly root: number;
  fn(node: number): number; // -1 for the root of everything
  value(node: number): number;
  children(node: number): ArrayLike<number>; // only those above zero
  parent(node: number): number;
  nodesOf(node: number): ArrayLike<number>; // of the profile
}

export class CallTree implements Tree {
  readonly root = 0;
  private readonly known = new Map<number, Uint32Array>();

  constructor(private readonly profile: Profile, private readonly weights: Weights) {}

  fn(node: number): number {
    return this.profile.nodes.fn[node]!;
  }
  value(node: number): number {
    return this.weights.total[node]!;
  }
  parent(node: number): number {
    return this.profile.nodes.parent[node]!;
  }
  nodesOf(node: number): ArrayLike<number> {
    return [node];
  }
  children(node: number): Uint32Array {
    let children = this.known.get(node);
    if (!children) this.known.set(node, (children = this.sorted(node)));
    return children;
  }

  private sorted(node: number): Uint32Array {
    const { end } = this.profile.nodes;
    const total = this.weights.total;
    const found: number[] = [];
    for (let child = node + 1; child < end[node]!; child = end[child]!) {
      if (total[child]! > 0) found.push(child);
    }
    return Uint32Array.from(found).sort((a, b) => total[b]! - total[a]! || a - b);
  }
}

export type Direction = "callers" | "callees";

interface MergedNode {
  fn: number;
  parent: number;
  value: number;
  nodes: number[]; // of the profile
  values: number[]; // what each of them brings
  children: Uint32Array | null;
}

// Many nodes of the profile as one, grown in one direction: outward to callers, or inward to callees.
export class MergedTree implements Tree {
  readonly root = 0;
  private readonly merged: MergedNode[] = [];

  constructor(
    private readonly profile: Profile,
    private readonly weights: Weights,
    private readonly direction: Direction,
    rootFunction: number,
    roots: { nodes: number[]; values: number[] },
  ) {
    const value = roots.values.reduce((sum, one) => sum + one, 0);
    this.merged.push({ fn: rootFunction, parent: 0, value, ...roots, children: null });
  }

  // Every stack from the place of its allocation outward.
  static inverted(profile: Profile, weights: Weights, starts: Float64Array): MergedTree {
    const tree = new MergedTree(profile, weights, "callers", -1, { nodes: [], values: [] });
    const nodes: number[] = [];
    for (let i = 1; i < starts.length; ++i) if (starts[i] !== 0) nodes.push(i);
    tree.merged[0]!.value = weights.total[0]!;
    tree.grow(0, (visit) => nodes.forEach((node) => visit(node, starts[node]!)));
    return tree;
  }

  fn(node: number): number {
    return this.merged[node]!.fn;
  }
  value(node: number): number {
    return this.merged[node]!.value;
  }
  parent(node: number): number {
    return this.merged[node]!.parent;
  }
  nodesOf(node: number): ArrayLike<number> {
    return this.merged[node]!.nodes;
  }
  children(node: number): Uint32Array {
    const here = this.merged[node]!;
    if (here.children) return here.children;
    const { parent, end } = this.profile.nodes;
    return this.grow(node, (visit) => {
      for (let i = 0; i < here.nodes.length; ++i) {
        const from = here.nodes[i]!;
        if (this.direction === "callers") {
          if (parent[from] !== 0) visit(parent[from]!, here.values[i]!);
        } else {
          for (let child = from + 1; child < end[from]!; child = end[child]!) visit(child, this.weights.total[child]!);
        }
      }
    });
  }

  private grow(node: number, each: (visit: (from: number, value: number) => void) => void): Uint32Array {
    const byFunction = new Map<number, number>();
    const added: number[] = [];
    each((from, value) => {
      if (value === 0) return;
      const fn = this.profile.nodes.fn[from]!;
      let at = byFunction.get(fn);
      if (at === undefined) {
        at = this.merged.length;
        byFunction.set(fn, at);
        added.push(at);
        this.merged.push({ fn, parent: node, value: 0, nodes: [], values: [], children: null });
      }
      const child = this.merged[at]!;
      child.value += value;
      child.nodes.push(from);
      child.values.push(value);
    });
    const shown = added.filter((child) => this.merged[child]!.value > 0);
    const children = Uint32Array.from(shown).sort((a, b) => this.merged[b]!.value - this.merged[a]!.value || a - b);
    this.merged[node]!.children = children;
    return children;
  }
}
