// The bits of an SPS of H.264 or H.265 as text, by the descriptors of their syntax tables: u(n), ue(v) and se(v).

export const u = (bits: number, value: number) => value.toString(2).padStart(bits, "0");
export const ue = (value: number) => {
  const code = (value + 1).toString(2);
  return "0".repeat(code.length - 1) + code;
};
export const se = (value: number) => ue(value > 0 ? 2 * value - 1 : -2 * value);

/** The bytes of an RBSP in a NAL unit, with emulation-prevention bytes. */
export function toNalUnitBytes(bits: string): number[] {
  const bytes = (bits.padEnd(8 * Math.ceil(bits.length / 8), "0").match(/.{8}/g) ?? []).map((one) =>
    Number.parseInt(one, 2),
  );
  const kept: number[] = [];
  for (const byte of bytes) {
    if (byte <= 3 && kept.at(-1) === 0 && kept.at(-2) === 0) kept.push(3);
    kept.push(byte);
  }
  return kept;
}
