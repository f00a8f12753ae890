// The part of the page's data that is JSON: `heapledger report --json`, with one stack for each scope, and words for it.

export interface Counts {
  allocations: number;
  frees: number;
  allocated_bytes: number;
  freed_bytes: number;
  live_blocks: number;
  live_bytes: number;
}

export interface Totals extends Counts {
  reallocations: number;
  temporaries: number;
  peak_bytes: number;
  peak_bytes_error: number;
  peak_bytes_seen?: number; // by the timeline, where that is more
  peak_time?: number;
  timed_frees?: number; // these three where blocks were timed
  mean_lifetime?: number;
  mean_age?: number; // of what was not freed
}

export interface Thread {
  tid: number;
  name: string;
  allocations: number;
  frees: number;
  allocated_bytes: number;
  freed_bytes: number;
  start: number;
  end?: number;
}

export interface MemoryMap {
  time: number;
  rss_bytes: number;
  live_bytes: number;
  tag_bytes: number;
  profiler_bytes: number;
  allocator_bytes: number;
  mapped_bytes: number;
  file_bytes: number;
  stack_bytes: number;
  other_bytes: number;
}

export interface ScopeRow extends Counts {
  scope: string[];
  with_descendants: Counts;
  opened?: number;
  closed?: number;
  peak_bytes?: number;
  refusals?: number;
  overdrafts?: number;
  timeline?: { time: number; live_bytes: number }[]; // of outermost scopes
  budget?: { live_bytes?: number; allocated_bytes?: number; allocations?: number };
}

export interface TimelinePoint {
  time: number;
  live_bytes: number;
  live_blocks: number;
  allocations: number;
  rss_bytes?: number;
}

export interface SizeBucket {
  from: number;
  to: number;
  allocations: number;
}

// Blocks that were freed, by how long they lived: seconds, both ends included.
export interface LifetimeBucket {
  from: number;
  to: number;
  frees: number;
  freed_bytes: number;
}

export interface JsonFrame {
  function?: string;
  file?: string;
  line?: number;
  module?: string;
  address: string;
  inlined: boolean;
}

// All pools of one name and chunk size.
export interface Pool {
  name: string;
  chunk_bytes: number;
  opened: number;
  closed: number;
  allocations: number;
  frees: number;
  allocated_bytes: number;
  chunks_in_use: number;
  pages: number;
  page_bytes: number;
  peak_page_bytes: number;
  arenas: number;
  sizes: SizeBucket[];
  stacks: { allocations: number; frees: number; allocated_bytes: number; freed_bytes: number; live_bytes: number; frames: JsonFrame[] }[];
}

// What the program mapped itself, by mmap. Bytes are addresses, but for the resident ones.
export interface Mapped {
  peak_bytes: number;
  seen?: number; // when resident bytes were looked at last
  stacks: {
    kind: string; calls: number; mapped_bytes: number; unmapped_bytes: number; live_bytes: number; ranges: number;
    resident_bytes?: number; most_resident_bytes?: number; frames: JsonFrame[];
  }[];
}

// `heapledger leaks --json`.
export interface Leak {
  stack?: number; // or, of chunks of a pool:
  pool?: string;
  frames: JsonFrame[];
  verdict: "leak" | "retention" | "suspect";
  witnesses: string[];
  bytes: number;
  bytes_low: number;
  bytes_high: number;
  bytes_per_hour: number;
  blocks: number;
  oldest_age?: number;
  block_bytes_from?: number;
  block_bytes_to?: number;
  sampled: number;
  untouched: number;
  growth_stopped: boolean;
}

export interface Leaks {
  duration: number;
  leaks: Leak[];
  acquitted: number;
  watched: number;
  taken_back: number;
}

// A named moment; a snapshot keeps every stack's counters, too.
export interface Marker {
  time: number;
  name: string;
  live_bytes: number;
  live_blocks: number;
  snapshot?: boolean;
}

export interface Report {
  process: {
    pid: number;
    exe: string;
    start_time: number;
    duration: number;
    ended: "exited" | "signaled" | "running" | "lost";
    attached_after?: number;
    exit_code?: number;
    signal?: number;
    parent_pid?: number;
    forked?: boolean;
    replaced?: boolean;
    stacks?: string;
  };
  totals: Totals;
  threads: Thread[];
  sizes: SizeBucket[];
  lifetimes?: LifetimeBucket[]; // where blocks were timed
  profiler: { own_bytes: number; tag_bytes: number; accounts: number; nodes: number; losses: Record<string, number> };
  memory?: MemoryMap;
  memory_peak?: MemoryMap;
  scopes?: ScopeRow[];
  pools?: Pool[];
  mapped?: Mapped;
  timeline: TimelinePoint[];
  errors: { kind: string; count: number; stack: number; freed_frames?: JsonFrame[] }[];
  markers?: Marker[];
}

// The times are the same for all; the place that held most at any moment comes first.
export interface PlacesOverTime {
  time: number[];
  lines: { name: string; place: string; live: number[] }[];
}

export interface Words {
  name: string; // of the program
  command: string;
  ending: string;
  host: string;
  losses: string[];
  errors: string[]; // one for each of the report's
  error_kinds: string[]; // all of a kind together
  symbols: string[];
  modules: string[];
  threads: string[]; // names, one for each of the report's
  nameless: string; // of how much of the peak, and what to do; empty: of little
  dead_ends: string; // what to do where many stacks end early; empty: few do
  notes: string[]; // what must be known of how it was recorded
  places: PlacesOverTime;
  resident: string[]; // what much of resident memory is, where no stack of malloc's has it
  symbolized: boolean;
}

export interface Head {
  version: number;
  exact: boolean;
  counts: { strings: number; functions: number; lines: number; nodes: number; places: number; stacks: number };
  words: Words;
  report: Report;
  leaks?: Leaks; // where the leak watch was on
  before?: { words: Words; report: Report }; // of the older profile, where two are compared
}
