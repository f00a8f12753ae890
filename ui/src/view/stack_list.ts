// One stack, frame by frame, and as text to be copied.
import type { Context } from "../app/context";
import { flagInlined, flagMachinery, functionName, kindScope, lineText, moduleName, type Profile } from "../model/profile";
import { countText } from "../model/text";
import { el } from "./dom";

export interface Frame {
  fn: number;
  name: string;
  where: string;
  module: string;
  inlined: boolean;
  machinery: boolean;
  scope: boolean;
  node: number;
}

// From the allocation outward.
export function frames(profile: Profile, place: number): Frame[] {
  const { places, lines, functions } = profile;
  const list: Frame[] = [];
  for (let at = place; at !== 0; at = places.parent[at]!) {
    const line = places.line[at]!;
    const fn = lines.function[line]!;
    list.push({
      fn,
      name: functionName(profile, fn),
      where: lineText(profile, line),
      module: moduleName(profile, fn),
      inlined: (lines.flags[line]! & flagInlined) !== 0,
      machinery: (lines.flags[line]! & flagMachinery) !== 0,
      scope: functions.kind[fn] === kindScope,
      node: places.node[at]!,
    });
  }
  return list;
}

export function stackText(profile: Profile, place: number): string {
  return frames(profile, place)
    .map((frame) => {
      const behind = [frame.where, frame.module && `in ${frame.module}`, frame.inlined && "(inlined)"];
      return [frame.scope ? `scope ${frame.name}` : frame.name, ...behind.filter(Boolean)].join("  ");
    })
    .join("\n");
}

const innermostShown = 300;
const outermostShown = 100;

// Of a deep recursion, what a browser can lay out.
export function ends<T>(all: T[]): { innermost: T[]; left: number; outermost: T[] } {
  const left = all.length - innermostShown - outermostShown;
  return left <= 1
    ? { innermost: all, left: 0, outermost: [] }
    : { innermost: all.slice(0, innermostShown), left, outermost: all.slice(-outermostShown) };
}

export function stackList(context: Context, place: number): HTMLElement {
  const list = el("ol", { class: "stack" });
  const { innermost, left, outermost } = ends(frames(context.profile, place));
  if (innermost.length === 0) list.append(el("li", {}, "no stack"));
  const add = (frame: Frame): void => {
    const swatch = el("i", { class: "swatch" });
    swatch.style.background = context.colours().fill(frame.fn);
    const name = el("a", { href: "#", title: "its callers and callees" }, frame.name);
    name.addEventListener("click", (event) => {
      event.preventDefault();
      context.change({ view: "functions", fn: frame.fn });
    });
    list.append(
      el("li", { class: frame.machinery ? "faint" : "" }, swatch, el("div", {}, name,
        el("small", {}, [frame.where, frame.module, frame.inlined ? "inlined" : "", frame.scope ? "scope" : ""]
          .filter(Boolean).join(" · ")))));
  };
  innermost.forEach(add);
  if (left > 0) list.append(el("li", { class: "faint" }, `${countText(left)} frames more in between, which "Copy stack" on the page Stacks copies too`));
  outermost.forEach(add);
  return list;
}
