import postgres from "postgres";
import { startLoad } from "../api/load.ts";
import { startByApi } from "../api/operations.ts";
import type { Benchmark, Result } from "../benchmark.ts";
import type { BenchStack } from "../stack.ts";
import { measureInTurn, ratioOf, spreadOf } from "../measure.ts";
import { openOurWay, openProviderWay, openScriptWay, untilIdle } from "./frame-ways.ts";
import type { ScriptSettings } from "./script-process.ts";
import { startJobProcess } from "../job-process.ts";

const TABLE = "bench_frames";
const WARM_UP_ROUNDS = { full: 3, quick: 1 };

export const flowBenchmark: Benchmark = {
  name: "flow",
  title: "From start to stored",
  work:
    "From the start of a first frame until it has succeeded: submitted, called back, copied into Storage, hashed, recorded. The provider is the " +
    "simulator, which takes as long as it takes to draw the picture. Beside it a single script, in a process of its own, that asks the same " +
    "provider for the same picture, waits for the answer, copies the file into Storage and writes a row. At once: each of a user of its own.",

  async run({ quick, stack: open, progress }) {
    const stack = await open();
    const atOnce = quick ? 8 : 50;
    const sql = postgres(stack.databaseUrl, { max: 4, onnotice: () => undefined });
    const load = startLoad();
    await makeTable(sql);
    const settings = JSON.stringify(await scriptSettings(stack, sql));
    const script = startJobProcess(new URL("script-process.ts", import.meta.url), "-A", { SCRIPT: settings });
    try {
      const { make, expectReadable } = await openOurWay(stack, sql, load, atOnce);
      const scripted = openScriptWay(sql, script, TABLE);
      const provider = openProviderWay(script);
      // Warms up until each of the gateway's connections has planned each statement.
      for (let round = 0; round < WARM_UP_ROUNDS[quick ? "quick" : "full"]; round++)
        await Promise.all([make(atOnce), scripted(atOnce)]);

      const one = await measureInTurn(
        {
          woken: () => untilIdle(sql).then(() => make(1)),
          script: () => scripted(1),
          provider: () => provider(1),
          awake: () => make(1),
        },
        quick ? 1 : 15,
        (text) => progress(`one, ${text}`),
      );
      const many = await measureInTurn(
        { ours: () => make(atOnce), script: () => scripted(atOnce), provider: () => provider(atOnce) },
        quick ? 1 : 5,
        (text) => progress(`${atOnce} at once, ${text}`),
      );
      await expectReadable();
      return describe(one, many, atOnce);
    } finally {
      await script.close();
      await load.close();
      await sql`drop table if exists ${sql(TABLE)}`;
      await sql.end({ timeout: 1 });
    }
  },
};

type One = Record<"woken" | "awake" | "script" | "provider", number[]>;
type Many = Record<"ours" | "script" | "provider", number[]>;

function describe(one: One, many: Many, atOnce: number): Result {
  const perSecond = (took: number[]) => took.map((ms) => (atOnce / ms) * 1000);
  return {
    tables: [
      {
        caption: "one first frame",
        unit: "ms",
        columns: ["start to stored"],
        rows: [
          { name: "Keyframe, nothing running before", cells: [spreadOf(one.woken)] },
          { name: "Keyframe, right after another", cells: [spreadOf(one.awake)] },
          { name: "the script", cells: [spreadOf(one.script)] },
          { name: "the provider alone, nothing stored", cells: [spreadOf(one.provider)] },
        ],
      },
      {
        caption: `${atOnce} first frames at once`,
        unit: "per second",
        columns: ["stored"],
        rows: [
          { name: "Keyframe", cells: [spreadOf(perSecond(many.ours))] },
          { name: "the script", cells: [spreadOf(perSecond(many.script))] },
          { name: "the provider alone, nothing stored", cells: [spreadOf(perSecond(many.provider))] },
        ],
      },
    ],
    aims: [
      {
        name: "one, nothing running before: time beside the script",
        ratio: ratioOf(one.woken, one.script),
        atMost: 1.5,
      },
      { name: "one, right after another: time beside the script", ratio: ratioOf(one.awake, one.script), atMost: 1.5 },
      {
        name: `${atOnce} at once: per second beside the script`,
        ratio: ratioOf(perSecond(many.ours), perSecond(many.script)),
        atLeast: 1,
      },
    ],
  };
}

/** The script's table. */
async function makeTable(sql: postgres.Sql): Promise<void> {
  await sql`create table ${sql(TABLE)} (
    id uuid primary key default gen_random_uuid(), path text not null, bytes bigint not null, created_at timestamptz not null default now())`;
  await sql`alter table ${sql(TABLE)} enable row level security`;
  await sql`grant select, insert on ${sql(TABLE)} to service_role`;
}

/** The same model and input as our own submit. */
async function scriptSettings(stack: BenchStack, sql: postgres.Sql): Promise<ScriptSettings> {
  if (!stack.simulator) throw new Error("There is no simulator on this stack.");
  const [model] = await sql<{ model: `${string}/${string}`; extras: Record<string, unknown>; prompt_field: string }[]>`
    select model, extras, prompt_field from keyframe.models where step = 'first-frame' and is_default`;
  if (!model) throw new Error("There is no default model for first frames.");
  const { prompt }: { prompt: string } = JSON.parse(startByApi(stack.caller, "").body ?? "");
  return {
    url: stack.url,
    secretKey: stack.keys.secretKey,
    provider: `${stack.simulator.url}/v1`,
    token: stack.keys.replicateToken,
    model: model.model,
    input: { ...model.extras, [model.prompt_field]: prompt },
    bucket: "keyframe-outputs",
    table: TABLE,
  };
}
