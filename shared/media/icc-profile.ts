/** The tags that define colour transforms (ICC.1:2022, clause 9.2); all others are descriptions, names and measurements of a device. */
const COLOR_TAGS = new Set([
  ...["rXYZ", "gXYZ", "bXYZ", "rTRC", "gTRC", "bTRC", "kTRC", "wtpt", "bkpt", "chad", "chrm", "lumi", "gamt", "cicp"],
  ...["A2B0", "A2B1", "A2B2", "B2A0", "B2A1", "B2A2", "D2B0", "D2B1", "D2B2", "D2B3", "B2D0", "B2D1", "B2D2", "B2D3"],
]);
const HEADER_BYTES = 128;

/**
 * Overwrites with zeros what does not change colours in an ICC profile: a profileDescriptionTag may contain the path of a home folder, and a
 * calibrated monitor's profile its serial number. Anything that is not a profile becomes zeros, which decoders ignore.
 */
export function blankIccNames(profile: Uint8Array): void {
  const view = new DataView(profile.buffer, profile.byteOffset, profile.byteLength);
  const tagCount = profile.byteLength < HEADER_BYTES + 4 ? 0 : view.getUint32(HEADER_BYTES);
  const tagTableEnd = HEADER_BYTES + 4 + 12 * tagCount;
  if (tagCount === 0 || tagTableEnd > profile.byteLength) return void profile.fill(0);
  const kept: [start: number, end: number][] = [];
  for (let entry = HEADER_BYTES + 4; entry < tagTableEnd; entry += 12) {
    const signature = String.fromCharCode(...profile.subarray(entry, entry + 4));
    const start = Math.min(view.getUint32(entry + 4), profile.byteLength);
    const size = COLOR_TAGS.has(signature) ? view.getUint32(entry + 8) : 4; // of other tags only the type signature, such as "desc"
    kept.push([start, Math.min(start + size, profile.byteLength)]);
  }
  kept.sort(([a], [b]) => a - b);
  let end = tagTableEnd;
  for (const [from, to] of kept) {
    if (from > end) profile.fill(0, end, from);
    end = Math.max(end, to);
  }
  profile.fill(0, end);
  // Header fields (7.2)
  profile.fill(0, 48, 56); // device manufacturer, device model
  profile.fill(0, 80, HEADER_BYTES); // profile creator, profile ID, reserved bytes
}
