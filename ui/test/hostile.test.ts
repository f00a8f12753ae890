// Data that is cut off or damaged: the page says so, or shows something; it does not hang, and takes no memory for what is
// not there.
import assert from "node:assert/strict";
import { test } from "node:test";
import { decode } from "../src/data/decode";
import { Reader } from "../src/data/reader";

const counts = { strings: 2, functions: 1, lines: 1, nodes: 3, places: 3, stacks: 1 };

function varint(value: number): number[] {
  return value < 0x80 ? [value] : [(value % 0x80) | 0x80, ...varint(Math.floor(value / 0x80))];
}

function block(bytes: number[]): number[] {
  return [...varint(bytes.length), ...bytes];
}

function head(changed: object): number[] {
  const text = JSON.stringify({ version: 1, exact: true, counts: { ...counts, ...changed }, words: {}, report: {} });
  return block([...new TextEncoder().encode(text)]);
}

// A main that calls main, with one stack.
function page(changed: object = {}, up = [0, 0, 0]): Uint8Array {
  const columns = [[4, 4], [...new TextEncoder().encode("mainmain")], [0], [0], [0], [0], [0], [0], [1], [0]];
  const tree = [up.flatMap(varint), [0, 1, 1], [0, 0, 0], [0, 0, 0], [0, 0, 0]];
  const stacks = Array.from({ length: 9 }, () => [2]);
  return Uint8Array.from([...head(changed), ...[...columns, ...tree, ...stacks].flatMap(block)]);
}

function attempt(data: Uint8Array): string {
  try {
    decode(data);
  } catch (error) {
    return (error as Error).message;
  }
  return "";
}

test("what is whole is read", () => {
  assert.equal(attempt(page()), "");
});

test("a page that is cut off anywhere is refused", () => {
  const whole = page();
  for (let bytes = 0; bytes < whole.length; ++bytes) assert.notEqual(attempt(whole.subarray(0, bytes)), "", `${bytes} bytes`);
});

test("counts beyond what is there are refused before room is made for them", () => {
  for (const name of Object.keys(counts))
    for (const count of [2 ** 31, 2 ** 53, 1e300, -1, 0.5, null, "many"])
      attempt(page({ [name]: count }));
  assert.equal(attempt(page({ stacks: 2 ** 31 })), "the data of this page is cut off");
  assert.equal(attempt(page({ strings: 2 ** 31 })), "the data of this page is cut off");
});

test("a tree that goes up beyond its root is damaged", () => {
  for (const up of [1, 2, 2 ** 31, 2 ** 32 - 1]) assert.equal(attempt(page({}, [0, up, 0])), "the data of this page is damaged");
});

test("any byte may be wrong", () => {
  const whole = page();
  for (let at = 0; at < whole.length; ++at)
    for (const flip of [1, 0x40, 0x80, 0xff]) {
      const damaged = Uint8Array.from(whole);
      damaged[at]! ^= flip;
      attempt(damaged);
    }
});

test("a number without an end ends with the data", () => {
  assert.throws(() => new Reader(new Uint8Array(1000).fill(0xff)).varint(), /cut off/);
  assert.throws(() => new Reader(new Uint8Array(0)).varint(), /cut off/);
});
