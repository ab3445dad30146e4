import type { Spread } from "./measure.ts";
import type { BenchStack } from "./stack.ts";

/** A benchmark of `npm run bench`: does the same work by several ways, in turn, and compares them. */
export type Benchmark = {
  /** One word: the command's argument and the section of docs/benchmarks.md. */
  name: string;
  title: string;
  /** The work and the other ways, in a sentence or two. */
  work: string;
  run(context: BenchContext): Promise<Result>;
};

export type BenchContext = {
  /** Less of everything: all benchmarks together take under a minute. */
  quick: boolean;
  /** The shared stack: simulator without delay, rate limits raised. Started at the first call. */
  stack(): Promise<BenchStack>;
  /** The benchmark's own stack, which is stopped when the benchmark ends. */
  ownStack(): Promise<BenchStack>;
  /** Prints progress on standard error. */
  progress(text: string): void;
};

export type Result = { tables: Table[]; aims: Aim[]; notes?: string[] };

/** Rows of figures in one unit. */
export type Table = {
  caption: string;
  /** The unit of every spread: "ms", "per second", "MB". */
  unit: string;
  columns: string[];
  rows: { name: string; cells: (Spread | string | null)[] }[];
};

/** A ratio within this run, and its bound. */
export type Aim = {
  /** Such as "deliveries per second, beside the best peer". */
  name: string;
  ratio: Spread;
  atMost?: number;
  atLeast?: number;
};

export const isMet = ({ ratio, atMost = Number.POSITIVE_INFINITY, atLeast = 0 }: Aim): boolean =>
  ratio.median <= atMost && ratio.median >= atLeast;
