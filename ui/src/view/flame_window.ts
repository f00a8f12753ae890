// Which part of a flame graph is in sight: zoomed with an animation, or around a point, or moved; never beyond the whole.
import type { Window } from "./flame_layout";

const zoomTime = 160;

export class FlameWindow {
  view: Window = { begin: 0, end: 1 };
  whole = 1;
  private animation = 0;

  // `drawNow` draws what a step of an animation shows, `drawSoon` the rest; `moved` is told where it ends.
  constructor(private readonly host: { drawNow(): void; drawSoon(): void; moved(): void }) {}

  // `shares` of the whole, null for all of it.
  reset(whole: number, shares: Window | null): void {
    cancelAnimationFrame(this.animation);
    this.whole = whole;
    this.view = shares ? { begin: shares.begin * whole, end: shares.end * whole } : { begin: 0, end: whole };
  }

  shares(): Window | null {
    const { view, whole } = this;
    if (whole <= 0 || (view.begin <= 0 && view.end >= whole)) return null;
    return { begin: view.begin / whole, end: view.end / whole };
  }

  zoomTo(target: Window): void {
    cancelAnimationFrame(this.animation);
    const from = this.view;
    const begun = performance.now();
    const reduced = matchMedia("(prefers-reduced-motion: reduce)").matches;
    const step = (): void => {
      const done = reduced ? 1 : Math.min(1, (performance.now() - begun) / zoomTime);
      const eased = 1 - (1 - done) ** 3;
      this.view = done === 1 ? target : {
        begin: from.begin + (target.begin - from.begin) * eased,
        end: from.end + (target.end - from.end) * eased,
      };
      this.host.drawNow();
      if (done < 1) this.animation = requestAnimationFrame(step);
      else this.host.moved();
    };
    step();
  }

  zoomAround(share: number, factor: number): void {
    const span = this.view.end - this.view.begin;
    const wanted = Math.min(this.whole, Math.max(span * factor, this.whole * 1e-9, 1e-6));
    this.moveTo(this.view.begin + (span - wanted) * share, wanted);
  }

  pan(share: number): void {
    const span = this.view.end - this.view.begin;
    this.moveTo(this.view.begin + span * share, span);
  }

  private moveTo(wanted: number, span: number): void {
    const begin = Math.max(0, Math.min(this.whole - span, wanted));
    this.view = { begin, end: begin + span };
    this.host.drawSoon();
    this.host.moved();
  }
}
