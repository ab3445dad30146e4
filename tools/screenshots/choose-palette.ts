/** So many of the commonest colours are kept as they are: backgrounds, text, lines. */
const KEPT = 24;
const MOST = 256;

type Rgb = [number, number, number];
type Counted = { colour: Rgb; count: number };

/** At most 256 colours that stand for all of a picture: the commonest exactly, the others by their median cut. */
export function choosePalette(rgba: Uint8ClampedArray): Rgb[] {
  const counts = new Map<number, number>();
  for (let at = 0; at < rgba.length; at += 4) {
    const colour = ((rgba[at] ?? 0) << 16) | ((rgba[at + 1] ?? 0) << 8) | (rgba[at + 2] ?? 0);
    counts.set(colour, (counts.get(colour) ?? 0) + 1);
  }
  const all = [...counts]
    .sort(([, one], [, other]) => other - one)
    .map(([colour, count]): Counted => ({ colour: [colour >> 16, (colour >> 8) & 255, colour & 255], count }));
  const kept = all.slice(0, KEPT).map(({ colour }) => colour);
  const boxes = [all.slice(KEPT)].filter((box) => box.length > 0);
  while (boxes.length > 0 && boxes.length < MOST - kept.length) {
    const widest = boxes.reduce((one, other) => (spread(other).weight > spread(one).weight ? other : one));
    const { channel, weight } = spread(widest);
    if (weight === 0) break;
    boxes.splice(boxes.indexOf(widest), 1, ...cut(widest, channel));
  }
  return [...kept, ...boxes.map(mean)];
}

const spreads = new WeakMap<Counted[], { channel: 0 | 1 | 2; weight: number }>();

/** The channel in which a box is widest, and how much would be won by cutting it there. */
function spread(box: Counted[]): { channel: 0 | 1 | 2; weight: number } {
  const known = spreads.get(box);
  if (known) return known;
  let found: { channel: 0 | 1 | 2; weight: number } = { channel: 0, weight: 0 };
  const pixels = box.reduce((sum, { count }) => sum + count, 0);
  for (const channel of [0, 1, 2] as const) {
    let least = 255;
    let most = 0;
    for (const { colour } of box) {
      least = Math.min(least, colour[channel]);
      most = Math.max(most, colour[channel]);
    }
    // By width more than by number: a sun is small, and yet its yellow is missed.
    const weight = (most - least) ** 2 * pixels ** (1 / 3);
    if (weight > found.weight) found = { channel, weight };
  }
  spreads.set(box, found);
  return found;
}

/** Two halves with as many pixels each, as far as that goes; neither is empty. */
function cut(box: Counted[], channel: 0 | 1 | 2): [Counted[], Counted[]] {
  const sorted = [...box].sort((one, other) => one.colour[channel] - other.colour[channel]);
  const half = sorted.reduce((sum, { count }) => sum + count, 0) / 2;
  let passed = 0;
  const middle = sorted.findIndex(({ count }) => {
    passed += count;
    return passed >= half;
  });
  const at = Math.min(Math.max(1, middle), sorted.length - 1);
  return [sorted.slice(0, at), sorted.slice(at)];
}

function mean(box: Counted[]): Rgb {
  const pixels = box.reduce((sum, { count }) => sum + count, 0);
  const of = (channel: 0 | 1 | 2) =>
    Math.round(box.reduce((sum, { colour, count }) => sum + colour[channel] * count, 0) / pixels);
  return [of(0), of(1), of(2)];
}
