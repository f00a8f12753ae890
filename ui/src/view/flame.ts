// A flame graph on a canvas as large as its window, not as its picture: only what is in sight is drawn.
// What takes longer to lay out than a frame is drawn as it comes.
import type { Tree } from "../model/tree";
import { el, onFrame } from "./dom";
import { Layout, spanOf, type Box, type Window } from "./flame_layout";
import { FlameWindow } from "./flame_window";
import { paintFlame, rowHeight, type Look } from "./flame_paint";

const frameWork = 10; // ms of layout in a frame
const mostLevels = 2000;

export interface FlameHost extends Look {
  hint(tree: Tree, node: number, event: MouseEvent | null): void; // -1: several small ones; null: nothing is pointed at
  chosen(tree: Tree, node: number): void;
  moved(): void; // the window has changed
}

export class Flame {
  readonly element: HTMLElement;
  private readonly canvas = el("canvas");
  private readonly spacer = el("div", { class: "flame-spacer" });
  private tree: Tree | null = null;
  private layout: Layout | null = null;
  private levels = 0;
  private rootAtBottom = false;
  private laidOutFor = "";
  private pointed = -1; // boxes
  private selected = -1; // tree node
  private sought = -1; // tree node that is to come in sight once it is laid out
  private dragged = false;
  private readonly drawSoon = onFrame(() => this.draw());
  private readonly window = new FlameWindow({
    drawNow: () => this.drawNow(),
    drawSoon: () => this.drawSoon(),
    moved: () => this.host.moved(),
  });

  constructor(private readonly host: FlameHost) {
    this.element = el("div", { class: "flame", tabindex: 0, role: "application", "aria-label": "flame graph" },
      el("div", { class: "flame-stick" }, this.canvas), this.spacer);
    this.element.addEventListener("scroll", this.drawSoon);
    this.canvas.addEventListener("mousemove", (event) => this.point(event));
    this.canvas.addEventListener("mouseleave", () => this.unpoint());
    this.canvas.addEventListener("click", (event) => this.click(event));
    this.canvas.addEventListener("dblclick", (event) => this.zoomAt(event));
    this.canvas.addEventListener("mousedown", (event) => this.drag(event));
    this.element.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    new ResizeObserver(() => this.drawSoon()).observe(this.element);
  }

  // `node` is chosen and brought in sight; -1: none is.
  show(tree: Tree, rootAtBottom: boolean, shares: Window | null, node = -1): void {
    if (tree !== this.tree || node >= 0) this.selected = node;
    this.sought = -1;
    this.tree = tree;
    this.rootAtBottom = rootAtBottom;
    this.window.reset(tree.value(tree.root), shares);
    this.laidOutFor = "";
    this.drawNow();
    this.element.scrollTop = rootAtBottom ? this.spacer.offsetHeight : 0;
    this.sought = node;
    this.seek();
    this.drawSoon();
  }

  // Begin and end as shares of the whole, null when all is shown.
  shares(): Window | null {
    return this.tree && this.window.shares();
  }

  repaint(): void {
    this.drawSoon();
  }

  zoomOut(): void {
    if (this.tree) this.window.zoomTo({ begin: 0, end: this.window.whole });
  }

  zoomToNode(node: number): void {
    if (this.tree) this.window.zoomTo(spanOf(this.tree, node));
  }

  select(node: number): void {
    if (!this.tree) return;
    this.selected = node;
    this.host.chosen(this.tree, node);
    this.drawSoon();
  }

  key(event: KeyboardEvent): boolean {
    const tree = this.tree;
    if (!tree) return false;
    const at = this.selected < 0 ? tree.root : this.selected;
    const inward = this.rootAtBottom ? "ArrowUp" : "ArrowDown";
    const outward = this.rootAtBottom ? "ArrowDown" : "ArrowUp";
    if (event.key === inward) {
      const first = tree.children(at)[0];
      if (first !== undefined) this.select(first);
    } else if (event.key === outward) {
      this.select(tree.parent(at));
    } else if (event.key === "ArrowLeft" || event.key === "ArrowRight") {
      const siblings = Array.from(tree.children(tree.parent(at)));
      const next = siblings[siblings.indexOf(at) + (event.key === "ArrowLeft" ? -1 : 1)];
      if (next !== undefined) this.select(next);
    } else if (event.key === "Enter") {
      this.zoomToNode(at);
    } else if (event.key === "+" || event.key === "=") {
      this.window.zoomAround(0.5, 1 / 1.5);
    } else if (event.key === "-") {
      this.window.zoomAround(0.5, 1.5);
    } else if (event.key === "0") {
      this.zoomOut();
    } else {
      return false;
    }
    this.reveal(this.selected);
    return true;
  }

  private seek(): void {
    if (this.reveal(this.sought) || this.layout?.isDone) this.sought = -1;
  }

  private reveal(node: number): boolean {
    const box = node < 0 ? undefined : this.boxes.find((one) => one.node === node);
    if (!box) return false;
    const y = this.top(box.level);
    const { scrollTop, clientHeight } = this.element;
    if (y < scrollTop) this.element.scrollTop = y - rowHeight;
    if (y + rowHeight > scrollTop + clientHeight) this.element.scrollTop = y + 2 * rowHeight - clientHeight;
    return true;
  }

