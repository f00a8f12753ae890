// Search in function names, files and modules. A query between slashes is a regular expression.
import { functionName, moduleName, type Profile } from "./profile";
import type { Weights } from "./weights";

export type Matcher = (text: string) => boolean;

// Null for an expression that is none.
export function matcher(query: string): Matcher | null {
  const expression = /^\/(.+)\/$/.exec(query);
  if (expression) {
    try {
      const pattern = new RegExp(expression[1]!, "i");
      return (text) => pattern.test(text);
    } catch {
      return null;
    }
  }
  const wanted = query.toLowerCase();
  return (text) => text.toLowerCase().includes(wanted);
}

export interface Found {
  functions: Uint8Array; // by function
  nodes: Uint8Array; // by node: the function matches, or that of a caller
  value: number; // of all stacks with a match in them
  count: number; // functions that match
}

export function search(profile: Profile, weights: Weights, matches: Matcher): Found {
  const { nodes, functions, lines, strings } = profile;
  const found = new Uint8Array(functions.count);
  for (let fn = 0; fn < functions.count; ++fn) {
    if (matches(functionName(profile, fn)) || matches(moduleName(profile, fn))) found[fn] = 1;
  }
  const files = new Map<number, boolean>();
  for (let line = 0; line < lines.count; ++line) {
    const file = lines.file[line]!;
    if (file === 0 || found[lines.function[line]!]) continue;
    let matched = files.get(file);
    if (matched === undefined) files.set(file, (matched = matches(strings.get(file - 1))));
    if (matched) found[lines.function[line]!] = 1;
  }
  const below = new Uint8Array(nodes.count);
  let value = 0;
  for (let i = 1; i < nodes.count; ++i) {
    if (below[nodes.parent[i]!]) {
      below[i] = 1;
    } else if (found[nodes.fn[i]!]) {
      below[i] = 1;
      value += weights.total[i]!;
    }
  }
  return { functions: found, nodes: below, value, count: found.reduce((sum, one) => sum + one, 0) };
}

// Stacks with a match in them, by stack.
export function stacksIn(profile: Profile, nodes: Uint8Array): Uint8Array {
  const { stacks, places } = profile;
  const chosen = new Uint8Array(stacks.count);
  for (let i = 0; i < stacks.count; ++i) chosen[i] = nodes[places.node[stacks.place[i]!]!]!;
  return chosen;
}
