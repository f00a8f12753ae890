// What stacks are weighed by. The names are those of `heapledger report --by`.
import type { Totals } from "../data/report";
import type { Counters, Profile } from "./profile";

export type Measure = "peak" | "live" | "allocated" | "count" | "temporary";

export const measures: Measure[] = ["peak", "live", "allocated", "count", "temporary"];

export function isMeasure(text: string | null): text is Measure {
  return measures.includes(text as Measure);
}

export function isBytes(measure: Measure): boolean {
  return measure === "peak" || measure === "live" || measure === "allocated";
}

export function measureTitle(measure: Measure, profile: Profile): string {
  switch (measure) {
    case "peak":
      return "At the peak";
    case "live":
      return liveTitle(profile);
    case "allocated":
      return "Allocated";
    case "count":
      return "Allocations";
    case "temporary":
      return "Temporary";
  }
}

export function liveTitle(profile: Profile): string {
  switch (profile.report.process.ended) {
    case "exited":
      return "Never freed";
    case "signaled":
      return "Live at death";
    case "running":
      return "Live now";
    case "lost":
      return "Last seen live";
  }
}

export function measureMeaning(measure: Measure): string {
  switch (measure) {
    case "peak":
      return "bytes that were live at the moment when the process held most";
    case "live":
      return "bytes that were allocated and not freed";
    case "allocated":
      return "all bytes over the run, freed or not";
    case "count":
      return "number of allocations over the run";
    case "temporary":
      return "allocations that were freed before their thread's next one";
  }
}

export function stackValues(stacks: Counters, measure: Measure): Float64Array {
  switch (measure) {
    case "peak":
      return stacks.peak;
    case "live":
      return stacks.live;
    case "allocated":
      return stacks.allocated;
    case "count":
      return stacks.allocations;
    case "temporary":
      return stacks.temporaries;
  }
}

// The stacks at the peak add up to its total; of several threads the timeline may have seen more.
export function knownTotal(totals: Totals, measure: Measure): number {
  return measure === "peak" ? (totals.peak_bytes_seen ?? totals.peak_bytes) : totalOf(totals, measure);
}

export function totalOf(totals: Totals, measure: Measure): number {
  switch (measure) {
    case "peak":
      return totals.peak_bytes;
    case "live":
      return totals.live_bytes;
    case "allocated":
      return totals.allocated_bytes;
    case "count":
      return totals.allocations;
    case "temporary":
      return totals.temporaries;
  }
}
