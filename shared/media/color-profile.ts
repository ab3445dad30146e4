/** The tags of an ICC profile that change colours (ICC.1:2022, section 9.2); all others are texts, names and measurements of a device. */
const NEEDED = new Set([
  ...["rXYZ", "gXYZ", "bXYZ", "rTRC", "gTRC", "bTRC", "kTRC", "wtpt", "bkpt", "chad", "chrm", "lumi", "gamt", "cicp"],
  ...["A2B0", "A2B1", "A2B2", "B2A0", "B2A1", "B2A2", "D2B0", "D2B1", "D2B2", "D2B3", "B2D0", "B2D1", "B2D2", "B2D3"],
]);
const HEADER_BYTES = 128;

/**
 * Overwrites, with zeros, all of an ICC profile that does not change colours: its description may name a home folder, and a calibrated
 * monitor's has its serial number. Anything that is not a profile becomes zeros, which decoders ignore.
 */
export function blankProfileNames(profile: Uint8Array): void {
  const view = new DataView(profile.buffer, profile.byteOffset, profile.byteLength);
  const count = profile.byteLength < HEADER_BYTES + 4 ? 0 : view.getUint32(HEADER_BYTES);
  const table = HEADER_BYTES + 4 + 12 * count;
  if (count === 0 || table > profile.byteLength) return void profile.fill(0);
  const kept: [start: number, end: number][] = [];
  for (let tag = HEADER_BYTES + 4; tag < table; tag += 12) {
    const name = String.fromCharCode(...profile.subarray(tag, tag + 4));
    const start = Math.min(view.getUint32(tag + 4), profile.byteLength);
    const bytes = NEEDED.has(name) ? view.getUint32(tag + 8) : 4; // the kind of its content, such as "desc"
    kept.push([start, Math.min(start + bytes, profile.byteLength)]);
  }
  kept.sort(([a], [b]) => a - b);
  let end = table;
  for (const [from, to] of kept) {
    if (from > end) profile.fill(0, end, from);
    end = Math.max(end, to);
  }
  profile.fill(0, end);
  profile.fill(0, 48, 56); // the device's maker and model
  profile.fill(0, 80, HEADER_BYTES); // who made the profile, and its digest
}
