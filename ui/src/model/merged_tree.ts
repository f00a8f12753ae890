// Many nodes of the profile as one, grown in one direction: outward to callers, or inward to callees. To grow a node of a
// hundred thousand takes longer than a frame, so it is done in steps, and whoever draws stops between them.
import { kindScope, type Profile } from "./profile";
import type { Columns, Tree } from "./tree";
import type { Weights } from "./weights";

export type Direction = "callers" | "callees";

// Nodes of the profile, and what each of them brings, by column.
export interface Parts {
  nodes: ArrayLike<number>;
  values: ArrayLike<number>[];
}

interface MergedNode extends Parts {
  fn: number;
  parent: number;
  sums: number[]; // by column
  children: Uint32Array | null;
}

interface Growth {
  tree: MergedTree;
  node: number;
  steps: Iterator<void>;
}

// Room to work in, which all trees of a profile share: one growth at a time.
interface Room {
  slots: Int32Array; // by node of the profile; all -1 between growths
  groups: Int32Array; // by function, likewise
  growth: Growth | null;
}
const rooms = new WeakMap<Profile, Room>();
const stepSize = 8192;

function roomOf(profile: Profile): Room {
  let room = rooms.get(profile);
  if (!room) {
    room = { slots: new Int32Array(profile.nodes.count).fill(-1), groups: new Int32Array(profile.functions.count).fill(-1), growth: null };
    rooms.set(profile, room);
  }
  return room;
}

export class MergedTree implements Tree {
  readonly root = 0;
  private readonly merged: MergedNode[] = [];
  private readonly weights: Weights[];
  private readonly room: Room;
  private starts: Float64Array[] | null = null; // by column: what the root's children are made from, by node

  constructor(
    private readonly profile: Profile,
    private readonly columns: Columns,
    private readonly direction: Direction,
    rootFunction: number,
    roots: ArrayLike<number>,
    private readonly scopes = true, // else they are no nodes, and what is in them is below what they are in
  ) {
    this.weights = weightsOf(columns);
    const values = this.weights.map((of) => Float64Array.from(roots, (node) => of.total[node]!));
    const sums = values.map((column) => column.reduce((sum, value) => sum + value, 0));
    this.merged.push({ fn: rootFunction, parent: 0, sums, nodes: roots, values, children: null });
    this.room = roomOf(profile);
  }

  // Every stack from the place of its allocation outward.
  static inverted(profile: Profile, columns: Columns, place: "self" | "site", scopes = true): MergedTree {
    const tree = new MergedTree(profile, columns, "callers", -1, [], scopes);
    tree.merged[0]!.sums = tree.weights.map((of) => of.total[0]!);
    tree.starts = tree.weights.map((of) => of[place]);
    return tree;
  }

  // From main inward, whatever the scope.
  static withoutScopes(profile: Profile, columns: Columns): MergedTree {
    return new MergedTree(profile, columns, "callees", -1, [0], false);
  }

  private passes(node: number): boolean {
    return !this.scopes && this.profile.functions.kind[this.profile.nodes.fn[node]!] === kindScope;
  }

  fn(node: number): number {
    return this.merged[node]!.fn;
  }
  value(node: number): number {
    return this.merged[node]!.sums[0]!;
  }
  growth(node: number): number {
    return this.columns.growth ? this.merged[node]!.sums[1]! : 0;
  }
  after(node: number): number {
    return this.columns.after ? this.merged[node]!.sums[2]! : this.value(node);
  }
  parent(node: number): number {
    return this.merged[node]!.parent;
  }
  nodesOf(node: number): ArrayLike<number> {
    return this.merged[node]!.nodes;
  }
  children(node: number): Uint32Array {
    this.prepare(node, Infinity);
    return this.merged[node]!.children!;
  }

  prepare(node: number, until: number): boolean {
    if (this.merged[node]!.children) return true;
    const { room } = this;
    if (room.growth && (room.growth.tree !== this || room.growth.node !== node)) finish(room);
    room.growth ??= { tree: this, node, steps: this.grow(node) };
    while (!room.growth.steps.next().done) {
      if (performance.now() >= until) return false;
    }
    room.growth = null;
    return true;
  }

  private *grow(node: number): Generator<void, void> {
    const nodes: number[] = [];
    const values: number[][] = this.weights.map(() => []);
    if (node === 0 && this.starts) yield* this.gatherStarts(this.starts, nodes, values);
    else if (this.direction === "callers") yield* this.gatherCallers(node, nodes, values);
    else yield* this.gatherCallees(node, nodes, values);
    yield* this.split(node, nodes, values);
  }

