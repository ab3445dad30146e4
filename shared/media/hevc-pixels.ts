import { type Bits, readBits, readShape } from "./avc-pixels.ts";

const SEQUENCE_HEADER = 33;
/** More is in no valid stream. */
const MAX_SETS = 64;
const MAX_PICTURES = 32;

/**
 * How much wider a pixel of an H.265 video is than tall, by the header of the stream (7.3.2.2) in a decoder's configuration (`hvcC`,
 * ISO/IEC 14496-15, 8.3.3.1); 1 when it does not tell, or cannot be read.
 */
export function readHevcPixelRatio(config: DataView): number {
  const bits = findHeader(config);
  if (bits === null) return 1;
  bits.take(16 + 4); // of the unit, and the number of another header
  const layers = bits.take(3);
  bits.take(1);
  skipProfile(bits, layers);
  bits.number();
  if (bits.number() === 3) bits.take(1);
  bits.skipNumbers(2); // the sides
  if (bits.take(1) === 1) bits.skipNumbers(4); // what is cut off
  bits.skipNumbers(2);
  const orderBits = bits.number() + 4;
  bits.skipNumbers(3 * (bits.take(1) === 1 ? layers + 1 : 1));
  bits.skipNumbers(6);
  if (bits.take(1) === 1 && bits.take(1) === 1) skipScaling(bits);
  bits.take(2);
  if (bits.take(1) === 1) {
    bits.take(8);
    bits.skipNumbers(2);
    bits.take(1);
  }
  skipReferences(bits);
  if (bits.take(1) === 1) {
    const pictures = Math.min(MAX_PICTURES, bits.number());
    for (let picture = 0; picture < pictures; picture++) bits.take(Math.min(16, orderBits) + 1);
  }
  bits.take(2);
  return bits.take(1) === 1 ? readShape(bits) : 1;
}

/** The bits of the first sequence header among the units of the configuration. */
function findHeader(config: DataView): Bits | null {
  if (config.byteLength < 23) return null;
  let at = 23;
  for (let arrays = config.getUint8(22); arrays > 0 && at + 3 <= config.byteLength; arrays--) {
    const type = config.getUint8(at) & 63;
    let units = config.getUint16(at + 1);
    for (at += 3; units > 0 && at + 2 <= config.byteLength; units--) {
      const length = config.getUint16(at);
      at += 2;
      if (type === SEQUENCE_HEADER)
        return readBits(new DataView(config.buffer, config.byteOffset + at, config.byteLength - at), length);
      at += length;
    }
  }
  return null;
}

/** Profile, tier and level, of the stream and of its layers in time. */
function skipProfile(bits: Bits, layers: number): void {
  bits.take(96);
  const has = Array.from({ length: layers }, () => [bits.take(1), bits.take(1)]);
  if (layers > 0) bits.take(2 * (8 - layers));
  for (const [profile, level] of has) bits.take((profile === 1 ? 88 : 0) + (level === 1 ? 8 : 0));
}

function skipScaling(bits: Bits): void {
  for (let size = 0; size < 4; size++) {
    for (let matrix = 0; matrix < 6; matrix += size === 3 ? 3 : 1) {
      if (bits.take(1) === 0) bits.number();
      else bits.skipNumbers(Math.min(64, 1 << (4 + 2 * size)) + (size > 1 ? 1 : 0));
    }
  }
}

/** The short-term reference picture sets (7.3.7). One may be told by how it differs from the one before. */
function skipReferences(bits: Bits): void {
  const sets = Math.min(MAX_SETS, bits.number());
  for (let set = 0, before = 0; set < sets && !bits.isOver(); set++) {
    let pictures = 0;
    if (set > 0 && bits.take(1) === 1) {
      bits.take(1);
      bits.number();
      for (let picture = 0; picture <= before; picture++) if (bits.take(1) === 1 || bits.take(1) === 1) pictures++;
    } else {
      pictures = Math.min(MAX_PICTURES, bits.number() + bits.number());
      for (let picture = 0; picture < pictures; picture++) {
        bits.number();
        bits.take(1);
      }
    }
    before = pictures;
  }
}
