// Stacks that are not the profile's own, of pools and mappings: as the report has them in JSON, frame by frame.
import type { JsonFrame } from "../data/report";
import { el } from "./dom";

const qualifiers = /( const| volatile| &&?| noexcept| \[clone [^\]]*\])+$/;

// Without parameters, what fills templates, and the type that is returned.
export function brief(name: string): string {
  let short = name.replaceAll("(anonymous namespace)::", "").replaceAll("operator()", "operator\0")
    .replace(/ \([\w:]*[*&]+\)/g, "");
  for (let before = ""; before !== short; ) {
    before = short;
    short = short.replace(/<[^<>]*>|(?<!^)(?<! )\([^()]*\)/g, "");
  }
  short = short.replace(qualifiers, "").trim();
  const last = /\S*\boperator .*$/.exec(short)?.[0] ?? short.split(" ").pop();
  return (last || name).replace("\0", "()");
}

function nameless(frame: JsonFrame): string {
  return frame.module ? `${frame.module.slice(frame.module.lastIndexOf("/") + 1)}+${frame.address}` : frame.address;
}

function frameItem(frame: JsonFrame): HTMLElement {
  const file = frame.file && `${frame.file}${frame.line ? `:${frame.line}` : ""}`;
  return el("li", {}, el("div", {}, frame.function ?? nameless(frame),
    el("small", {}, [file, frame.module, frame.inlined ? "inlined" : ""].filter(Boolean).join(" · "))));
}

// A line, and the innermost frames; the stack when it is opened.
export function stackCard(line: string, frames: JsonFrame[]): HTMLElement {
  return el("details", { class: "card" },
    el("summary", {}, line,
      el("small", { class: "soft" }, "  " + frames.slice(0, 3).map((frame) => (frame.function ? brief(frame.function) : nameless(frame))).join(" ← "))),
    el("ol", { class: "stack" }, ...frames.map(frameItem)));
}