  private wheel(event: WheelEvent): void {
    const bounds = this.canvas.getBoundingClientRect();
    if (event.ctrlKey || event.metaKey || event.altKey) {
      event.preventDefault();
      this.window.zoomAround((event.clientX - bounds.left) / bounds.width, Math.exp(event.deltaY * 0.004));
    } else if (Math.abs(event.deltaX) > Math.abs(event.deltaY) || event.shiftKey) {
      event.preventDefault();
      this.window.pan((event.deltaX || event.deltaY) / bounds.width);
    }
  }

  private drag(event: MouseEvent): void {
    this.dragged = false;
    let last = event;
    const move = (next: MouseEvent): void => {
      if (Math.abs(next.clientX - event.clientX) + Math.abs(next.clientY - event.clientY) > 4) this.dragged = true;
      if (!this.dragged) return;
      this.window.pan((last.clientX - next.clientX) / this.canvas.clientWidth);
      this.element.scrollTop += last.clientY - next.clientY;
      last = next;
    };
    const up = (): void => {
      removeEventListener("mousemove", move);
      removeEventListener("mouseup", up);
    };
    addEventListener("mousemove", move);
    addEventListener("mouseup", up);
  }

  private boxAt(event: MouseEvent): number {
    const bounds = this.canvas.getBoundingClientRect();
    const x = event.clientX - bounds.left;
    const y = event.clientY - bounds.top + this.element.scrollTop;
    return this.boxes.findIndex((box) => {
      const top = this.top(box.level);
      return x >= box.x && x < box.x + Math.max(box.width, 1) && y >= top && y < top + rowHeight;
    });
  }

  private point(event: MouseEvent): void {
    const box = this.boxAt(event);
    if (box !== this.pointed) {
      this.pointed = box;
      this.drawSoon();
    }
    const node = box < 0 ? null : this.boxes[box]!.node;
    if (this.tree && node !== null) this.host.hint(this.tree, node, event);
    else if (this.tree) this.host.hint(this.tree, 0, null);
  }

  private unpoint(): void {
    this.pointed = -1;
    if (this.tree) this.host.hint(this.tree, 0, null);
    this.drawSoon();
  }

  private click(event: MouseEvent): void {
    const box = this.boxes[this.boxAt(event)];
    if (this.dragged || !box || !this.tree) return;
    this.element.focus({ preventScroll: true });
    if (box.node < 0) return this.window.zoomTo({ begin: box.begin, end: box.end });
    this.select(box.node);
    this.zoomToNode(box.node);
  }

  private zoomAt(event: MouseEvent): void {
    const box = this.boxes[this.boxAt(event)];
    if (!box) this.zoomOut();
  }

  private top(level: number): number {
    return this.rootAtBottom ? this.contentHeight() - (level + 1) * rowHeight : level * rowHeight;
  }

  private contentHeight(): number {
    return Math.max(this.levels * rowHeight + 4, this.element.clientHeight);
  }

  private get boxes(): Box[] {
    return this.layout?.boxes ?? [];
  }

  private drawNow(): void {
    this.layOutAgain();
    this.draw();
  }

  private layOutAgain(): void {
    const width = this.element.clientWidth;
    const key = `${this.window.view.begin} ${this.window.view.end} ${width}`;
    if (!this.tree || width === 0 || key === this.laidOutFor) return this.goOn();
    this.laidOutFor = key;
    this.pointed = -1;
    this.layout = this.window.view.end > this.window.view.begin ? new Layout(this.tree, this.window.view, width, mostLevels) : null;
    this.goOn();
  }

  private goOn(): void {
    if (this.layout?.isDone) return;
    const fromBottom = this.spacer.offsetHeight - this.element.scrollTop;
    this.layout?.advance(performance.now() + frameWork);
    this.levels = this.boxes.reduce((most, box) => Math.max(most, box.level + 1), 0);
    const height = this.contentHeight();
    if (this.spacer.offsetHeight !== height) {
      this.spacer.style.height = `${height}px`;
      if (this.rootAtBottom) this.element.scrollTop = height - fromBottom;
    }
    if (this.sought >= 0) this.seek();
  }

  private draw(): void {
    this.layOutAgain();
    const width = this.element.clientWidth;
    const height = this.element.clientHeight;
    if (width === 0 || height === 0) return;
    const ratio = window.devicePixelRatio || 1;
    if (this.canvas.width !== Math.round(width * ratio) || this.canvas.height !== Math.round(height * ratio)) {
      this.canvas.width = Math.round(width * ratio);
      this.canvas.height = Math.round(height * ratio);
      this.canvas.style.width = `${width}px`;
      this.canvas.style.height = `${height}px`;
    }
    const context = this.canvas.getContext("2d")!;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    if (!this.tree) return;
    const scroll = this.element.scrollTop;
    paintFlame(context, getComputedStyle(this.element), {
      tree: this.tree,
      boxes: this.boxes,
      top: (level) => this.top(level) - scroll,
      height,
      pointed: this.boxes[this.pointed],
      selected: this.selected < 0 ? undefined : this.boxes.find((box) => box.node === this.selected),
    }, this.host);
    if (this.layout && !this.layout.isDone) this.drawSoon();
  }
}
