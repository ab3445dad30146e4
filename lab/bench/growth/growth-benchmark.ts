import type { Benchmark, BenchContext, Result } from "../benchmark.ts";
import { measureInTurn, ratioOf, type Spread, spreadOf } from "../measure.ts";
import { hurryAutovacuum, measureChurn } from "./churn.ts";
import { checkPlans, type Operation, OPERATIONS, runOperation } from "./operations.ts";
import { openSizes, type Size, vacuum } from "./databases.ts";

const SIZES = [10_000, 100_000, 1_000_000];
const QUICK_SIZES = [10_000, 13_000];
const CHURNED = 10_000;
/** For each of fifty endpoints: enough for every call that claims or records a hundred. */
const DUE = 220;
/** The first calls fill the caches and make the plans. */
const WARM_UP = 7;

export const growthBenchmark: Benchmark = {
  name: "growth",
  title: "Ten thousand rows and a million",
  work:
    "One call of each kind in databases with a past of so many predictions over 30 days, three deliveries each, in turn: by the owner of a " +
    "tenth of everything, in a project with a twentieth, and by the service. Server and round trip, without the commit. Then an hour of use, " +
    "compressed: the sizes of the tables it writes to.",
  run,
};

const HOW_AN_HOUR_FITS =
  "The hour: in a database of 10,000 predictions, a fiftieth of all rows is made anew each minute, through the functions (predictions from start " +
  "to stored, their events, deliveries of which one in twenty fails), and as many of the oldest are deleted or pruned. All rows were replaced " +
  "once before it. A minute takes a second, or as long as the machine needs. Autovacuum looks each second (`autovacuum_naptime`, by default a " +
  "minute) and does not pause (`autovacuum_vacuum_cost_delay = 0`), so it gets as many chances as in an hour, and gets as far in each.";
const SMALL_BUFFERS =
  "Postgres has its local settings, 64 MB of shared buffers among them: a million predictions have 5 GB, so most pages a call needs there are not in them.";

async function run(context: BenchContext): Promise<Result> {
  // An own stack, because of its gigabytes; the quick run uses the shared one.
  const stack = await (context.quick ? context.stack() : context.ownStack());
  const databases = await openSizes(stack, context.progress);
  try {
    const sizes: Size[] = [];
    for (const predictions of context.quick ? QUICK_SIZES : SIZES)
      sizes.push(await databases.open(predictions, { due: DUE, sortedIndexes: true }));
    const plans: number[] = [];
    for (const size of sizes) {
      context.progress(`plans at ${named(size)}`);
      plans.push(await checkPlans(size));
    }
    const calls = await measureCalls(sizes, context);
    const churn = await measureHour(
      () => databases.open(context.quick ? CHURNED / 5 : CHURNED, { due: 6, sortedIndexes: false }),
      stack.databaseUrl,
      context,
    );
    return {
      tables: [...calls.tables, churn.table],
      aims: [...calls.aims, ...churn.aims],
      notes: [
        `The plans of every statement were looked at, at each size: ${plans.join(", ")} of them read a table that grows, all by an index, none more than its answer needs.`,
        ...(context.quick ? [] : [HOW_AN_HOUR_FITS, SMALL_BUFFERS]),
      ],
    };
  } finally {
    await databases.end();
  }
}

const named = ({ predictions }: Size) => predictions.toLocaleString("en-US");

async function measureCalls(
  sizes: Size[],
  { quick, progress }: BenchContext,
): Promise<Pick<Result, "tables" | "aims">> {
  const rounds = quick ? 3 : 41;
  const measured: { operation: Operation; ms: number[][] }[] = [];
  for (const operation of OPERATIONS) {
    for (const { sql } of quick ? [] : sizes) await vacuum(sql);
    progress(`${operation.name}, ${rounds} rounds at ${sizes.length} sizes`);
    for (const { sql } of sizes) {
      for (let call = 0; call < (quick ? 1 : WARM_UP); call++) await runOperation(sql, operation);
    }
    const ways = Object.fromEntries(sizes.map((size) => [named(size), () => runOperation(size.sql, operation)]));
    const found = await measureInTurn(ways, rounds, () => undefined);
    measured.push({ operation, ms: sizes.map((size) => found[named(size)] ?? []) });
  }
  const last = sizes.length - 1;
  const [smallest, largest] = [sizes[0], sizes[last]].map((size) => size && named(size));
  const rows = (of: typeof measured, cell: (ms: number[][], size: number) => Spread) =>
    of.map(({ operation, ms }) => ({ name: operation.name, cells: sizes.map((_, at) => cell(ms, at)) }));
  return {
    tables: [
      {
        ...{ caption: "By the number of predictions", unit: "ms", columns: sizes.map(named) },
        rows: rows(measured, (ms, at) => spreadOf(ms[at] ?? [])),
      },
    ],
    aims: measured
      .filter(({ operation }) => operation.aimed)
      .map(({ operation, ms }) => ({
        name: `${operation.name}, ${largest} beside ${smallest}`,
        ratio: ratioOf(ms[last] ?? [], ms[0] ?? []),
        atMost: 1.3,
      })),
  };
}

async function measureHour(open: () => Promise<Size>, serverUrl: string, { quick, progress }: BenchContext) {
  const size = await open();
  const pace = await hurryAutovacuum(serverUrl);
  try {
    return await measureChurn(size, quick, progress);
  } finally {
    await pace.restore();
  }
}
