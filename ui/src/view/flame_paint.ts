// Boxes of a flame graph on a canvas: fills by colour, names where there is room, outlines.
import { fitted } from "../model/names";
import type { Tree } from "../model/tree";
import { darkText, textOn } from "./colours";
import type { Box } from "./flame_layout";

export const rowHeight = 19;

export interface Look {
  label(fn: number): string;
  fill(tree: Tree, node: number): string;
  found(): Uint8Array | null; // by function
}

export interface Scene {
  tree: Tree;
  boxes: Box[]; // of which those in sight are drawn
  top(level: number): number; // pixels on the canvas
  height: number;
  pointed: Box | undefined;
  selected: Box | undefined;
}

export function paintFlame(context: CanvasRenderingContext2D, style: CSSStyleDeclaration, scene: Scene, look: Look): void {
  const inSight = scene.boxes.filter((box) => scene.top(box.level) >= -rowHeight && scene.top(box.level) <= scene.height);
  fillBoxes(context, style, scene, look, inSight);
  writeNames(context, style, scene, look, inSight);
  context.strokeStyle = style.getPropertyValue("--ink");
  outline(context, scene, scene.pointed, 1);
  outline(context, scene, scene.selected, 2);
}

function fillBoxes(context: CanvasRenderingContext2D, style: CSSStyleDeclaration, { tree, top }: Scene, look: Look, inSight: Box[]): void {
  const found = look.found();
  const accent = style.getPropertyValue("--match");
  const dim = style.getPropertyValue("--dim");
  const byColour = new Map<string, Box[]>();
  for (const box of inSight) {
    const fn = box.node < 0 ? -1 : tree.fn(box.node);
    const colour = found && fn >= 0 && found[fn] ? accent : box.node < 0 ? dim : look.fill(tree, box.node);
    const list = byColour.get(colour);
    if (list) list.push(box);
    else byColour.set(colour, [box]);
  }
  for (const [colour, boxes] of byColour) {
    context.fillStyle = colour;
    context.globalAlpha = found && colour !== accent ? 0.42 : 1;
    for (const box of boxes) {
      const gap = box.width > 3 ? 1 : 0;
      context.fillRect(box.x, top(box.level), Math.max(box.width - gap, 0.5), rowHeight - 1);
    }
  }
  context.globalAlpha = 1;
}

function writeNames(context: CanvasRenderingContext2D, style: CSSStyleDeclaration, { tree, top }: Scene, look: Look, inSight: Box[]): void {
  const found = look.found();
  context.font = '11.5px ui-monospace, "SF Mono", "DejaVu Sans Mono", "Liberation Mono", monospace';
  context.textBaseline = "middle";
  const letter = context.measureText("0123456789").width / 10;
  const ink = style.getPropertyValue("--ink");
  const soft = style.getPropertyValue("--soft");
  for (const box of inSight) {
    const room = Math.floor((box.width - 7) / letter);
    if (room < 2 || box.width < 3 * letter) continue;
    const fn = box.node < 0 ? -2 : tree.fn(box.node);
    const isDimmed = found !== null && (fn < 0 || !found[fn]);
    const isFound = found !== null && !isDimmed;
    context.fillStyle = fn === -2 ? soft : isDimmed ? ink : isFound ? darkText : textOn(look.fill(tree, box.node));
    context.fillText(fitted(fn === -2 ? "smaller ones" : look.label(fn), room), box.x + 4, top(box.level) + rowHeight / 2);
  }
}

function outline(context: CanvasRenderingContext2D, { top }: Scene, box: Box | undefined, width: number): void {
  if (!box) return;
  context.lineWidth = width;
  context.strokeRect(box.x + 0.5, top(box.level) + 0.5, Math.max(box.width - 2, 1), rowHeight - 2);
}
