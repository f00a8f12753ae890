// A flame graph on a canvas as large as its window, not as its picture: only what is in sight is drawn.
import type { Tree } from "../model/tree";
import { el, onFrame } from "./dom";
import { layOut, spanOf, type Box, type Window } from "./flame_layout";
import type { Colours } from "./colours";

const rowHeight = 19;
const zoomTime = 160;
const mostLevels = 2000;

export interface FlameHost {
  label(fn: number): string;
  colours(): Colours;
  found(): Uint8Array | null; // by function
  hint(tree: Tree, node: number, event: MouseEvent | null): void; // -1: several small ones; null: nothing is pointed at
  chosen(tree: Tree, node: number): void;
  moved(): void; // the window has changed
}

export class Flame {
  readonly element: HTMLElement;
  private readonly canvas = el("canvas");
  private readonly spacer = el("div", { class: "flame-spacer" });
  private tree: Tree | null = null;
  private boxes: Box[] = [];
  private levels = 0;
  private view: Window = { begin: 0, end: 1 };
  private rootAtBottom = false;
  private laidOutFor = "";
  private pointed = -1; // boxes
  private selected = -1; // tree node
  private animation = 0;
  private dragged = false;
  private readonly drawSoon = onFrame(() => this.draw());

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

  show(tree: Tree, rootAtBottom: boolean, shares: Window | null): void {
    const value = tree.value(tree.root);
    if (tree !== this.tree) this.selected = -1;
    this.tree = tree;
    this.rootAtBottom = rootAtBottom;
    this.view = shares ? { begin: shares.begin * value, end: shares.end * value } : { begin: 0, end: value };
    this.laidOutFor = "";
    this.drawNow();
    this.element.scrollTop = rootAtBottom ? this.spacer.offsetHeight : 0;
    this.drawSoon();
  }

  // Begin and end as shares of the whole, null when all is shown.
  shares(): Window | null {
    if (!this.tree) return null;
    const value = this.tree.value(this.tree.root);
    if (value <= 0 || (this.view.begin <= 0 && this.view.end >= value)) return null;
    return { begin: this.view.begin / value, end: this.view.end / value };
  }

  repaint(): void {
    this.drawSoon();
  }

  zoomOut(): void {
    if (this.tree) this.zoomTo({ begin: 0, end: this.tree.value(this.tree.root) });
  }

