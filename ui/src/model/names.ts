// Names in little room.

// Without outer scopes as far as needed, then cut: "a::b<c::d>::e" in five letters is "e".
export function fitted(name: string, room: number): string {
  if (name.length <= room) return name;
  const offset = /\+0x[\da-f]+$/.exec(name)?.[0]; // of a module: all that tells two of them apart
  if (offset && room > offset.length + 1) return name.slice(0, room - offset.length - 1) + "…" + offset;
  let rest = withoutPathsOfType(name, room);
  for (let next = withoutScope(rest); next !== "" && rest.length > room; next = withoutScope(rest)) rest = next;
  return rest.length <= room ? rest : rest.slice(0, Math.max(0, room - 1)) + "…";
}

// "<a::T as b::Trait>::f", as Rust names what belongs to a type, is "<T as Trait>::f", and then "<T>::f".
function withoutPathsOfType(name: string, room: number): string {
  const end = name.startsWith("<") ? findOutside(name, ">::") : -1;
  if (end < 0) return name;
  const inside = name.slice(1, end);
  const as = findOutside(inside, " as ");
  const type = "<" + withoutPath(as < 0 ? inside : inside.slice(0, as));
  const whole = as < 0 ? "" : `${type} as ${withoutPath(inside.slice(as + 4))}${name.slice(end)}`;
  return whole !== "" && whole.length <= room ? whole : type + name.slice(end);
}

function withoutPath(type: string): string {
  if (findOutside(type, " ") >= 0) return type;
  let rest = type;
  for (let next = withoutScope(rest); next !== ""; next = withoutScope(rest)) rest = next;
  return rest;
}

// Where the part stands outside of brackets; -1: nowhere.
function findOutside(text: string, part: string): number {
  let depth = 0;
  for (let i = 0; i < text.length; ++i) {
    const letter = text[i]!;
    if ("<({[".includes(letter)) ++depth;
    else if (")}]".includes(letter) || (letter === ">" && text[i - 1] !== "-")) --depth;
    if (depth === 0 && text.startsWith(part, i)) return i;
  }
  return -1;
}

function withoutScope(name: string): string {
  let depth = 0;
  for (let i = 0; i + 2 < name.length; ++i) {
    const letter = name[i]!;
    if (letter === "<" || letter === "(" || letter === "{") ++depth;
    else if (letter === ">" || letter === ")" || letter === "}") --depth;
    else if (depth === 0 && letter === " ") return "";
    else if (depth === 0 && letter === ":" && name[i + 1] === ":") return name.slice(i + 2);
  }
  return "";
}