  private *gatherStarts(starts: Float64Array[], nodes: number[], values: number[][]): Generator<void, void> {
    const { count } = this.profile.nodes;
    for (let i = 1; i < count; ++i) {
      if (i % (8 * stepSize) === 0) yield;
      if (starts.every((column) => column[i] === 0)) continue;
      nodes.push(i);
      starts.forEach((column, c) => values[c]!.push(column[i]!));
    }
  }

  private *gatherCallers(node: number, nodes: number[], values: number[][]): Generator<void, void> {
    const { parent } = this.profile.nodes;
    const { slots } = this.room;
    const here = this.merged[node]!;
    for (let i = 0; i < here.nodes.length; ++i) {
      if (i % stepSize === stepSize - 1) yield;
      const to = parent[here.nodes[i]!]!;
      if (to === 0 || this.passes(to)) continue;
      let slot = slots[to]!;
      if (slot < 0) {
        slot = slots[to] = nodes.length;
        nodes.push(to);
        for (const column of values) column.push(0);
      }
      for (let c = 0; c < values.length; ++c) values[c]![slot]! += here.values[c]![i]!;
    }
    for (const to of nodes) slots[to] = -1;
  }

  private *gatherCallees(node: number, nodes: number[], values: number[][]): Generator<void, void> {
    const { end } = this.profile.nodes;
    const here = this.merged[node]!;
    for (let i = 0; i < here.nodes.length; ++i) {
      if (i % stepSize === stepSize - 1) yield;
      const from = here.nodes[i]!;
      for (let child = from + 1; child < end[from]!; child = this.passes(child) ? child + 1 : end[child]!) {
        if (this.passes(child) || this.weights.every((of) => of.total[child] === 0)) continue;
        nodes.push(child);
        this.weights.forEach((of, c) => values[c]!.push(of.total[child]!));
      }
    }
  }

  // Children of a node, one for each function.
  private *split(node: number, nodes: number[], values: number[][]): Generator<void, void> {
    const fns = this.profile.nodes.fn;
    const { groups } = this.room;
    const sizes: number[] = [];
    const functions: number[] = [];
    for (let i = 0; i < nodes.length; ++i) {
      if (i % stepSize === stepSize - 1) yield;
      const fn = fns[nodes[i]!]!;
      if (groups[fn]! < 0) {
        groups[fn] = sizes.length;
        sizes.push(0);
        functions.push(fn);
      }
      ++sizes[groups[fn]!]!;
    }
    const starts = new Uint32Array(sizes.length + 1);
    sizes.forEach((size, group) => (starts[group + 1] = starts[group]! + size));
    const at = starts.slice();
    const sums = values.map(() => new Float64Array(sizes.length));
    const sortedNodes = new Uint32Array(nodes.length);
    const sortedValues = values.map(() => new Float64Array(nodes.length));
    for (let i = 0; i < nodes.length; ++i) {
      if (i % stepSize === stepSize - 1) yield;
      const group = groups[fns[nodes[i]!]!]!;
      const place = at[group]!++;
      sortedNodes[place] = nodes[i]!;
      for (let c = 0; c < values.length; ++c) {
        sortedValues[c]![place] = values[c]![i]!;
        sums[c]![group]! += values[c]![i]!;
      }
    }
    const first = this.merged.length;
    const shown: number[] = [];
    functions.forEach((fn, group) => {
      groups[fn] = -1;
      if (sums[0]![group]! > 0) shown.push(first + group);
      const part = <T>(column: { subarray(from: number, to: number): T }): T => column.subarray(starts[group]!, starts[group + 1]!);
      this.merged.push({ fn, parent: node, sums: sums.map((column) => column[group]!), nodes: part(sortedNodes), values: sortedValues.map(part), children: null });
    });
    const value = (one: number): number => this.merged[one]!.sums[0]!;
    this.merged[node]!.children = Uint32Array.from(shown).sort((a, b) => value(b) - value(a) || a - b);
  }
}

function weightsOf({ shown, growth, after }: Columns): Weights[] {
  return [shown, growth, after].filter((one): one is Weights => one !== undefined);
}

function finish(room: Room): void {
  while (room.growth && !room.growth.steps.next().done);
  room.growth = null;
}
