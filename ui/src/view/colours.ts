// A colour is a module: the larger ones have a hue each, the C and C++ libraries and what is too small are grey. Frames of
// allocators and libraries are faint. Three shades of a hue keep neighbours apart.
import { flagMachinery, kindScope, moduleName, type Profile } from "../model/profile";

// Told apart by people who do not tell red from green, too (after Okabe and Ito), softened for large areas.
const hues: [number, number, number][] = [
  [36, 88, 62],
  [204, 66, 62],
  [158, 46, 56],
  [326, 42, 68],
  [52, 78, 58],
  [266, 48, 70],
  [14, 70, 64],
  [186, 52, 58],
  [92, 40, 58],
];
const grey: [number, number, number] = [220, 8, 68];
const scopeHue: [number, number, number] = [230, 70, 66];

const shades = 3;

export interface ModuleColour {
  name: string;
  fill: string;
  value: number;
}

export class Colours {
  readonly fills: string[] = []; // a function's colour is an index into these
  readonly faint: string;
  readonly legend: ModuleColour[] = [];
  private readonly byFunction: Uint8Array;

  // `weight` is what each module allocates.
  constructor(private readonly profile: Profile, weight: Map<number, number>, private readonly dark: boolean) {
    const palette = [...hues, grey, scopeHue];
    for (const [h, s, l] of palette) {
      for (let shade = 0; shade < shades; ++shade) this.fills.push(this.hsl(h, s, l + 5 * (shade - 1)));
    }
    this.faint = this.fills[hues.length * shades + 1]!;
    for (let shade = 0; shade < shades; ++shade) {
      this.fills.push(dark ? `hsl(220 6% ${34 + 2 * shade}%)` : `hsl(220 10% ${85 + 2 * shade}%)`);
    }
    this.byFunction = this.assign(weight);
  }

  of(fn: number): number {
    return fn < 0 ? hues.length * shades + 1 : this.byFunction[fn]!;
  }
  fill(fn: number): string {
    return this.fills[this.of(fn)]!;
  }
  // Red grew, blue shrank, grey did not change; the stronger, the larger the share of itself that changed.
  change(growth: number, size: number): string {
    if (growth === 0 || size <= 0) return this.dark ? "hsl(220 6% 42%)" : "hsl(220 10% 86%)";
    const step = Math.ceil(4 * Math.min(1, Math.abs(growth) / size));
    const hue = growth > 0 ? 6 : 212;
    return this.dark ? `hsl(${hue} ${24 + 11 * step}% ${48 + 4 * step}%)` : `hsl(${hue} ${50 + 9 * step}% ${90 - 6 * step}%)`;
  }

  private hsl(h: number, s: number, l: number): string {
    return this.dark ? `hsl(${h} ${s * 0.72}% ${l * 0.9}%)` : `hsl(${h} ${s}% ${l + 8}%)`;
  }

  private assign(weight: Map<number, number>): Uint8Array {
    const { functions, lines } = this.profile;
    const ranked = [...weight].filter(([module]) => module >= 0 && !isRuntime(this.profile.words.modules[module]!));
    ranked.sort((a, b) => b[1] - a[1] || a[0] - b[0]);
    const hueOf = new Map<number, number>();
    ranked.slice(0, hues.length).forEach(([module], i) => hueOf.set(module, i));
    for (const [module, value] of ranked.slice(0, hues.length)) {
      const name = this.profile.words.modules[module]!;
      this.legend.push({ name, fill: this.fills[hueOf.get(module)! * shades + 1]!, value });
    }
    const machinery = new Uint8Array(functions.count);
    for (let line = 0; line < lines.count; ++line) {
      if (lines.flags[line]! & flagMachinery) machinery[lines.function[line]!] = 1;
    }
    const colours = new Uint8Array(functions.count);
    for (let fn = 0; fn < functions.count; ++fn) {
      let hue = hueOf.get(functions.module[fn]!) ?? hues.length;
      if (functions.kind[fn] === kindScope) hue = hues.length + 1;
      else if (machinery[fn]) hue = hues.length + 2;
      colours[fn] = hue * shades + (Math.imul(functions.name[fn]! + 1, 0x9e3779b1) >>> 16) % shades;
    }
    return colours;
  }
}

export const darkText = "#14181d";
const lightText = "#e6e9ed";

// What can be read on a fill, which is an hsl() of ours.
export function textOn(fill: string): string {
  const lightness = Number(/([\d.]+)%\)$/.exec(fill)?.[1] ?? 100);
  return lightness < 47 ? lightText : darkText;
}

export function isRuntime(path: string): boolean {
  return /\/(libc\.so|libc-2|libstdc\+\+|libgcc_s|ld-linux|ld-2|libpthread|libm\.so|libc\+\+|ld-musl)[^/]*$/.test(path);
}

export function colourName(profile: Profile, fn: number): string {
  return fn < 0 ? "" : profile.functions.kind[fn] === kindScope ? "scope" : moduleName(profile, fn);
}
