// A table of any length: only the rows in sight are elements.
import { el, fill, onFrame, type Child } from "./dom";

export interface Column {
  title: string;
  hint?: string;
  width: string; // of a grid: "90px", "minmax(200px, 1fr)"
  right?: boolean;
  wideOnly?: boolean; // not where the window is narrow
  cell(row: number): Child;
  order?: (a: number, b: number) => number; // what a click on the head sorts by: the largest first
  value?: (row: number) => number; // the number that `order` goes by, where it is one
}

export interface TableHost {
  sorted(column: number, upward: boolean): void;
  chosen(row: number): void;
}

const rowHeight = 27;
const spare = 4;
const tallest = 8_000_000; // browsers stop at about 2^24 or 2^25 pixels

// The largest first, equal ones as they stood. Most are often zero, and need no sorting.
export function sortByValue(rows: Uint32Array, value: (row: number) => number, upward: boolean): void {
  const from = rows.slice();
  const values = Float64Array.from(from, value); // asked once for each row
  const above: number[] = [];
  const zero: number[] = [];
  const below: number[] = [];
  for (let i = 0; i < from.length; ++i) (values[i]! > 0 ? above : values[i]! < 0 ? below : zero).push(i);
  const sign = upward ? 1 : -1;
  const compare = (a: number, b: number): number => sign * (values[a]! - values[b]!) || from[a]! - from[b]!;
  above.sort(compare);
  below.sort(compare);
  let at = 0;
  for (const part of upward ? [below, zero, above] : [above, zero, below]) {
    for (const i of part) rows[at++] = from[i]!;
  }
}

export class Table {
  readonly element: HTMLElement;
  private readonly head = el("div", { class: "table-head", role: "row" });
  private readonly body = el("div", { class: "table-body" });
  private readonly rowsBox = el("div", { class: "table-rows" });
  private rows: ArrayLike<number> = [];
  private order: Uint32Array = new Uint32Array(0);
  private selected = -1;
  private drawn = new Map<number, HTMLElement>(); // by row; those in sight stay what they are while others come and go
  private readonly drawSoon = onFrame(() => this.draw());

  constructor(
    private readonly columns: Column[],
    private readonly host: TableHost,
    private sortColumn: number,
    private upward: boolean,
  ) {
    this.element = el("div", { class: "table", tabindex: 0, role: "table" }, this.head, this.body);
    this.body.append(this.rowsBox);
    this.element.style.setProperty("--columns", columns.map((column) => column.width).join(" "));
    this.element.addEventListener("scroll", this.drawSoon);
    this.element.addEventListener("keydown", (event) => this.key(event));
    new ResizeObserver(() => this.drawSoon()).observe(this.element);
    this.drawHead();
  }

  show(rows: ArrayLike<number>): void {
    this.rows = rows;
    this.sort();
  }

  setSort(column: number, upward: boolean): void {
    if (column === this.sortColumn && upward === this.upward) return;
    this.sortColumn = column;
    this.upward = upward;
    this.drawHead();
    this.sort();
  }

  select(row: number, scroll = true): void {
    this.selected = row;
    const at = this.order.indexOf(row);
    if (scroll && at >= 0) {
      const top = at * rowHeight;
      const { scrollTop, clientHeight } = this.element;
      if (top < scrollTop || top + 2 * rowHeight > scrollTop + clientHeight) {
        this.element.scrollTop = Math.max(0, top - clientHeight / 3);
      }
    }
    this.drawSoon();
  }

  first(): number {
    return this.order.length > 0 ? this.order[0]! : -1;
  }

  private sort(): void {
    this.drawn.clear();
    this.order = Uint32Array.from(this.rows);
    const { order: compare, value } = this.columns[this.sortColumn] ?? {};
    if (value) sortByValue(this.order, value, this.upward);
    else if (compare) this.order.sort(this.upward ? (a, b) => -compare(a, b) || a - b : (a, b) => compare(a, b) || a - b);
    this.body.style.height = `${Math.min(tallest, this.order.length * rowHeight)}px`;
    this.element.setAttribute("aria-rowcount", String(this.order.length));
    this.draw();
  }

  // A narrow window has fewer columns, but always the one that it is sorted by.
  private wideOnly(column: number): boolean {
    return this.columns[column]!.wideOnly === true && column !== this.sortColumn;
  }

  private drawHead(): void {
    const narrow = this.columns.filter((_, i) => !this.wideOnly(i)).map((column) => column.width.replace(/^minmax\(\d+px/, "minmax(0"));
    this.element.style.setProperty("--narrow-columns", narrow.join(" "));
    fill(this.head, ...this.columns.map((column, i) => {
      const active = i === this.sortColumn;
      const mark = active ? (this.upward ? " ▴" : " ▾") : "";
      const attributes = {
        role: "columnheader",
        tabindex: column.order ? 0 : undefined,
        "aria-sort": active ? (this.upward ? "ascending" : "descending") : undefined,
        class: `${column.right ? "right" : ""} ${this.wideOnly(i) ? "wide-cell" : ""} ${column.order ? "sortable" : ""} ${active ? "active" : ""}`,
        title: column.hint,
        on: {
          click: () => column.order && this.clickHead(i),
          keydown: (event: KeyboardEvent) => {
            if (!column.order || (event.key !== "Enter" && event.key !== " ")) return;
            event.preventDefault();
            this.clickHead(i);
          },
        },
      };
      return el("span", attributes, column.title + mark);
    }));
  }

  private clickHead(column: number): void {
    this.setSort(column, column === this.sortColumn ? !this.upward : false);
    this.element.scrollTop = 0;
    this.host.sorted(this.sortColumn, this.upward);
  }

  private key(event: KeyboardEvent): void {
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    if (step === 0) return;
    event.preventDefault();
    const at = Math.max(0, Math.min(this.order.length - 1, this.order.indexOf(this.selected) + step));
    const row = this.order[at];
    if (row === undefined) return;
    this.select(row);
    this.host.chosen(row);
  }

  private draw(): void {
    const { scrollTop, clientHeight } = this.element;
    const height = Math.min(tallest, this.order.length * rowHeight);
    const visible = Math.ceil(clientHeight / rowHeight) + 2 * spare;
    // Where the table is taller than a browser can scroll, a pixel stands for more than a pixel.
    const room = Math.max(1, height - clientHeight);
    const exact = height < tallest ? scrollTop / rowHeight : (scrollTop / room) * (this.order.length - clientHeight / rowHeight);
    const first = Math.max(0, Math.floor(exact) - spare);
    const last = Math.min(this.order.length, first + visible);
    this.rowsBox.style.transform = `translateY(${height < tallest ? first * rowHeight : scrollTop - spare * rowHeight}px)`;
    const rows = new Map<number, HTMLElement>();
    for (let i = first; i < last; ++i) {
      const row = this.order[i]!;
      const element = this.drawn.get(row) ?? this.drawRow(row);
      element.classList.toggle("selected", row === this.selected);
      rows.set(row, element);
    }
    this.drawn = rows;
    this.rowsBox.replaceChildren(...rows.values());
    if (this.order.length === 0) this.rowsBox.append(el("p", { class: "empty" }, "Nothing here."));
  }

  private drawRow(row: number): HTMLElement {
    const cells = this.columns.map((column, i) => el("span", { role: "cell", class: `${column.right ? "right" : ""} ${this.wideOnly(i) ? "wide-cell" : ""}` }, column.cell(row)));
    const attributes = {
      class: "table-row",
      role: "row",
      on: {
        click: () => {
          this.select(row, false);
          this.host.chosen(row);
        },
      },
    };
    return el("div", attributes, ...cells);
  }
}
