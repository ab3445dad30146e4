import type { FunctionName } from "../../../local/stack/function-arguments.ts";
import type { Aim, Benchmark, BenchContext, Result } from "../benchmark.ts";
import type { BenchStack } from "../stack.ts";
import { cpuOfProcess, residentMb, watchMemory } from "./process-usage.ts";
import { ratioOf, type Spread, spreadOf } from "../measure.ts";
import { openDrainLoad, openVideoLoad } from "./loads.ts";
import { type Attack, medianOf, startAttacker, unfinishedBodies } from "./unfinished-bodies.ts";

const MOST_MB = 128;
const MOST_MB_UNDER_ATTACK = 64;
const MOST_SLOWER_UNDER_ATTACK = 2;
const ATTACKS = { full: 3, quick: 1 };
const INNOCENT_REQUESTS = { full: 200, quick: 20 };
const DELIVERIES = { full: 100_000, quick: 2_000 };
const VIDEO_MB = { full: 200, quick: 20 };
const VIDEOS = { full: 3, quick: 1 };
const WARM_UP_DELIVERIES = 200;
const WARM_UP_BYTES = 1_000_000;

/** Memory before the work and the most during it, in MB; and seconds of processor time. */
type Measured = { idle: Spread; peak: Spread; above: number[]; seconds: Spread };

export const memoryBenchmark: Benchmark = {
  name: "memory",
  title: "Memory",
  work: `The resident set of the function's process, looked at every 20 ms: deliver while it empties a queue, generate while it copies a
large video into Storage, and while senders hold unfinished bodies open, written straight to the
function. Idle is after a little of the same work. A hosted function has 256 MB in all.`.replaceAll("\n", " "),
  run: measureMemory,
};

async function measureMemory(context: BenchContext): Promise<Result> {
  const size = context.quick ? "quick" : "full";
  // An own stack: memory that earlier benchmarks took would count as idle.
  const stack = context.quick ? await context.stack() : await context.ownStack();

  const drain = await openDrainLoad(stack.databaseUrl);
  let drained: Measured;
  try {
    await drain.drain(WARM_UP_DELIVERIES);
    context.progress(`deliver sends ${DELIVERIES[size]} deliveries`);
    drained = await measure(stack, "keyframe-deliver", 1, () => drain.drain(DELIVERIES[size]));
  } finally {
    await drain.close();
  }

  const store = await openVideoLoad(stack.caller);
  await store(WARM_UP_BYTES);
  context.progress(`generate stores ${VIDEOS[size]} videos of ${VIDEO_MB[size]} MB`);
  const stored = await measure(stack, "keyframe-generate", VIDEOS[size], () => store(VIDEO_MB[size] * 1_000_000));

  const attacked = [];
  for (const attack of unfinishedBodies(stack)) {
    context.progress(`${attack.name}: ${attack.what}`);
    attacked.push({ attack, measured: await measureAttack(stack, attack, ATTACKS[size], INNOCENT_REQUESTS[size]) });
  }

  const works = [
    { name: `deliver, ${DELIVERIES[size].toLocaleString("en-US")} deliveries of 1 KB`, measured: drained },
    { name: `generate, a video of ${VIDEO_MB[size]} MB`, measured: stored },
  ];
  return {
    aims: [
      ...works.map(({ name, measured }): Aim => {
        const shares = measured.above.map((mb) => mb / MOST_MB);
        return { name: `${name}: above idle, in ${MOST_MB} MB`, ratio: spreadOf(shares), atMost: 1 };
      }),
      ...attacked.flatMap(({ attack, measured }): Aim[] => [
        {
          name: `${attack.name}, ${attack.what}: above idle, in ${MOST_MB_UNDER_ATTACK} MB`,
          ratio: spreadOf(measured.above.map((mb) => mb / MOST_MB_UNDER_ATTACK)),
          atMost: 1,
        },
        {
          name: `${attack.name}, innocent requests meanwhile: p50 ÷ p50 before`,
          ratio: ratioOf(measured.during, measured.before),
          atMost: MOST_SLOWER_UNDER_ATTACK,
        },
      ]),
    ],
    tables: [
      {
        caption: "resident memory of the function's process",
        unit: "MB",
        columns: ["idle", "at most", "above idle"],
        rows: [
          ...works,
          ...attacked.map(({ attack, measured }) => ({ name: `${attack.name}, ${attack.what}`, measured })),
        ].map(({ name, measured: { idle, peak, above } }) => ({ name, cells: [idle, peak, spreadOf(above)] })),
      },
      {
        caption: "innocent requests, one after the other: p50",
        unit: "ms",
        columns: ["before", "while bodies are unfinished"],
        rows: attacked.map(({ attack, measured: { before, during } }) => ({
          name: `${attack.name}, ${attack.what}`,
          cells: [spreadOf(before), spreadOf(during)],
        })),
      },
      ...(Deno.build.os === "linux"
        ? [
            {
              caption: "processor time of the function for all of it (a hosted function has 2 s for a request)",
              unit: "s",
              columns: ["processor time"],
              rows: works.map(({ name, measured: { seconds } }) => ({ name, cells: [seconds] })),
            },
          ]
        : []),
    ],
  };
}

/** Repeats an attack: opens its bodies, sends ordinary requests meanwhile, and closes the connections. */
async function measureAttack(stack: BenchStack, attack: Attack, times: number, requests: number) {
  const pid = stack.children.get(attack.name)?.pid;
  if (pid === undefined) throw new Error(`${attack.name} does not run.`);
  await medianOf(attack.ask, (asked) => asked >= requests);
  const idle = await residentMb(pid);
  const peaks: number[] = [];
  const before: number[] = [];
  const during: number[] = [];
  for (let time = 0; time < times; time++) {
    before.push(await medianOf(attack.ask, (asked) => asked >= requests));
    const watch = watchMemory(pid);
    const { opened, end } = startAttacker(attack.unfinished);
    let isOpen = false;
    try {
      const asking = medianOf(attack.ask, (asked) => isOpen && asked >= requests);
      await opened.then(() => {
        isOpen = true;
      });
      during.push(await asking);
      peaks.push(await watch.stop());
    } finally {
      end();
      await watch.stop();
    }
  }
  return { idle: spreadOf([idle]), peak: spreadOf(peaks), above: peaks.map((peak) => peak - idle), before, during };
}

/** Repeats some work and measures the memory of the function that does it. */
async function measure(
  stack: BenchStack,
  name: FunctionName,
  times: number,
  work: () => Promise<void>,
): Promise<Measured> {
  const pid = stack.children.get(name)?.pid;
  if (pid === undefined) throw new Error(`${name} does not run.`);
  const idle = await residentMb(pid);
  const peaks: number[] = [];
  const seconds: number[] = [];
  for (let time = 0; time < times; time++) {
    const watch = watchMemory(pid);
    const used = await cpuOfProcess(pid);
    await work().finally(() => watch.stop());
    peaks.push(await watch.stop());
    seconds.push(((await cpuOfProcess(pid)) - used) / 1000);
  }
  if (stack.children.get(name)?.pid !== pid) throw new Error(`${name} was restarted meanwhile.`);
  return {
    idle: spreadOf([idle]),
    peak: spreadOf(peaks),
    above: peaks.map((peak) => peak - idle),
    seconds: spreadOf(seconds),
  };
}
