const CAP = 4;

/** Nearer to each other, the ends would be one blot. */
export const isWide = (from: number, to: number): boolean => Math.abs(to - from) >= 1;

/** The line from the least to the most, then the cap of each. Lengths in pixels. */
export function whisker(line: { from: number; to: number; across: number; lying: boolean }, colour: string) {
  const { from, to, across, lying } = line;
  const stroke = (along1: number, across1: number, along2: number, across2: number) => ({
    type: "line",
    shape: lying
      ? { x1: along1, y1: across1, x2: along2, y2: across2 }
      : { x1: across1, y1: along1, x2: across2, y2: along2 },
    style: { stroke: colour, lineWidth: 1.5 },
  });
  const cap = (at: number) => stroke(at, across - CAP, at, across + CAP);
  return [stroke(from, across, to, across), cap(from), cap(to)];
}
