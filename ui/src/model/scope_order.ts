// Scopes as a tree, parents first, and of those in one parent what allocated most first.
import type { ScopeRow } from "../data/report";

export function largestFirst(scopes: ScopeRow[]): ScopeRow[] {
  const keys = (row: ScopeRow): string[] => row.scope.map((_, i) => JSON.stringify(row.scope.slice(0, i + 1)));
  const sizes = new Map<string, number>();
  const rows = scopes.map((row) => ({ row, keys: keys(row) }));
  for (const { row, keys } of rows) sizes.set(keys[keys.length - 1] ?? "", row.with_descendants.allocated_bytes);
  rows.sort((a, b) => {
    const at = a.keys.findIndex((key, i) => key !== b.keys[i]);
    const [one, other] = [a.keys[at], b.keys[at < 0 ? a.keys.length : at]];
    if (one === undefined || other === undefined) return a.keys.length - b.keys.length;
    return sizes.get(other)! - sizes.get(one)! || (one < other ? -1 : 1);
  });
  return rows.map(({ row }) => row);
}
