// A profile as the page holds it: columns of numbers, indices instead of pointers.
import type { Leaks, Report, Words } from "../data/report";

export const kindNamed = 0;
export const kindAddress = 1;
export const kindScope = 2;

export const flagInlined = 1;
export const flagMachinery = 2;

export class Strings {
  private readonly texts: (string | undefined)[];
  private readonly starts: Uint32Array;
  private readonly decoder = new TextDecoder();

  constructor(lengths: Uint32Array, private readonly bytes: Uint8Array) {
    this.texts = new Array(lengths.length);
    this.starts = new Uint32Array(lengths.length + 1);
    for (let i = 0; i < lengths.length; ++i) this.starts[i + 1] = this.starts[i]! + lengths[i]!;
  }

  get(index: number): string {
    const known = this.texts[index];
    if (known !== undefined) return known;
    const text = this.decoder.decode(this.bytes.subarray(this.starts[index]!, this.starts[index + 1]!));
    return (this.texts[index] = text);
  }
}

export interface Functions {
  count: number;
  name: Uint32Array; // into strings
  shortName: Uint32Array;
  module: Int32Array; // -1: none
  kind: Uint8Array;
}

export interface Lines {
  count: number;
  function: Uint32Array;
  file: Uint32Array; // into strings, plus one; 0: unknown
  line: Uint32Array; // 0: unknown
  flags: Uint32Array;
}

// Depth first: the descendants of node i are i + 1 .. end[i] - 1. Node 0 is the root and has no function.
export interface Nodes {
  count: number;
  parent: Uint32Array;
  depth: Uint16Array;
  end: Uint32Array;
  fn: Int32Array;
  firstPlace: Uint32Array; // one more than nodes
}

// Where in a node's function: its lines, each below one line of the caller.
export interface Places {
  count: number;
  parent: Uint32Array;
  line: Int32Array;
  node: Uint32Array;
}

export interface Counters {
  allocations: Float64Array;
  liveBlocks: Float64Array;
  allocated: Float64Array;
  live: Float64Array;
  temporaries: Float64Array;
  reallocations: Float64Array;
  peak: Float64Array;
}

// Where blocks were timed: how many were freed, and the seconds that they lived together.
export interface Lives {
  ended: Float64Array;
  lived: Float64Array;
}

export interface Stacks extends Counters {
  count: number;
  lives?: Lives | undefined;
  place: Uint32Array; // 0: no stack
  id: Uint32Array;
}

// What an older profile held, where two are compared.
export interface Before {
  words: Words;
  report: Report;
  stacks: Counters;
}

export interface Profile {
  before: Before | undefined;
  exact: boolean;
  words: Words;
  report: Report;
  leaks?: Leaks | undefined;
  strings: Strings;
  functions: Functions;
  lines: Lines;
  nodes: Nodes;
  places: Places;
  stacks: Stacks;
}

export function functionName(profile: Profile, fn: number): string {
  return fn < 0 ? "everything" : profile.strings.get(profile.functions.name[fn]!);
}

export function shortName(profile: Profile, fn: number): string {
  return fn < 0 ? "everything" : profile.strings.get(profile.functions.shortName[fn]!);
}

export function moduleName(profile: Profile, fn: number): string {
  const module = fn < 0 ? -1 : profile.functions.module[fn]!;
  return module < 0 ? "" : filePart(profile.words.modules[module] ?? "");
}

export function filePart(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}

export function lineText(profile: Profile, line: number): string {
  const file = line < 0 ? 0 : profile.lines.file[line]!;
  if (file === 0) return "";
  const at = profile.lines.line[line]!;
  return profile.strings.get(file - 1) + (at > 0 ? `:${at}` : "");
}
