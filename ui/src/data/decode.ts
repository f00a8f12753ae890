// From the bytes that src/tool/html/data.cpp writes to a Profile.
import { Reader } from "./reader";
import { printable } from "../model/text";
import type { Head } from "./report";
import { Strings, type Counters, type Lines, type Functions, type Lives, type Nodes, type Places, type Profile, type Stacks } from "../model/profile";

export function decode(data: Uint8Array): Profile {
  const reader = new Reader(data);
  const head = JSON.parse(new TextDecoder().decode(reader.block()), (_, value: unknown) => (typeof value === "string" ? printable(value) : value)) as Head;
  if (head.version !== 1) throw new Error(`this page's program cannot read data of version ${head.version}`);
  const counts = head.counts;
  const strings = new Strings(reader.indices(counts.strings), reader.block());
  const functions = decodeFunctions(reader, counts.functions);
  const lines: Lines = {
    count: counts.lines,
    function: reader.differences(counts.lines),
    file: reader.differences(counts.lines),
    line: reader.indices(counts.lines),
    flags: reader.indices(counts.lines),
  };
  const nodes = decodeNodes(reader, counts.nodes);
  const places = decodePlaces(reader, counts.places, nodes, lines);
  const place = reader.differences(counts.stacks);
  const id = reader.differences(counts.stacks);
  const stacks: Stacks = { count: counts.stacks, place, id, ...decodeCounters(reader, counts.stacks) };
  const before = head.before && { ...head.before, stacks: decodeCounters(reader, counts.stacks) };
  if (head.report.lifetimes) stacks.lives = decodeLives(reader, counts.stacks);
  return { before, exact: head.exact, words: head.words, report: head.report, leaks: head.leaks, strings, functions, lines, nodes, places, stacks };
}

function decodeFunctions(reader: Reader, count: number): Functions {
  const name = reader.differences(count);
  const shortName = Uint32Array.from(reader.signed(count), (step, i) => name[i]! + step);
  const module = Int32Array.from(reader.indices(count), (stored) => stored - 1);
  return { count, name, shortName, module, kind: Uint8Array.from(reader.indices(count)) };
}

function decodeNodes(reader: Reader, count: number): Nodes {
  const up = reader.indices(count);
  const fn = Int32Array.from(reader.indices(count), (stored) => stored - 1);
  const more = reader.indices(count);
  const parent = new Uint32Array(count);
  const depth = new Uint16Array(count);
  const end = new Uint32Array(count);
  const firstPlace = new Uint32Array(count + 1);
  const path: number[] = [0];
  for (let i = 0; i < count; ++i) {
    firstPlace[i + 1] = firstPlace[i]! + more[i]! + 1;
    if (i === 0) continue;
    if (up[i]! >= path.length) throw new Error("the data of this page is damaged");
    for (let left = up[i]!; left > 0; --left) end[path.pop()!] = i;
    parent[i] = path[path.length - 1]!;
    depth[i] = path.length;
    path.push(i);
  }
  for (const node of path) end[node] = count;
  return { count, parent, depth, end, fn, firstPlace };
}

function decodePlaces(reader: Reader, count: number, nodes: Nodes, lines: Lines): Places {
  const line = Int32Array.from(reader.indices(count));
  const parent = reader.indices(count);
  const node = new Uint32Array(count);
  const firstLine = new Map<number, number>();
  lines.function.forEach((fn, i) => firstLine.has(fn) || firstLine.set(fn, i));
  for (let i = 0; i < nodes.count; ++i) {
    const first = i === 0 ? -1 : firstLine.get(nodes.fn[i]!)!;
    const outer = nodes.firstPlace[nodes.parent[i]!]!;
    for (let place = nodes.firstPlace[i]!; place < nodes.firstPlace[i + 1]!; ++place) {
      node[place] = i;
      line[place] = i === 0 ? -1 : line[place]! + first;
      parent[place] = parent[place]! + outer;
    }
  }
  return { count, parent, line, node };
}

function decodeLives(reader: Reader, count: number): Lives {
  const ended = reader.numbers(count);
  const lived = reader.numbers(count);
  return { ended, lived: reader.numbers(count).map((ns, i) => lived[i]! + ns / 1e9) };
}

function decodeCounters(reader: Reader, count: number): Counters {
  const allocations = reader.numbers(count);
  const liveBlocks = reader.signed(count);
  const allocated = reader.numbers(count);
  const live = reader.signed(count);
  const temporaries = reader.numbers(count);
  const reallocations = reader.numbers(count);
  return { allocations, liveBlocks, allocated, live, temporaries, reallocations, peak: reader.signed(count) };
}
