// The program's own pools: heaps beside malloc's.
import type { Context, Page } from "../app/context";
import type { JsonFrame, Pool } from "../data/report";
import { bytesText, countText, counted, percentText } from "../model/text";
import { bar, el, fill, type Child } from "./dom";
import { stackCard } from "./json_stacks";
import { plainTable } from "./plain_table";
import { amount } from "./small_pages";

const mostPools = 200;
const mostStacks = 10;
const poolCode = /^[^(]*\bheapledger::(pool|published)/;

// From the code that asked the pool outward.
function callers(frames: JsonFrame[]): JsonFrame[] {
  const first = frames.findIndex((frame) => !frame.function || !poolCode.test(frame.function));
  return first < 0 ? frames : frames.slice(first);
}

function stacks(pool: Pool): Child[] {
  const live = pool.stacks.some((stack) => stack.live_bytes > 0);
  const weight = (stack: Pool["stacks"][number]): number => (live ? stack.live_bytes : stack.allocated_bytes);
  const all = pool.stacks.reduce((sum, stack) => sum + weight(stack), 0);
  const rows = [...pool.stacks].sort((a, b) => weight(b) - weight(a));
  return [
    ...rows.slice(0, mostStacks).map((stack) => stackCard(`${percentText(weight(stack), all)}  ${bytesText(weight(stack))} ${live
      ? "in use in " + counted(stack.allocations - stack.frees, "chunk") : "in " + counted(stack.allocations, "allocation")}`, callers(stack.frames))),
    rows.length > mostStacks ? el("p", { class: "soft" }, `${countText(rows.length - mostStacks)} more stacks: heapledger report --json`) : null,
  ];
}

export class PoolsPage implements Page {
  readonly element = el("section", { class: "page scroll problems" });

  constructor(context: Context) {
    const pools = [...(context.profile.report.pools ?? [])].sort((a, b) => b.peak_page_bytes - a.peak_page_bytes);
    if (pools.length === 0) {
      this.element.append(el("p", { class: "empty" }, "This program shows no pools of its own: heapledger/pool/publish.hpp."));
      return;
    }
    const used = (pool: Pool): number => pool.chunks_in_use * pool.chunk_bytes;
    fill(this.element, el("h2", {}, "Pools"),
      el("p", { class: "soft" }, "Memory that the pools hold themselves, beside what the other views tell of."),
      plainTable<Pool>([
        { title: "Pool", left: true, cell: (pool) => el("span", { class: "name" }, pool.name || "(no name)"), by: (pool) => pool.name },
        { title: "Open", cell: (pool) => (pool.closed === 0 ? countText(pool.opened) : `${countText(pool.opened - pool.closed)} of ${countText(pool.opened)}`),
          by: (pool) => pool.opened - pool.closed },
        { title: "Chunk", cell: (pool) => bytesText(pool.chunk_bytes), by: (pool) => pool.chunk_bytes },
        { title: "In use", cell: (pool) => countText(pool.chunks_in_use), by: (pool) => pool.chunks_in_use },
        { title: "Memory", cell: (pool) => amount(pool.page_bytes), by: (pool) => pool.page_bytes },
        { title: "Used", cell: (pool) => (pool.page_bytes > 0 ? percentText(used(pool), pool.page_bytes) : ""),
          by: (pool) => (pool.page_bytes > 0 ? used(pool) / pool.page_bytes : undefined) },
        { title: "", left: true, cell: (pool) => bar(used(pool) / (pool.page_bytes || 1), "var(--accent)") },
        { title: "Highest of one", cell: (pool) => amount(pool.peak_page_bytes), by: (pool) => pool.peak_page_bytes },
        { title: "Allocations", cell: (pool) => countText(pool.allocations), by: (pool) => pool.allocations },
        { title: "Frees", cell: (pool) => countText(pool.frees), by: (pool) => pool.frees },
      ], pools),
      ...pools.slice(0, mostPools).filter((pool) => pool.stacks.length > 0)
        .flatMap((pool): Child[] => [el("h2", {}, `Who holds chunks of ${pool.name || "(no name)"}`), ...stacks(pool)]));
  }

  update(): void {}
}