  zoomToNode(node: number): void {
    if (this.tree) this.zoomTo(spanOf(this.tree, node));
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
      this.zoomAround(0.5, 1 / 1.5);
    } else if (event.key === "-") {
      this.zoomAround(0.5, 1.5);
    } else if (event.key === "0") {
      this.zoomOut();
    } else {
      return false;
    }
    this.reveal(this.selected);
    return true;
  }

  private reveal(node: number): void {
    if (!this.tree || node < 0) return;
    const box = this.boxes.find((one) => one.node === node);
    if (!box) return;
    const y = this.top(box.level);
    const { scrollTop, clientHeight } = this.element;
    if (y < scrollTop) this.element.scrollTop = y - rowHeight;
    if (y + rowHeight > scrollTop + clientHeight) this.element.scrollTop = y + 2 * rowHeight - clientHeight;
  }

  private zoomTo(target: Window): void {
    cancelAnimationFrame(this.animation);
    const from = this.view;
    const begun = performance.now();
    const reduced = matchMedia("(prefers-reduced-motion: reduce)").matches;
    const step = (): void => {
      const done = reduced ? 1 : Math.min(1, (performance.now() - begun) / zoomTime);
      const eased = 1 - (1 - done) ** 3;
      this.view = {
        begin: from.begin + (target.begin - from.begin) * eased,
        end: from.end + (target.end - from.end) * eased,
      };
      if (done === 1) this.view = target;
      this.drawNow();
      if (done < 1) this.animation = requestAnimationFrame(step);
      else this.host.moved();
    };
    step();
  }

  private zoomAround(share: number, factor: number): void {
    if (!this.tree) return;
    const all = this.tree.value(this.tree.root);
    const span = this.view.end - this.view.begin;
    const wanted = Math.min(all, Math.max(span * factor, all * 1e-9, 1e-6));
    const pivot = this.view.begin + span * share;
    const begin = Math.max(0, Math.min(all - wanted, pivot - wanted * share));
    this.view = { begin, end: begin + wanted };
    this.drawSoon();
    this.host.moved();
  }

  private wheel(event: WheelEvent): void {
    const bounds = this.canvas.getBoundingClientRect();
    if (event.ctrlKey || event.metaKey || event.altKey) {
      event.preventDefault();
      this.zoomAround((event.clientX - bounds.left) / bounds.width, Math.exp(event.deltaY * 0.004));
    } else if (Math.abs(event.deltaX) > Math.abs(event.deltaY) || event.shiftKey) {
      event.preventDefault();
      this.pan((event.deltaX || event.deltaY) / bounds.width);
    }
  }

  private pan(share: number): void {
    if (!this.tree) return;
    const all = this.tree.value(this.tree.root);
    const span = this.view.end - this.view.begin;
    const begin = Math.max(0, Math.min(all - span, this.view.begin + span * share));
    this.view = { begin, end: begin + span };
    this.drawSoon();
    this.host.moved();
  }

  private drag(event: MouseEvent): void {
    this.dragged = false;
    let last = event;
    const move = (next: MouseEvent): void => {
      if (Math.abs(next.clientX - event.clientX) + Math.abs(next.clientY - event.clientY) > 4) this.dragged = true;
      if (!this.dragged) return;
      this.pan((last.clientX - next.clientX) / this.canvas.clientWidth);
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
    if (box.node < 0) return this.zoomTo({ begin: box.begin, end: box.end });
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

  private drawNow(): void {
    this.layOutAgain();
    this.draw();
  }

  private layOutAgain(): void {
    const width = this.element.clientWidth;
    const key = `${this.view.begin} ${this.view.end} ${width}`;
    if (!this.tree || width === 0 || key === this.laidOutFor) return;
    this.laidOutFor = key;
    this.pointed = -1;
    const fromBottom = this.spacer.offsetHeight - this.element.scrollTop;
    this.boxes = this.view.end > this.view.begin ? layOut(this.tree, this.view, width, mostLevels) : [];
    this.levels = this.boxes.reduce((most, box) => Math.max(most, box.level + 1), 0);
    const height = this.contentHeight();
    if (this.spacer.offsetHeight !== height) {
      this.spacer.style.height = `${height}px`;
      if (this.rootAtBottom) this.element.scrollTop = height - fromBottom;
    }
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
    this.paint(context, height);
  }

  private paint(context: CanvasRenderingContext2D, height: number): void {
    const tree = this.tree;
    if (!tree) return;
    const colours = this.host.colours();
    const found = this.host.found();
    const scroll = this.element.scrollTop;
    const style = getComputedStyle(this.element);
    const accent = style.getPropertyValue("--match");
    const dim = style.getPropertyValue("--dim");
    const byColour = new Map<string, Box[]>();
    for (const box of this.boxes) {
      const y = this.top(box.level) - scroll;
      if (y < -rowHeight || y > height) continue;
      const fn = box.node < 0 ? -1 : tree.fn(box.node);
      let colour = box.node < 0 ? dim : colours.fill(fn);
      if (found && fn >= 0) colour = found[fn] ? accent : colour;
      const list = byColour.get(colour);
      if (list) list.push(box);
      else byColour.set(colour, [box]);
    }
    for (const [colour, boxes] of byColour) {
      context.fillStyle = colour;
      context.globalAlpha = found && colour !== accent ? 0.42 : 1;
      for (const box of boxes) {
        const gap = box.width > 3 ? 1 : 0;
        context.fillRect(box.x, this.top(box.level) - scroll, Math.max(box.width - gap, 0.5), rowHeight - 1);
      }
    }
    context.globalAlpha = 1;
    this.paintText(context, tree, height, scroll);
    this.paintFrames(context, scroll, style.getPropertyValue("--ink"));
  }

  private paintText(context: CanvasRenderingContext2D, tree: Tree, height: number, scroll: number): void {
    const colours = this.host.colours();
    context.font = '11.5px ui-monospace, "SF Mono", "DejaVu Sans Mono", "Liberation Mono", monospace';
    context.textBaseline = "middle";
    const letter = context.measureText("0123456789").width / 10;
    const style = getComputedStyle(this.element);
    const ink = style.getPropertyValue("--ink");
    const soft = style.getPropertyValue("--soft");
    for (const box of this.boxes) {
      if (box.width < 3 * letter) continue;
      const y = this.top(box.level) - scroll;
      if (y < -rowHeight || y > height) continue;
      const fn = box.node < 0 ? -2 : tree.fn(box.node);
      const label = fn === -2 ? "smaller ones" : this.host.label(fn);
      const room = Math.floor((box.width - 7) / letter);
      if (room < 2) continue;
      const faint = fn === -2 || fn === -1 || colours.isFaint(colours.of(fn));
      context.fillStyle = fn === -2 ? soft : faint ? ink : colours.text;
      context.fillText(label.length <= room ? label : label.slice(0, room - 1) + "…", box.x + 4, y + rowHeight / 2);
    }
  }

  private paintFrames(context: CanvasRenderingContext2D, scroll: number, ink: string): void {
    const outline = (box: Box, width: number): void => {
      context.strokeStyle = ink;
      context.lineWidth = width;
      context.strokeRect(box.x + 0.5, this.top(box.level) - scroll + 0.5, Math.max(box.width - 2, 1), rowHeight - 2);
    };
    const pointed = this.boxes[this.pointed];
    if (pointed) outline(pointed, 1);
    const selected = this.selected < 0 ? undefined : this.boxes.find((box) => box.node === this.selected);
    if (selected) outline(selected, 2);
  }
}
