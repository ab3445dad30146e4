import { seededRandom } from "../../local/simulator/random.ts";

/** Random values that repeat: the same name gives the same sequence. */
export type Random = {
  /** From 0 to below 1. */
  number(): number;
  chance(probability: number): boolean;
  /** An integer; both ends are included. */
  whole(from: number, to: number): number;
  pick<T>(from: readonly T[]): T;
  /** One of the names, in proportion to its weight. */
  weighted<Name extends string>(weights: Readonly<Record<Name, number>>): Name;
  shuffled<T>(of: readonly T[]): T[];
};

export function createRandom(name: string): Random {
  const number = seededRandom(name);
  const whole = (from: number, to: number) => from + Math.floor(number() * (to - from + 1));
  function pick<T>(from: readonly T[]): T {
    if (from.length === 0) throw new Error("There is nothing to pick from.");
    // The index is below the length, which is not 0.
    return from[whole(0, from.length - 1)] as T;
  }
  return {
    number,
    chance: (probability) => number() < probability,
    whole,
    pick,
    weighted<Name extends string>(weights: Readonly<Record<Name, number>>): Name {
      // Object.entries returns strings.
      const entries = Object.entries(weights) as [Name, number][];
      let left = number() * entries.reduce((sum, [, weight]) => sum + weight, 0);
      for (const [name, weight] of entries) {
        left -= weight;
        if (left < 0) return name;
      }
      throw new Error("There is nothing to pick from.");
    },
    shuffled<T>(of: readonly T[]): T[] {
      const rest = [...of];
      return of.map(() => rest.splice(whole(0, rest.length - 1), 1)[0] as T);
    },
  };
}
