// A line through points, at other times than theirs: straight between two of them, null before the first and after the last.
export function along(time: number[], values: number[], at: number[]): (number | null)[] {
  let next = 0;
  return at.map((when) => {
    while (next < time.length && time[next]! <= when) ++next;
    if (next === 0) return null;
    const [from, to] = [time[next - 1]!, time[next]];
    if (to === undefined) return when > from ? null : values[next - 1]!;
    const [before, after] = [values[next - 1]!, values[next]!];
    return Math.round(before + ((when - from) / (to - from)) * (after - before));
  });
}
