// Which boxes of a tree are wide enough to be seen, and where. Horizontal positions are values of the tree's measure: the
// window from `begin` to `end` is stretched over `width` pixels.
import type { Tree } from "../model/tree";

export interface Box {
  node: number; // -1: several small ones together
  level: number;
  x: number; // pixels
  width: number;
  parent: number; // index of the box below it, -1 for the root
  begin: number;
  end: number;
}

export interface Window {
  begin: number;
  end: number;
}

export const narrowest = 0.7;

export function layOut(tree: Tree, window: Window, width: number, deepest: number): Box[] {
  const layout = new Layout(tree, window, width, deepest);
  layout.advance(Infinity);
  return layout.boxes;
}

// Level by level, the widest first, and no longer at a time than somebody who looks at it would notice.
export class Layout {
  readonly boxes: Box[] = [];
  private next = 0;
  private readonly scale: number;

  constructor(private readonly tree: Tree, private readonly window: Window, private readonly width: number, private readonly deepest: number) {
    this.scale = width / (window.end - window.begin);
    this.put(tree.root, 0, -1, 0, tree.value(tree.root));
  }

  get isDone(): boolean {
    return this.next >= this.boxes.length;
  }

  // Until a time of performance.now(), or the end.
  advance(until: number): void {
    for (let steps = 0; !this.isDone; ++this.next, ++steps) {
      if (!this.tree.prepare(Math.max(this.boxes[this.next]!.node, 0), until)) return;
      this.extend(this.next);
      if (steps % 64 === 63 && performance.now() >= until) return void ++this.next;
    }
  }

  private put(node: number, level: number, parent: number, begin: number, end: number): void {
    const left = Math.max(0, (begin - this.window.begin) * this.scale);
    const right = Math.min(this.width, (end - this.window.begin) * this.scale);
    this.boxes.push({ node, level, x: left, width: right - left, parent, begin, end });
  }

  private extend(i: number): void {
    const { tree, window, scale } = this;
    const box = this.boxes[i]!;
    if (box.node < 0 || box.level + 1 >= this.deepest) return;
    let begin = box.begin;
    const children = tree.children(box.node);
    for (let c = 0; c < children.length; ++c) {
      const child = children[c]!;
      const value = tree.value(child);
      const end = Math.min(begin + value, box.end);
      if (value * scale < narrowest) {
        // All that follow are smaller still.
        let rest = begin;
        for (; c < children.length; ++c) rest += tree.value(children[c]!);
        rest = Math.min(rest, box.end);
        if ((rest - begin) * scale >= narrowest && rest > window.begin && begin < window.end) {
          this.put(-1, box.level + 1, i, begin, rest);
        }
        break;
      }
      if (end > window.begin && begin < window.end) this.put(child, box.level + 1, i, begin, end);
      begin = end;
    }
  }
}

// The span of a node, which its callers' larger children shift to the right.
export function spanOf(tree: Tree, node: number): Window {
  const path: number[] = [];
  for (let at = node; at !== tree.root; at = tree.parent(at)) path.push(at);
  let begin = 0;
  let from = tree.root;
  for (const child of path.reverse()) {
    const siblings = tree.children(from);
    for (let i = 0; i < siblings.length && siblings[i] !== child; ++i) begin += tree.value(siblings[i]!);
    from = child;
  }
  return { begin, end: begin + tree.value(node) };
}
