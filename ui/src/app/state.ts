// What the page shows, as plain data; the address's fragment keeps it, so that a link brings the same view back.
import { isMeasure, type Measure } from "../model/measure";

export const views = ["overview", "flame", "functions", "stacks", "sizes", "threads", "scopes", "marks", "pools", "leaks", "memory", "problems"] as const;
export type View = (typeof views)[number];

export const directions = ["down", "up", "callers", "callees"] as const;
export type FlameDirection = (typeof directions)[number]; // from main inward, from allocations outward, of one function

export interface State {
  view: View;
  by: Measure;
  direction: FlameDirection;
  rootAtBottom: boolean;
  scopes: "" | "shown" | "hidden"; // in the flame graph; "": shown where they are few
  window: { begin: number; end: number } | null; // of the flame graph, as shares
  fn: number; // chosen function, -1: none
  stack: number; // chosen stack, by its id, -1: none
  query: string;
  only: boolean; // leave out stacks that the query does not find
  skip: boolean; // what machinery allocates belongs to its first caller that is none
  sort: string; // view:column:up of the table that was sorted last
  span: { begin: number; end: number } | null; // of the timeline, in seconds
  theme: "" | "light" | "dark";
}

export const initial: State = {
  view: "overview",
  by: "peak",
  direction: "down",
  rootAtBottom: false,
  scopes: "",
  window: null,
  fn: -1,
  stack: -1,
  query: "",
  only: false,
  skip: true,
  sort: "",
  span: null,
  theme: "",
};

export function toFragment(state: State): string {
  const words = new URLSearchParams();
  const put = (name: string, value: string, usual: string): void => {
    if (value !== usual) words.set(name, value);
  };
  put("view", state.view, initial.view);
  put("by", state.by, "");
  put("dir", state.direction, initial.direction);
  put("root", state.rootAtBottom ? "bottom" : "top", "top");
  put("scopes", state.scopes, "");
  put("x", spanText(state.window), "");
  put("fn", String(state.fn), "-1");
  put("stack", String(state.stack), "-1");
  put("q", state.query, "");
  put("only", state.only ? "1" : "", "");
  put("raw", state.skip ? "" : "1", "");
  put("sort", state.sort, "");
  put("t", spanText(state.span), "");
  put("theme", state.theme, "");
  return words.toString();
}

// Anything may stand in an address: what makes no sense is left at its usual value.
export function fromFragment(fragment: string, usual: State): State {
  const words = new URLSearchParams(fragment.replace(/^#/, ""));
  const among = <T extends string>(name: string, known: readonly T[], other: T): T =>
    known.includes(words.get(name) as T) ? (words.get(name) as T) : other;
  const by = words.get("by");
  return {
    view: among("view", views, usual.view),
    by: isMeasure(by) ? by : usual.by,
    direction: among("dir", directions, usual.direction),
    rootAtBottom: words.get("root") === "bottom",
    scopes: among("scopes", ["", "shown", "hidden"] as const, ""),
    window: span(words.get("x")),
    fn: natural(words.get("fn")),
    stack: natural(words.get("stack")),
    query: words.get("q") ?? "",
    only: words.get("only") === "1",
    skip: words.get("raw") !== "1",
    sort: words.get("sort") ?? "",
    span: span(words.get("t")),
    theme: among("theme", ["", "light", "dark"] as const, ""),
  };
}

function natural(text: string | null): number {
  return text !== null && /^\d{1,10}$/.test(text) ? Number(text) : -1;
}

function spanText(span: { begin: number; end: number } | null): string {
  return span === null ? "" : `${+span.begin.toPrecision(12)}_${+span.end.toPrecision(12)}`;
}

function span(text: string | null): { begin: number; end: number } | null {
  const [begin, end] = (text ?? "").split("_").map(Number);
  if (begin === undefined || end === undefined || !Number.isFinite(begin) || !Number.isFinite(end)) return null;
  return begin >= 0 && end > begin ? { begin, end } : null;
}
