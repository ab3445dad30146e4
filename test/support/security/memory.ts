import { inject } from "vitest";
import { residentMb } from "../../../lab/bench/memory/process-usage.ts";

/** Watches a function of the running stack over a long run: how slow its slowest answer is, and how its memory grows. */
export type FunctionWatch = {
  /** Counts an answer. */
  count(milliseconds: number): void;
  /** Notes how much memory the process has now. */
  sample(): Promise<void>;
  /** The medians of the third fifth of the requests (what comes before is warming up) and of the last fifth. */
  summary(): { slowestMs: number; warmMb: number; endMb: number };
};

type Sample = { answers: number; mb: number };

export function watchFunction(name: string): FunctionWatch {
  const samples: Sample[] = [];
  let answers = 0;
  let slowestMs = 0;

  function median(from: number, to: number): number {
    const within = samples.filter((one) => one.answers > from * answers && one.answers <= to * answers);
    const sorted = within.map(({ mb }) => mb).toSorted((one, other) => one - other);
    const middle = sorted[Math.floor(sorted.length / 2)];
    if (middle === undefined) throw new Error("The memory was not looked at often enough.");
    return middle;
  }

  return {
    count(milliseconds) {
      answers += 1;
      slowestMs = Math.max(slowestMs, Math.round(milliseconds));
    },
    async sample() {
      const mb = await residentMb(inject("stack").functionPids[name] ?? 0);
      samples.push({ answers, mb });
    },
    summary: () => ({ slowestMs, warmMb: median(0.4, 0.6), endMb: median(0.8, 1) }),
  };
}
