// The box beside the pointer.
import { el, fill, type Child } from "./dom";

export class Hint {
  readonly element = el("div", { class: "hint-box", role: "tooltip", hidden: true });

  show(x: number, y: number, ...content: Child[]): void {
    fill(this.element, ...content);
    this.element.hidden = false;
    const { width, height } = this.element.getBoundingClientRect();
    const left = x + 14 + width > innerWidth ? Math.max(4, x - width - 10) : x + 14;
    const top = y + 16 + height > innerHeight ? Math.max(4, y - height - 10) : y + 16;
    this.element.style.transform = `translate(${left}px, ${top}px)`;
  }

  hide(): void {
    this.element.hidden = true;
  }
}
