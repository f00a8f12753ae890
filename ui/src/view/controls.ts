import { el } from "./dom";

// Buttons of which one is pressed.
export function segmented<T extends string>(
  choices: [T, string, string][],
  chosen: T,
  choose: (choice: T) => void,
): HTMLElement {
  return el("div", { class: "segmented", role: "group" }, ...choices.map(([choice, text, title]) =>
    el("button", { title, "aria-pressed": String(choice === chosen), "data-choice": choice, on: { click: () => choose(choice) } }, text)));
}
