// The column of mean lives, where blocks were timed.
import { exactText, lifeText } from "../model/text";
import { el } from "./dom";
import type { Column } from "./table";

// In seconds; below zero: nothing of it was freed.
export function meanLife(of: (row: number) => number): Column {
  return {
    title: "Mean life",
    hint: "how long blocks lived until they were freed, on average; what was never freed does not count",
    width: "84px",
    right: true,
    wideOnly: true,
    cell: (row) => of(row) < 0 ? el("span", { class: "soft" }, "–")
      : el("span", { title: `${exactText(Math.round(of(row) * 1e9), false)} ns` }, lifeText(of(row))),
    order: (a, b) => of(b) - of(a),
    value: of,
  };
}
