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
  nodes: ArrayLike<number>; // of the profile
  values: ArrayLike<number>; // what each of them brings
  children: Uint32Array | null;
}

// Room to work in, which all trees of a profile share.
const rooms = new WeakMap<Profile, { slots: Int32Array; groups: Int32Array }>();

// Many nodes of the profile as one, grown in one direction: outward to callers, or inward to callees.
export class MergedTree implements Tree {
  readonly root = 0;
  private readonly merged: MergedNode[] = [];
  private readonly slots: Int32Array; // by node of the profile; all -1 between calls
  private readonly groups: Int32Array; // by function, likewise

  constructor(
    private readonly profile: Profile,
    private readonly weights: Weights,
    private readonly direction: Direction,
    rootFunction: number,
    roots: { nodes: ArrayLike<number>; values: ArrayLike<number> },
  ) {
    let value = 0;
    for (let i = 0; i < roots.values.length; ++i) value += roots.values[i]!;
    this.merged.push({ fn: rootFunction, parent: 0, value, ...roots, children: null });
    let room = rooms.get(profile);
    if (!room) {
      room = { slots: new Int32Array(profile.nodes.count).fill(-1), groups: new Int32Array(profile.functions.count).fill(-1) };
      rooms.set(profile, room);
    }
    this.slots = room.slots;
    this.groups = room.groups;
  }

  // Every stack from the place of its allocation outward.
  static inverted(profile: Profile, weights: Weights, starts: Float64Array): MergedTree {
    const tree = new MergedTree(profile, weights, "callers", -1, { nodes: [], values: [] });
    const nodes: number[] = [];
    const values: number[] = [];
    for (let i = 1; i < starts.length; ++i) {
      if (starts[i] === 0) continue;
      nodes.push(i);
      values.push(starts[i]!);
    }
    tree.merged[0]!.value = weights.total[0]!;
    tree.split(0, nodes, values);
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
    return this.merged[node]!.children ?? this.grow(node);
  }

  private grow(node: number): Uint32Array {
    const { parent, end } = this.profile.nodes;
    const here = this.merged[node]!;
    const nodes: number[] = [];
    const values: number[] = [];
    const slots = this.slots;
    for (let i = 0; i < here.nodes.length; ++i) {
      const from = here.nodes[i]!;
      if (this.direction === "callers") {
        const to = parent[from]!;
        if (to === 0) continue;
        const slot = slots[to]!;
        if (slot >= 0) {
          values[slot]! += here.values[i]!;
        } else {
          slots[to] = nodes.length;
          nodes.push(to);
          values.push(here.values[i]!);
        }
      } else {
        for (let child = from + 1; child < end[from]!; child = end[child]!) {
          if (this.weights.total[child] === 0) continue;
          nodes.push(child);
          values.push(this.weights.total[child]!);
        }
      }
    }
    for (const to of nodes) slots[to] = -1;
    return this.split(node, nodes, values);
  }

  // Children of a node, one for each function.
  private split(node: number, nodes: number[], values: number[]): Uint32Array {
    const fns = this.profile.nodes.fn;
    const groups = this.groups;
    const sizes: number[] = [];
    const sums: number[] = [];
    const functions: number[] = [];
    for (let i = 0; i < nodes.length; ++i) {
      const fn = fns[nodes[i]!]!;
      let group = groups[fn]!;
      if (group < 0) {
        group = groups[fn] = sizes.length;
        sizes.push(0);
        sums.push(0);
        functions.push(fn);
      }
      ++sizes[group]!;
      sums[group]! += values[i]!;
    }
    const starts = new Uint32Array(sizes.length + 1);
    sizes.forEach((size, group) => (starts[group + 1] = starts[group]! + size));
    const at = starts.slice();
    const sortedNodes = new Uint32Array(nodes.length);
    const sortedValues = new Float64Array(nodes.length);
    for (let i = 0; i < nodes.length; ++i) {
      const place = at[groups[fns[nodes[i]!]!]!]!++;
      sortedNodes[place] = nodes[i]!;
      sortedValues[place] = values[i]!;
    }
    const first = this.merged.length;
    const shown: number[] = [];
    functions.forEach((fn, group) => {
      groups[fn] = -1;
      if (sums[group]! > 0) shown.push(first + group);
      this.merged.push({
        fn,
        parent: node,
        value: sums[group]!,
        nodes: sortedNodes.subarray(starts[group]!, starts[group + 1]!),
        values: sortedValues.subarray(starts[group]!, starts[group + 1]!),
        children: null,
      });
    });
    const children = Uint32Array.from(shown).sort((a, b) => this.merged[b]!.value - this.merged[a]!.value || a - b);
    this.merged[node]!.children = children;
    return children;
  }
}
