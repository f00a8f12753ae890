#!/bin/sh
# Instructions that one malloc and free take, bare and under the probe, by frames above the caller.
# usage: bench/instructions.sh [BUILD_DIR]        (default: build/release)
#
# The loop is single-stepped (count_steps), so the numbers are exact and the same in every run, on a busy machine and
# in a virtual one without hardware counters, where `perf stat -e instructions:u` has nothing to count.
set -eu

build=${1:-build/release}
pairs=100
columns='stay:1 stay:8 stay:32 descend:1 descend:8 descend:32'

programs=$build/bench
for program in count_steps pair; do
  if [ ! -x "$programs/$program" ]; then
    echo "instructions.sh: $programs/$program is not there: build with the release preset" >&2
    exit 2
  fi
done
programs=$(cd "$programs" && pwd)
probe=$build/lib/heapledger/libheapledger.so
[ ! -e "$probe" ] || probe=$(realpath "$probe")
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

# row NAME LIBRARY [VARIABLE=VALUE...]: one line of the table; an empty LIBRARY preloads nothing
row() {
  name=$1
  library=$2
  shift 2
  printf '%-16s' "$name"
  if [ -n "$library" ] && [ ! -e "$library" ]; then
    printf ' absent: %s\n' "$(basename "$library")"
    return
  fi
  for column in $columns; do
    steps=$("$programs/count_steps" env ${library:+"LD_PRELOAD=$library"} "$@" \
      "$programs/pair" "${column%:*}" "${column#*:}" $pairs trap 2>"$out/said") || steps=failed
    case $steps in
      failed) printf '%12s' failed ;;
      *) awk -v steps="$steps" -v pairs=$pairs 'BEGIN { printf "%12.1f", steps / pairs }' ;;
    esac
  done
  printf '\n'
}

printf '%-16s' 'a pair'
for column in $columns; do
  printf '%12s' "${column%:*} ${column#*:}"
done
printf '\n'
row bare ''
row wrapper "$programs/passthrough_0.so"
row wrapper+8 "$programs/passthrough_8.so"
for stacks in off fp dwarf; do
  row "heapledger $stacks" "$probe" HEAPLEDGER_STACKS=$stacks "HEAPLEDGER_OUTPUT=$out/$stacks.%p.hlp"
done
