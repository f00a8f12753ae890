// Takes back what src/tool/html/columns.hpp writes: LEB128 varints in columns, each behind its length in bytes.
// Numbers are doubles; the tool says in `exact` whether all of them, and their sums, are below 2^53.

const low28 = 0x10000000;

export class Reader {
  private at = 0;

  constructor(private readonly data: Uint8Array) {}

  varint(): number {
    const data = this.data;
    let byte = data[this.at++]!;
    if (byte < 0x80) return byte;
    let value = byte & 0x7f;
    for (let shift = 7; shift < 28; shift += 7) {
      byte = data[this.at++]!;
      value |= (byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    for (let scale = low28; ; scale *= 128) {
      if (this.at >= data.length) throw new Error("the data of this page is cut off");
      byte = data[this.at++]!;
      value += (byte & 0x7f) * scale;
      if (byte < 0x80) return value;
    }
  }

  block(): Uint8Array {
    const length = this.varint();
    if (this.at + length > this.data.length) throw new Error("the data of this page is cut off");
    const block = this.data.subarray(this.at, this.at + length);
    this.at += length;
    return block;
  }

  // A value takes a byte at least: no more are made room for.
  private column(count: number): Reader {
    const block = this.block();
    if (!(count >= 0 && count <= block.length)) throw new Error("the data of this page is cut off");
    return new Reader(block);
  }

  indices(count: number): Uint32Array {
    const column = this.column(count);
    const values = new Uint32Array(count);
    for (let i = 0; i < count; ++i) values[i] = column.varint();
    return values;
  }

  // Kept as differences; only for values far below 2^53.
  differences(count: number): Uint32Array {
    const column = this.column(count);
    const values = new Uint32Array(count);
    let last = 0;
    for (let i = 0; i < count; ++i) values[i] = last += unzigzag(column.varint());
    return values;
  }

  signed(count: number): Float64Array {
    const column = this.column(count);
    const values = new Float64Array(count);
    for (let i = 0; i < count; ++i) values[i] = unzigzag(column.varint());
    return values;
  }

  numbers(count: number): Float64Array {
    const column = this.column(count);
    const values = new Float64Array(count);
    for (let i = 0; i < count; ++i) values[i] = column.varint();
    return values;
  }
}

function unzigzag(stored: number): number {
  return stored % 2 === 0 ? stored / 2 : -(stored + 1) / 2;
}
