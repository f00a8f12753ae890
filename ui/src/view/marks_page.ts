// Marks and snapshots: the moments that somebody named.
import type { Context, Page } from "../app/context";
import type { Marker } from "../data/report";
import { changeText, countText, counted, exactText, secondsText } from "../model/text";
import { el } from "./dom";
import { plainTable } from "./plain_table";
import { amount } from "./small_pages";

interface Moment {
  marker: Marker;
  grown?: number; // since the one before
}

export class MarksPage implements Page {
  readonly element = el("section", { class: "page scroll" });

  constructor(context: Context) {
    const markers = context.profile.report.markers ?? [];
    if (markers.length === 0) {
      this.element.append(el("p", { class: "empty" }, "No moment of this program was named: heapledger mark PID NAME, or heapledger snapshot PID NAME."));
      return;
    }
    const snapshot = markers.find((marker) => marker.snapshot);
    const moments = markers.map((marker, i): Moment => (i === 0 ? { marker } : { marker, grown: marker.live_bytes - markers[i - 1]!.live_bytes }));
    this.element.append(el("h2", {}, counted(markers.length, "mark and snapshot", "marks and snapshots")),
      el("p", { class: "soft" }, snapshot ? "What every stack held at a snapshot: heapledger html FILE@NAME. What grew since then: heapledger report --since NAME FILE." : "Marks keep totals; a snapshot also keeps what every stack held."),
      plainTable<Moment>([
        { title: "Time", cell: ({ marker }) => secondsText(marker.time), by: ({ marker }) => marker.time },
        { title: "Live", cell: ({ marker }) => amount(marker.live_bytes), by: ({ marker }) => marker.live_bytes },
        { title: "Since the one before", cell: ({ grown }) => grown === undefined ? "" : el("span", { title: exactText(grown, true) }, changeText(grown, true)),
          by: ({ grown }) => grown },
        { title: "Blocks", cell: ({ marker }) => countText(marker.live_blocks), by: ({ marker }) => marker.live_blocks },
        { title: "Name", left: true, cell: ({ marker }) => el("span", { class: "name" }, marker.name), by: ({ marker }) => marker.name },
        { title: "", left: true, cell: ({ marker }) => (marker.snapshot ? "snapshot" : "") },
      ], moments));
  }

  update(): void {}
}
