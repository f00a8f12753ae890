#!/bin/sh
# What a program pays for being watched by `heapledger top`: instructions of the same loop alone, and with a sample taken
# every 10 ms. The loop is single-stepped, so the numbers are exact; they differ by a few, as any two runs do.
# usage: bench/watched.sh [BUILD_DIR]        (default: build/release)
set -eu

build=$(realpath "${1:-build/release}")
pairs=600
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

steps() {
  "$build/bench/count_steps" env "LD_PRELOAD=$build/lib/heapledger/libheapledger.so" \
    "HEAPLEDGER_OUTPUT=$out/%p.hlp" "$build/bench/pair" stay 8 $pairs trap 2>/dev/null
}

alone=$(steps)
rm -f "$out"/*.hlp*
steps >"$out/watched" &
program=$!
samples=0
while kill -0 $program 2>/dev/null; do
  for segment in "$out"/*.hlp*; do
    pid=$(basename "$segment" | cut -d. -f1)
    [ -d "/proc/$pid" ] || continue
    seen=$("$build/bin/heapledger" top --json --interval 10 "$pid" 2>/dev/null | wc -l)
    samples=$((samples + seen))
  done
done
wait $program
printf 'alone    %12s instructions\nwatched  %12s instructions, %s samples\n' "$alone" "$(cat "$out/watched")" "$samples"
