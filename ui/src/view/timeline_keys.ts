// The chart without a mouse: arrows move the pointer and, with Shift, choose a span.
import type uPlot from "uplot";

const steps = 100; // over the chart

export class TimelineKeys {
  private anchor = 0; // where the span begins, px

  constructor(private readonly plot: () => uPlot | null) {}

  key(event: KeyboardEvent): void {
    const plot = this.plot();
    if (plot && !event.ctrlKey && !event.metaKey && !event.altKey && this.done(plot, event)) event.preventDefault();
  }

  private done(plot: uPlot, event: KeyboardEvent): boolean {
    const width = plot.over.clientWidth;
    const at = Math.max(0, plot.cursor.left ?? 0);
    const ways: Record<string, number> = { ArrowLeft: at - width / steps, ArrowRight: at + width / steps, Home: 0, End: width };
    const to = ways[event.key];
    if (to !== undefined) this.move(plot, Math.max(0, Math.min(width, to)), at, event.shiftKey);
    else if (event.key === "Enter" && plot.select.width > 0) this.show(plot, plot.posToVal(plot.select.left, "x"), plot.posToVal(plot.select.left + plot.select.width, "x"));
    else if (event.key === "0") this.show(plot, plot.data[0][0]!, plot.data[0][plot.data[0].length - 1]!);
    else return false;
    return true;
  }

  private move(plot: uPlot, to: number, from: number, choose: boolean): void {
    if (plot.select.width === 0) this.anchor = from;
    const left = Math.min(this.anchor, to);
    plot.setSelect({ left, top: 0, width: choose ? Math.abs(to - this.anchor) : 0, height: plot.over.clientHeight }, false);
    plot.setCursor({ left: to, top: plot.over.clientHeight / 2 });
  }

  private show(plot: uPlot, min: number, max: number): void {
    plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
    plot.setScale("x", { min, max });
  }
}
