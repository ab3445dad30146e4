import type { Spread } from "./measure/spread.ts";
import type { BenchStack } from "./bench-stack.ts";

/** One benchmark of `npm run bench`: it does the same work in several ways, in turn, and says how they compare. */
export type Benchmark = {
  /** One word: the command's argument, the section of docs/benchmarks.md and the plot's file. */
  name: string;
  title: string;
  /** What is done and beside what, in a sentence or two. */
  work: string;
  /** The file in docs that its section is in, when it is not benchmarks.md. */
  document?: string;
  run(context: BenchContext): Promise<Result>;
};

export type BenchContext = {
  /** Less of everything, so that all benchmarks together take under a minute. */
  quick: boolean;
  /** The stack that benchmarks share: simulator without delay, rate limits out of the way. Started when first asked for. */
  stack(): Promise<BenchStack>;
  /** One of the benchmark's own, where the shared one would be spoilt. It is stopped when the benchmark ends. */
  ownStack(): Promise<BenchStack>;
  /** Says on standard error how far it is. */
  progress(text: string): void;
};

export type Result = { tables: Table[]; aims: Aim[]; notes?: string[] };

/** Rows of figures in one unit. A plot is drawn of it where it names one. */
export type Table = {
  caption: string;
  /** Of every spread in it: "ms", "per second", "MB". */
  unit: string;
  columns: string[];
  rows: { name: string; cells: (Spread | string | null)[] }[];
  /** Bars: a group for each row. Lines: one for each row, over the columns. */
  plot?: "bars" | "lines";
};

/** A ratio within this run, and what it should be. */
export type Aim = {
  /** Such as "deliveries per second, beside the best peer". */
  name: string;
  ratio: Spread;
  atMost?: number;
  atLeast?: number;
};

export const isMet = ({ ratio, atMost = Number.POSITIVE_INFINITY, atLeast = 0 }: Aim): boolean =>
  ratio.median <= atMost && ratio.median >= atLeast;
