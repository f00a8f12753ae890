// Stacks that are not the profile's own, of pools and mappings: as the report has them in JSON, frame by frame.
import type { JsonFrame } from "../data/report";
import { el } from "./dom";

// Without parameters and what fills templates.
function brief(name: string): string {
  let short = name.replaceAll("(anonymous namespace)::", "");
  for (let before = ""; before !== short; ) {
    before = short;
    short = short.replace(/<[^<>]*>|(?<!^)(?<! )\([^()]*\)/g, "");
  }
  return short.split(" ").pop() ?? name;
}

function frameItem(frame: JsonFrame): HTMLElement {
  const file = frame.file && `${frame.file}${frame.line ? `:${frame.line}` : ""}`;
  return el("li", {}, el("div", {}, frame.function ?? `${frame.module ?? "?"}+${frame.address}`,
    el("small", {}, [file, frame.module, frame.inlined ? "inlined" : ""].filter(Boolean).join(" · "))));
}

// A line, and the innermost frames; the stack when it is opened.
export function stackCard(line: string, frames: JsonFrame[]): HTMLElement {
  return el("details", { class: "card" },
    el("summary", {}, line,
      el("small", { class: "soft" }, "  " + frames.slice(0, 3).map((frame) => (frame.function ? brief(frame.function) : frame.module ?? "?")).join(" ← "))),
    el("ol", { class: "stack" }, ...frames.map(frameItem)));
}
