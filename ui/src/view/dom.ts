// Elements. Text from a profile becomes text nodes and attributes, never markup.

export type Child = Node | string | null | undefined | false;

export interface Attributes {
  class?: string;
  title?: string;
  id?: string;
  on?: Partial<{ [K in keyof HTMLElementEventMap]: (event: HTMLElementEventMap[K]) => void }>;
  [name: string]: unknown;
}

export function el<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === false) continue;
    if (name === "on") {
      for (const [event, handler] of Object.entries(value as object)) element.addEventListener(event, handler);
    } else {
      element.setAttribute(name, value === true ? "" : String(value));
    }
  }
  add(element, ...children);
  return element;
}

export function add(parent: Element, ...children: Child[]): void {
  for (const child of children) if (child) parent.append(child);
}

const focusable = "a[href], button, input, [tabindex]";

// What had the keyboard's focus gives it to what comes in its place.
export function fill(parent: Element, ...children: Child[]): void {
  const at = document.activeElement && parent.contains(document.activeElement) ? Array.from(parent.querySelectorAll(focusable)).indexOf(document.activeElement) : -1;
  parent.replaceChildren();
  add(parent, ...children);
  if (at >= 0) parent.querySelectorAll<HTMLElement>(focusable)[at]?.focus({ preventScroll: true });
}

// A horizontal bar; `share` of its width is filled.
export function bar(share: number, colour?: string): HTMLElement {
  const inner = el("i");
  inner.style.width = `${Math.max(0, Math.min(1, share)) * 100}%`;
  if (colour) inner.style.background = colour;
  return el("span", { class: "bar" }, inner);
}

// Runs at most once a frame.
export function onFrame(work: () => void): () => void {
  let asked = false;
  return () => {
    if (asked) return;
    asked = true;
    requestAnimationFrame(() => {
      asked = false;
      work();
    });
  };
}

export async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const area = el("textarea", { class: "offscreen" });
    area.value = text;
    document.body.append(area);
    area.select();
    const copied = document.execCommand("copy");
    area.remove();
    return copied;
  }
}
