import { el } from "./dom";

const keys: [string, string][] = [
  ["1 … 9", "the views, from left to right"],
  ["/", "search; between slashes a regular expression"],
  ["f", "only what the search finds"],
  ["Esc", "end the search; then show everything"],
  ["m", "next measure"],
  ["i", "flame graph: from allocations outward, or from main inward"],
  ["o", "flame graph: root on top, or at the bottom"],
  ["arrows, Enter", "flame graph: walk, and zoom to the frame; tables: next row"],
  ["+  -  0", "flame graph: zoom in, out, show everything"],
  ["Shift+arrows, Enter", "timeline: choose a span, and show it; 0 shows all"],
  ["c", "stacks: copy the chosen one"],
  ["t", "light or dark"],
];

export function helpBox(): HTMLDialogElement {
  const close = el("button", {}, "Close");
  const box = el("dialog", { class: "help" }, el("h2", {}, "Keys"),
    el("dl", {}, ...keys.flatMap(([key, meaning]) => [el("dt", {}, key), el("dd", {}, meaning)])),
    el("p", { class: "soft" }, "The address of this page always holds what is shown: copy it to share the view. Nothing is fetched, nothing is sent."), close);
  close.addEventListener("click", () => box.close());
  return box;
}
