// Names in little room.

// Without outer scopes as far as needed, then cut: "a::b<c::d>::e" in five letters is "e".
export function fitted(name: string, room: number): string {
  if (name.length <= room) return name;
  let rest = name;
  for (let next = withoutScope(rest); next !== "" && rest.length > room; next = withoutScope(rest)) rest = next;
  return rest.length <= room ? rest : rest.slice(0, Math.max(0, room - 1)) + "…";
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
