// Marks and snapshots: the moments that somebody named.
import type { Context, Page } from "../app/context";
import { changeText, countText, counted, exactText, secondsText } from "../model/text";
import { amount, table } from "./small_pages";
import { el } from "./dom";

const mostRows = 2000;

export class MarksPage implements Page {
  readonly element = el("section", { class: "page scroll" });

  constructor(context: Context) {
    const markers = context.profile.report.markers ?? [];
    if (markers.length === 0) {
      this.element.append(el("p", { class: "empty" }, "No moment of this program was named: heapledger mark PID NAME, or heapledger snapshot PID NAME."));
      return;
    }
    const snapshot = markers.find((marker) => marker.snapshot);
    this.element.append(el("h2", {}, counted(markers.length, "mark and snapshot", "marks and snapshots")),
      el("p", { class: "soft" }, snapshot ? "What every stack held at a snapshot: heapledger html FILE@NAME. What grew since then: heapledger report --since NAME FILE." : "Marks keep totals; a snapshot also keeps what every stack held."),
      table(["Time", "Live", "Since the one before", "Blocks", "Name", ""],
        markers.slice(0, mostRows).map((marker, i) => {
          const grown = marker.live_bytes - (markers[i - 1]?.live_bytes ?? 0);
          return [secondsText(marker.time), amount(marker.live_bytes), i === 0 ? "" : el("span", { title: exactText(grown, true) }, changeText(grown, true)),
            countText(marker.live_blocks), el("span", { class: "name" }, marker.name), marker.snapshot ? "snapshot" : ""];
        }), [4, 5]),
      markers.length > mostRows ? el("p", { class: "soft" }, `${countText(markers.length - mostRows)} more: heapledger report --json`) : "");
  }

  update(): void {}
}
