import type { World } from "./world.ts";

export type Scenario = {
  /** What is done, in the imperative, for the report. */
  sentence: string;
  /** The other users start frames, and their ends are measured; otherwise they create projects. */
  startsFrames?: true;
  /** How long it lasts, when not SCENARIO_MS of isolation.ts. */
  lastsMs?: number;
  /** How much later 95 of 100 events of the other users may arrive, when not LATER_MS of isolation.ts. */
  laterMs?: number;
  /** What GET /api/health?deep=1 says within it; "ok": never a problem, because it is mere load. */
  health?: RegExp | "ok";
  /** Prepares it before anything is measured. Returns what runs until the signal aborts, and then returns what else went wrong. */
  open(world: World): Promise<(over: AbortSignal) => Promise<string[]>>;
};
