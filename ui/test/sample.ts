// Profiles made by hand: stacks as paths from main inward, "function@line" or "module!function", a "~" before machinery.
import { flagMachinery, kindNamed, Strings, type Profile } from "../src/model/profile";
import type { Report } from "../src/data/report";

export interface SampleStack {
  path: string[];
  peak?: number;
  live?: number;
  allocated?: number;
  count?: number;
}

interface Node {
  fn: number;
  places: { parent: Place | null; line: number; at: number }[];
  children: Node[];
}
type Place = Node["places"][number];

export function sample(stacks: SampleStack[]): Profile {
  const texts: string[] = [];
  const text = (word: string): number => (texts.includes(word) ? texts.indexOf(word) : texts.push(word) - 1);
  const functions: { name: number; module: number }[] = [];
  const lines: { fn: number; line: number; flags: number }[] = [];
  const modules = ["/usr/bin/program"];
  const root: Node = { fn: -1, places: [{ parent: null, line: -1, at: 0 }], children: [] };
  const ends: Place[] = [];
  for (const stack of stacks) {
    let node = root;
    let place = root.places[0]!;
    for (const word of stack.path) {
      const [, machinery, , module, name, line] = /^(~?)(([^!]*)!)?([^@]*)(?:@(\d+))?$/.exec(word)!;
      const path = module === undefined ? modules[0]! : `/usr/lib/${module}`;
      if (!modules.includes(path)) modules.push(path);
      let fn = functions.findIndex((one) => one.name === text(name!) && one.module === modules.indexOf(path));
      if (fn < 0) fn = functions.push({ name: text(name!), module: modules.indexOf(path) }) - 1;
      const flags = machinery ? flagMachinery : 0;
      let at = lines.findIndex((one) => one.fn === fn && one.line === Number(line ?? 0));
      if (at < 0) at = lines.push({ fn, line: Number(line ?? 0), flags }) - 1;
      let child = node.children.find((one) => one.fn === fn);
      if (!child) node.children.push((child = { fn, places: [], children: [] }));
      let inner = child.places.find((one) => one.parent === place && one.line === at);
      if (!inner) child.places.push((inner = { parent: place, line: at, at: 0 }));
      node = child;
      place = inner;
    }
    ends.push(place);
  }
  const order: { node: Node; parent: number; depth: number; end: number }[] = [];
  const walk = (node: Node, parent: number, depth: number): void => {
    const entry = { node, parent, depth, end: 0 };
    const index = order.push(entry) - 1;
    for (const child of node.children) walk(child, index, depth + 1);
    entry.end = order.length;
  };
  walk(root, 0, 0);
  const places: Place[] = order.flatMap(({ node }) => node.places);
  places.forEach((place, i) => (place.at = i));
  const file = text("/src/program.cpp");
  const bytes = texts.map((word) => new TextEncoder().encode(word));
  const count = stacks.length;
  const column = (of: (stack: SampleStack) => number): Float64Array => Float64Array.from(stacks, of);
  const nodeOf: number[] = order.flatMap(({ node }, i) => node.places.map(() => i));
  let before = 0;
  const firstPlace = Uint32Array.from([...order.map(({ node }) => (before += node.places.length) - node.places.length), places.length]);
  return {
    before: undefined,
    exact: true,
    words: { name: "program", command: "program", ending: "", host: "", losses: [], errors: [], error_kinds: [], symbols: [], modules, threads: [], nameless: "", dead_ends: "", notes: [], places: { time: [], lines: [] }, resident: [], symbolized: true },
    report: { process: { ended: "exited" } } as unknown as Report,
    strings: new Strings(Uint32Array.from(bytes, (one) => one.length), Uint8Array.from(bytes.flatMap((one) => [...one]))),
    functions: {
      count: functions.length,
      name: Uint32Array.from(functions, (fn) => fn.name),
      shortName: Uint32Array.from(functions, (fn) => fn.name),
      module: Int32Array.from(functions, (fn) => fn.module),
      kind: new Uint8Array(functions.length).fill(kindNamed),
    },
    lines: {
      count: lines.length,
      function: Uint32Array.from(lines, (line) => line.fn),
      file: new Uint32Array(lines.length).fill(file + 1),
      line: Uint32Array.from(lines, (line) => line.line),
      flags: Uint32Array.from(lines, (line) => line.flags),
    },
    nodes: {
      count: order.length,
      parent: Uint32Array.from(order, (entry) => entry.parent),
      depth: Uint16Array.from(order, (entry) => entry.depth),
      end: Uint32Array.from(order, (entry) => entry.end),
      fn: Int32Array.from(order, (entry) => entry.node.fn),
      firstPlace,
    },
    places: {
      count: places.length,
      parent: Uint32Array.from(places, (place) => place.parent?.at ?? 0),
      line: Int32Array.from(places, (place) => place.line),
      node: Uint32Array.from(nodeOf),
    },
    stacks: {
      count,
      place: Uint32Array.from(ends, (place) => place.at),
      id: Uint32Array.from(stacks, (_, i) => i + 1),
      allocations: column((stack) => stack.count ?? 0),
      liveBlocks: column(() => 0),
      allocated: column((stack) => stack.allocated ?? 0),
      live: column((stack) => stack.live ?? 0),
      temporaries: column(() => 0),
      reallocations: column(() => 0),
      peak: column((stack) => stack.peak ?? 0),
    },
  };
}

export function functionIndex(profile: Profile, name: string): number {
  for (let fn = 0; fn < profile.functions.count; ++fn) {
    if (profile.strings.get(profile.functions.name[fn]!) === name) return fn;
  }
  throw new Error(`no function ${name}`);
}
