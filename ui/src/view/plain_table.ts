// A table of few rows, as they stand until a head is clicked: by numbers the largest first, by text from A on; then the
// other way round, then as they stood.
import { countText } from "../model/text";
import { el, fill, type Child } from "./dom";

export interface PlainColumn<Row> {
  title: string;
  left?: boolean;
  cell(row: Row, sorted: boolean): Child;
  by?: (row: Row) => number | string | undefined;
}

// Kept by who shows the table anew.
export class Sorting {
  column = -1;
  backward = false;

  click(column: number): void {
    if (column !== this.column) [this.column, this.backward] = [column, false];
    else if (!this.backward) this.backward = true;
    else [this.column, this.backward] = [-1, false];
  }
}

const mostRows = 2000;

export function sortRows<Row>(rows: Row[], by: (row: Row) => number | string | undefined, backward: boolean): Row[] {
  const keyed = rows.map((row) => ({ row, key: by(row) }));
  const first = (a: number | string, b: number | string): number =>
    typeof a === "number" && typeof b === "number" ? b - a : String(a).localeCompare(String(b), undefined, { numeric: true });
  keyed.sort((a, b) => {
    if (a.key === undefined || b.key === undefined) return Number(a.key === undefined) - Number(b.key === undefined); // last, both ways
    return backward ? first(b.key, a.key) : first(a.key, b.key);
  });
  return keyed.map(({ row }) => row);
}

function isNumber<Row>(rows: Row[], by: (row: Row) => number | string | undefined): boolean {
  return rows.some((row) => typeof by(row) === "number");
}

export function plainTable<Row>(columns: PlainColumn<Row>[], rows: Row[], sorting = new Sorting()): HTMLElement {
  const element = el("div");
  const draw = (): void => {
    const by = columns[sorting.column]?.by;
    const ordered = by ? sortRows(rows, by, sorting.backward) : rows;
    const side = (column: PlainColumn<Row>): string => (column.left ? "" : "right");
    const click = (i: number): void => {
      sorting.click(i);
      draw();
    };
    const head = (column: PlainColumn<Row>, i: number): HTMLElement => {
      if (!column.by) return el("th", { class: side(column) }, column.title);
      const active = sorting.column === i;
      const upward = isNumber(ordered, column.by) === sorting.backward;
      const button = el("button", { class: "head", on: { click: () => click(i) } }, column.title + (active ? (upward ? " ▴" : " ▾") : ""));
      return el("th", { class: side(column), "aria-sort": active ? (upward ? "ascending" : "descending") : undefined }, button);
    };
    const shown = ordered.slice(0, mostRows);
    fill(element, el("table", { class: "plain" }, el("thead", {}, el("tr", {}, ...columns.map(head))),
      el("tbody", {}, ...shown.map((row) => el("tr", {}, ...columns.map((column) => el("td", { class: side(column) }, column.cell(row, by !== undefined))))))),
    ordered.length > mostRows ? el("p", { class: "soft" }, `${countText(ordered.length - mostRows)} more: heapledger report --json`) : null);
  };
  draw();
  return element;
}
