// Where names of moments stand on a line without covering each other.

export interface Moment {
  x: number; // where its line is
  width: number; // of its name
}

const gap = 4;

// Of each moment where its name begins: behind its line, before it, or null where there is no room for it. Whoever comes
// first has it.
export function placeNames(moments: Moment[], left: number, right: number): (number | null)[] {
  const taken: [number, number][] = [];
  const place = (begin: number, width: number): number | null => {
    const end = begin + width;
    if (begin < left || end > right || taken.some(([from, to]) => begin < to + gap && end > from - gap)) return null;
    taken.push([begin, end]);
    return begin;
  };
  return moments.map(({ x, width }) => place(x + gap, width) ?? place(x - gap - width, width));
}
