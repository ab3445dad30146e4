import { cpus } from "node:os";
import { pause } from "../../shared/platform/retry.ts";

/** The median of several measurements, and their range. */
export type Spread = { median: number; min: number; max: number };

/** Throws for no values, and for one that is not a finite number. */
export function spreadOf(values: number[]): Spread {
  if (values.length === 0 || values.some((value) => !Number.isFinite(value)))
    throw new Error(`No spread of ${JSON.stringify(values)}.`);
  return { median: quantile(values, 0.5), min: Math.min(...values), max: Math.max(...values) };
}

/** A ratio, and the two figures that it is made of. */
export type Ratio = Spread & { ours: number; theirs: number };

/** Ours ÷ theirs, pair by pair: measurements of one index were made one after the other. */
export function ratioOf(ours: number[], theirs: number[]): Ratio {
  if (ours.length !== theirs.length) throw new Error(`${ours.length} measurements compared with ${theirs.length}.`);
  const ratios = ours.map((value, index) => value / (theirs[index] ?? Number.NaN));
  const medians = { ours: quantile(ours, 0.5), theirs: quantile(theirs, 0.5) };
  return { ...spreadOf(ratios), median: medians.ours / medians.theirs, ...medians };
}

/** The value below which a fraction of the values lies, interpolated. NaN of nothing. */
export function quantile(values: number[], fraction: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  const place = (sorted.length - 1) * fraction;
  const below = sorted[Math.floor(place)] ?? Number.NaN;
  const above = sorted[Math.ceil(place)] ?? Number.NaN;
  return below + (above - below) * (place - Math.floor(place));
}

/** Ways of doing the same work, by name. Each returns what one round has measured. */
type Ways<Name extends string, Measured> = Record<Name, () => Promise<Measured>>;

/**
 * Measures the ways in turn, so that other load on the machine affects all alike. Every second round runs backwards.
 * Returns each way's measurements in the order of the rounds.
 */
export async function measureInTurn<Name extends string, Measured = number>(
  ways: Ways<Name, Measured>,
  rounds: number,
  progress: (text: string) => void,
): Promise<Record<Name, Measured[]>> {
  const names = Object.keys(ways) as Name[]; // its keys are all there is in it
  const measured = Object.fromEntries(names.map((name) => [name, [] as Measured[]])) as Record<Name, Measured[]>; // each name
  for (let round = 0; round < rounds; round++) {
    for (const name of round % 2 === 0 ? names : names.toReversed()) {
      progress(`round ${round + 1} of ${rounds}: ${name}`);
      measured[name].push(await ways[name]());
    }
  }
  return measured;
}

/** The machine that was measured on. */
export type Machine = { date: string; system: string; cores: number; processor: string; deno: string };

export const describeMachine = (): Machine => ({
  date: new Date().toISOString().slice(0, 10),
  system: `${Deno.build.os} ${Deno.build.arch}`,
  cores: navigator.hardwareConcurrency,
  processor: cpus()[0]?.model.trim() ?? "unknown",
  deno: Deno.version.deno,
});

/** Polls until a condition holds. Throws when it does not in time. */
export async function waitUntil(
  isSo: () => Promise<boolean>,
  { what, everyMs, timeoutMs = 120_000 }: { what: string; everyMs: number; timeoutMs?: number },
): Promise<void> {
  const end = performance.now() + timeoutMs;
  while (!(await isSo())) {
    if (performance.now() > end) throw new Error(`${what}: not after ${timeoutMs / 1000} s.`);
    await pause(everyMs);
  }
}
