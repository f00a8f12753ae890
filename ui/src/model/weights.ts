// Values of one measure spread over the tree: what each node allocates itself, and with all that it calls.
import { flagMachinery, kindScope, type Profile } from "./profile";

export interface Weights {
  total: Float64Array; // by node, with descendants
  self: Float64Array; // by node: stacks that end here
  site: Float64Array; // by node: stacks whose first frame that is not machinery is here
}

// The place of the first frame outward that is not machinery, for each place; the place itself where there is none.
export function sitePlaces(profile: Profile): Uint32Array {
  const { places, lines, functions } = profile;
  const site = new Uint32Array(places.count);
  const found = new Uint8Array(places.count);
  for (let i = 1; i < places.count; ++i) {
    const line = places.line[i]!;
    const parent = places.parent[i]!;
    site[i] = i;
    if (functions.kind[lines.function[line]!] === kindScope) continue;
    if ((lines.flags[line]! & flagMachinery) === 0) {
      found[i] = 1;
    } else if (found[parent]) {
      found[i] = 1;
      site[i] = site[parent]!;
    }
  }
  return site;
}

// `chosen` leaves stacks out; null takes all.
export function weigh(profile: Profile, values: Float64Array, sites: Uint32Array, chosen: Uint8Array | null): Weights {
  const { nodes, places, stacks } = profile;
  const self = new Float64Array(nodes.count);
  const site = new Float64Array(nodes.count);
  for (let i = 0; i < stacks.count; ++i) {
    if (chosen !== null && chosen[i] === 0) continue;
    const place = stacks.place[i]!;
    self[places.node[place]!]! += values[i]!;
    site[places.node[sites[place]!]!]! += values[i]!;
  }
  const total = Float64Array.from(self);
  for (let i = nodes.count - 1; i > 0; --i) total[nodes.parent[i]!]! += total[i]!;
  return { total, self, site };
}

export interface FunctionSums {
  total: Float64Array; // by function; a recursive call counts once
  self: Float64Array;
  site: Float64Array;
}

export function sumFunctions(profile: Profile, weights: Weights): FunctionSums {
  const { nodes, functions } = profile;
  const total = new Float64Array(functions.count);
  const self = new Float64Array(functions.count);
  const site = new Float64Array(functions.count);
  forTopmost(profile, (node, fn) => (total[fn]! += weights.total[node]!));
  for (let i = 1; i < nodes.count; ++i) {
    self[nodes.fn[i]!]! += weights.self[i]!;
    site[nodes.fn[i]!]! += weights.site[i]!;
  }
  return { total, self, site };
}

// Calls visit for each node whose function is not already among its callers.
export function forTopmost(profile: Profile, visit: (node: number, fn: number) => void): void {
  const { nodes, functions } = profile;
  const until = new Uint32Array(functions.count); // within the descendants of an earlier node of this function
  for (let i = 1; i < nodes.count; ++i) {
    const fn = nodes.fn[i]!;
    if (i < until[fn]!) continue;
    until[fn] = nodes.end[i]!;
    visit(i, fn);
  }
}
