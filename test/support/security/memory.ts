import { inject } from "vitest";

/** Watches a function of the running stack over a long run: how slow its slowest answer is, and how its memory grows. */
export type FunctionWatch = {
  /** Counts an answer. */
  count(milliseconds: number): void;
  /** Notes how much memory the process has now. */
  sample(): Promise<void>;
  /** The medians of the third fifth of the requests (what comes before is warming up) and of the last fifth. */
  summary(): { slowestMs: number; warmKb: number; endKb: number };
};

type Sample = { answers: number; kb: number };

export function watchFunction(name: string): FunctionWatch {
  const samples: Sample[] = [];
  let answers = 0;
  let slowestMs = 0;

  function median(from: number, to: number): number {
    const within = samples.filter((one) => one.answers > from * answers && one.answers <= to * answers);
    const sorted = within.map(({ kb }) => kb).toSorted((one, other) => one - other);
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
      const kb = await residentKb(name);
      samples.push({ answers, kb });
    },
    summary: () => ({ slowestMs, warmKb: median(0.4, 0.6), endKb: median(0.8, 1) }),
  };
}

/** What the process of the function holds in memory, in kB. Several stacks may run here: its environment says whose it is. */
async function residentKb(name: string): Promise<number> {
  const { stdout } = await new Deno.Command("ps", { args: ["axeww", "-o", "rss,command"] }).output();
  const address = `SUPABASE_URL=${inject("stack").url}`;
  const line = new TextDecoder()
    .decode(stdout)
    .split("\n")
    .find((text) => text.includes(`functions/${name}/index.ts`) && text.split(" ").includes(address));
  const kb = Number(line?.trim().split(" ")[0]);
  if (!(kb > 0)) throw new Error(`The process of ${name} was not found.`);
  return kb;
}
