// What the leak watch found.
import type { Context, Page } from "../app/context";
import type { Leak } from "../data/report";
import { bytesText, counted, secondsText } from "../model/text";
import { el, fill, type Child } from "./dom";
import { stackList } from "./stack_list";

const mostOfEach = 50;

type Kind = Leak["verdict"] | "freed";

const kinds: [Kind, string, string][] = [
  ["leak", "Leaks", "Neither freed nor touched any more."],
  ["freed", "Grew, untouched, and was freed when the program ended", "It would have been a leak in a program that goes on."],
  ["retention", "Growing, but used", "Not freed, and still touched now and then."],
  ["suspect", "Not decided yet", "Watched for too short a time, or too few of its blocks."],
];

export function leaksFound(context: Context): number {
  return context.profile.leaks?.leaks.filter((leak) => leak.verdict === "leak").length ?? 0;
}

function kindOf(leak: Leak): Kind {
  return leak.witnesses.includes("freed") ? "freed" : leak.verdict;
}

function facts(leak: Leak): string {
  const range = leak.bytes_low === leak.bytes_high ? "" : ` (${bytesText(leak.bytes_low)} to ${bytesText(leak.bytes_high)}, 95 %)`;
  const { block_bytes_from: from, block_bytes_to: to } = leak;
  const size = from === undefined || to === undefined ? "" : ` of ${from === to ? bytesText(from) : `${bytesText(from)} to ${bytesText(to)}`}`;
  return [`${bytesText(leak.bytes)}${range} in ${counted(leak.blocks, "block")}${size}`, `${bytesText(leak.bytes_per_hour)} an hour`,
    leak.oldest_age !== undefined && `the oldest ${secondsText(leak.oldest_age)} old`,
    leak.sampled > 0 && `${leak.untouched} of ${leak.sampled} watched blocks not touched`,
    leak.witnesses.includes("unreachable") && "nothing points to it",
    leak.witnesses.includes("reachable") && "something still points to it, if only other lost blocks", leak.witnesses.includes("freed") && "freed when the program ended",
    leak.growth_stopped && "has stopped growing"].filter(Boolean).join(" · ");
}

export class LeaksPage implements Page {
  readonly element = el("section", { class: "page scroll problems" });

  constructor(private readonly context: Context) {}

  update(): void {
    const { profile, model } = this.context;
    const { leaks } = profile;
    if (!leaks) {
      fill(this.element, el("p", { class: "empty" }, "The profile has no leak watch: heapledger run --leaks -- PROGRAM, or heapledger start PID while it runs."));
      return;
    }
    const content: Child[] = [el("p", { class: "soft" }, `Watched for ${secondsText(leaks.duration)}: ${counted(leaks.watched, "block")}, ` +
      `${counted(leaks.acquitted, "stack")} acquitted, ${counted(leaks.taken_back, "verdict")} taken back.`)];
    const watchedNone = leaks.watched + leaks.acquitted + leaks.taken_back + leaks.leaks.length === 0;
    if (watchedNone) content.push(el("p", {}, "Nothing can be said about leaks: no block became old enough to be suspicious. Watch for longer, or say with --leaks-suspicious how many seconds are old."));
    else if (leaksFound(this.context) === 0) content.push(el("p", { class: "good" }, "Nothing was found to leak."));
    for (const [kind, title, meaning] of kinds) {
      const found = leaks.leaks.filter((leak) => kindOf(leak) === kind);
      if (found.length === 0) continue;
      content.push(el("h2", {}, title), el("p", { class: "soft" }, meaning));
      for (const leak of found.slice(0, mostOfEach)) {
        const stack = leak.stack === undefined ? -1 : model.stackById(leak.stack);
        content.push(el("div", { class: "card" }, el("p", { class: kind === "leak" ? "alarm" : "" }, facts(leak)),
          leak.pool === undefined ? null : el("p", { class: "soft" }, `chunks of the pool ${leak.pool}: ${leak.frames.map((frame) => frame.function ?? "?").join(" < ")}`),
          stack < 0 ? null : stackList(this.context, profile.stacks.place[stack]!)));
      }
      if (found.length > mostOfEach) content.push(el("p", { class: "soft" }, `${found.length - mostOfEach} more: heapledger leaks --json`));
    }
    fill(this.element, ...content);
  }
}
