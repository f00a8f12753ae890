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

// 1 bytes of `measure` or counts; in full behind it.
export function valueText(value: number, isBytes: boolean): string {
  return isBytes ? bytesText(value) : countText(value);
}

export function exactText(value: number, isBytes: boolean): string {
  return isBytes ? `${countText(value)} bytes` : countText(value);
}
