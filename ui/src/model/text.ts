// Numbers for people, as src/tool/report/units.cpp writes them.

const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];

export function bytesText(bytes: number): string {
  let value = Math.abs(bytes);
  let unit = 0;
  while (unit + 1 < units.length && value >= (unit === 0 ? 1024 : 1023.95)) {
    value /= 1024;
    ++unit;
  }
  const sign = bytes < 0 ? "-" : "";
  return unit === 0 ? `${sign}${value} B` : `${sign}${value.toFixed(1)} ${units[unit]}`;
}

export function countText(count: number): string {
  return (count < 0 ? "-" : "") + String(Math.abs(count)).replace(/\B(?=(\d{3})+$)/g, ",");
}

export function counted(count: number, singular: string, plural = singular + "s"): string {
  return `${countText(count)} ${count === 1 ? singular : plural}`;
}

export function percentText(part: number, whole: number): string {
  return `${(whole === 0 ? 0 : (100 * part) / whole).toFixed(1)} %`;
}

export function secondsText(time: number): string {
  const seconds = Math.max(time, 0);
  if (seconds < 0.0095) return `${(seconds * 1e3).toFixed(2)} ms`;
  if (seconds < 60) return `${seconds.toFixed(2)} s`;
  const whole = Math.floor(seconds);
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${String(whole % 60).padStart(2, "0")} s`;
  return `${Math.floor(whole / 3600)} h ${String(Math.floor(whole / 60) % 60).padStart(2, "0")} min`;
}

// From nanoseconds on: "312 ns", "4.2 µs".
export function lifeText(time: number): string {
  const ns = Math.max(time, 0) * 1e9;
  if (ns < 999.5) return `${Math.round(ns)} ns`;
  if (ns < 999_500) return `${Number((ns / 1e3).toPrecision(3))} µs`;
  if (ns < 999_500_000) return `${Number((ns / 1e6).toPrecision(3))} ms`;
  return secondsText(time);
}

// 1 bytes of `measure` or counts; in full behind it.
export function valueText(value: number, isBytes: boolean): string {
  return isBytes ? bytesText(value) : countText(value);
}

export function exactText(value: number, isBytes: boolean): string {
  return isBytes ? `${countText(value)} bytes` : countText(value);
}

export function changeText(value: number, isBytes: boolean): string {
  return (value > 0 ? "+" : "") + valueText(value, isBytes);
}

// "+12.5 %", and what to say of growth from nothing.
export function growthText(before: number, after: number): string {
  if (before === after) return "the same";
  if (before === 0) return "new";
  const percent = (100 * (after - before)) / before;
  return `${percent > 0 ? "+" : ""}${percent.toFixed(1)} %`;
}

// What moves the cursor, is not seen or turns the direction of text, as src/tool/report/printable.cpp writes it.
export function printable(text: string): string {
  return text.replace(/[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g, (hidden) => {
    const code = hidden.charCodeAt(0);
    return code < 0xa0 ? `\\x${code.toString(16).padStart(2, "0")}` : `\\u{${code.toString(16)}}`;
  });
}
