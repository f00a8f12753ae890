// The peak and the named moments on the chart of live bytes: a line with its name, or a tick where names would cover each
// other.
import type uPlot from "uplot";
import type { Report } from "../data/report";
import { placeNames } from "../model/name_places";
import type { Profile } from "../model/profile";
import { bytesText } from "../model/text";

const widestName = 150; // px
const tick = 7; // px
const near = 4; // px

interface Mark {
  x: number;
  text: string;
  stroke: string;
}

export function drawMarks(plot: uPlot, { report, before }: Profile, colour: (name: string) => string): void {
  const context = plot.ctx;
  const ratio = devicePixelRatio || 1;
  const { left, top, width, height } = plot.bbox;
  const right = left + width;
  const position = (time: number): number => plot.valToPos(time, "x", true);
  const { totals, markers = [] } = report;
  const marks: Mark[] = [];
  // The peak by the books, which knows more than the points of the timeline do.
  if (totals.peak_time !== undefined) {
    marks.push({ x: position(totals.peak_time), text: `peak${totals.peak_bytes_seen === undefined ? "" : " by stack"} ${bytesText(totals.peak_bytes)}`, stroke: colour("--peak") });
  }
  const old = before?.report.totals;
  if (old?.peak_time !== undefined) marks.push({ x: position(old.peak_time), text: `peak before ${bytesText(old.peak_bytes)}`, stroke: colour("--soft") });
  for (const marker of markers) marks.push({ x: position(marker.time), text: marker.name, stroke: colour("--soft") });
  const seen = marks.filter(({ x }) => x >= left - 1 && x <= right + 1);

  context.save();
  context.font = `${11 * ratio}px system-ui, sans-serif`;
  context.textBaseline = "bottom";
  context.textAlign = "left";
  context.lineWidth = ratio;
  const texts = seen.map((mark) => shortened(context, mark.text, widestName * ratio));
  const begins = placeNames(seen.map(({ x }, i) => ({ x: x / ratio, width: context.measureText(texts[i]!).width / ratio })), left / ratio, right / ratio);
  seen.forEach(({ x, stroke }, i) => {
    const begin = begins[i]!;
    context.strokeStyle = context.fillStyle = stroke;
    context.setLineDash(begin === null ? [] : [3 * ratio, 3 * ratio]);
    context.beginPath();
    context.moveTo(x, top);
    context.lineTo(x, begin === null ? top + tick * ratio : top + height);
    context.stroke();
    if (begin !== null) context.fillText(texts[i]!, begin * ratio, top + 2 * ratio);
  });
  context.restore();
}

// The names of those that the pointer is at.
export function marksAt(plot: uPlot, { markers = [] }: Report): string[] {
  const at = plot.cursor.left ?? -1;
  return at < 0 ? [] : markers.filter((marker) => Math.abs(plot.valToPos(marker.time, "x") - at) <= near).map((marker) => marker.name);
}

function shortened(context: CanvasRenderingContext2D, text: string, most: number): string {
  if (context.measureText(text).width <= most) return text;
  let length = text.length;
  while (length > 1 && context.measureText(`${text.slice(0, length)}…`).width > most) --length;
  return `${text.slice(0, length)}…`;
}
