import type { Ratio, Spread } from "./measure.ts";
import type { Cpu } from "./process-usage.ts";
import type { BenchStack, openBenchStack } from "./stack.ts";

/** A benchmark of `npm run bench`: does the same work in several ways, in turn, and compares them. */
export type Benchmark = {
  /** The command's argument, and the first column of the table in lab/aims.md. */
  name: string;
  run(context: BenchContext): Promise<Result>;
};

export type BenchContext = {
  /** A few seconds of each, to see that it works. */
  quick: boolean;
  /** Starts a stack, or one of another version, which is stopped when the benchmark ends. */
  openStack(open?: typeof openBenchStack): Promise<BenchStack>;
  /** Prints progress on standard error. */
  progress(text: string): void;
};

export type Result = { aims: Aim[]; tables?: Table[]; costs?: Cost[]; figures?: Partial<Figures> };

/** Rows of figures. `caption`: what the rows are, with the unit when all columns have the same. */
export type Table = {
  caption: string;
  columns: string[];
  rows: { name: string; cells: (Spread | number | string | null)[] }[];
};

/** A figure and its bound. A ratio is of two measurements in the same run. */
export type Aim = { name: string; value: Spread | Ratio; atMost?: number; atLeast?: number };

/** ms of processor time for one of something, for docs/scale.md. */
export type Cost = { name: string } & Cpu;

/**
 * The figures from which shots a day are computed. For one shot: calls of api, kicks of workers, the provider's callbacks, deliveries, and
 * its bill. Postgres' ms for a frame, a read of a status and an event with one delivery; bytes of a prediction with its events.
 */
export type Figures = Record<
  "api" | "kicks" | "callbacks" | "deliveries" | "usd" | "frameMs" | "statusMs" | "eventMs" | "predictionBytes",
  number
>;

export const isMet = ({ value, atMost = Number.POSITIVE_INFINITY, atLeast = 0 }: Aim): boolean =>
  value.median <= atMost && value.median >= atLeast;
