import postgres from "postgres";
import type { Aim, Benchmark, Table } from "../benchmark.ts";
import { measureInTurn, ratioOf, type Spread, spreadOf } from "../measure.ts";
import { keepGenerateStill, makeUsers } from "./users.ts";
import { type Load, startLoad } from "./load.ts";
import { listOperations, type Operation, type Way } from "./operations.ts";

const MOST_CLIENTS = 8;
const CLIENTS = [1, MOST_CLIENTS];
/** More than one user's predictions in a round and its warm-up. */
const MOST_ACTIVE = 1000;

export const apiBenchmark: Benchmark = {
  name: "api",
  title: "The API beside plain REST",
  work:
    "Creating a project, starting a first frame and reading its status through the API, and the same statement sent straight to " +
    "REST: the insert, and the SQL functions that the API calls. The clients are users of their own, in a process of their own; each " +
    "sends its next request when it has read the last answer. Nothing generates meanwhile: what is started stays queued.",

  async run({ quick, stack: open, progress }) {
    const stack = await open();
    const sql = postgres(stack.databaseUrl, { max: 2, onnotice: () => undefined });
    const load = startLoad();
    const [before] = await sql<{ most: number }[]>`select max_active_per_owner as most from keyframe_private.settings`;
    try {
      await sql`update keyframe_private.settings set max_active_per_owner = ${MOST_ACTIVE}`;
      const users = await makeUsers(stack, sql, MOST_CLIENTS);
      const measured: Measured[] = [];
      await keepGenerateStill(sql, async () => {
        for (const operation of await listOperations(sql, users))
          for (const clients of CLIENTS) measured.push(await measure(operation, clients, load, quick, progress));
      });
      return { tables: describe(measured), aims: measured.flatMap(aimsOf) };
    } finally {
      if (before) await sql`update keyframe_private.settings set max_active_per_owner = ${before.most}`;
      await load.close();
      await sql.end({ timeout: 1 });
    }
  },
};

type Name = "api" | "rest" | "bare";
type Measured = { name: string; clients: number; p50: Record<Name, number[]>; perSecond: Record<Name, number[]> };

async function measure(
  { name, api, rest, bare, countRows, tidy }: Operation,
  clients: number,
  load: Load,
  quick: boolean,
  progress: (text: string) => void,
): Promise<Measured> {
  const rounds = quick ? 2 : 7;
  const count = (quick ? 16 : 160) * (clients === 1 ? 1 : 4);
  const perSecond: Record<Name, number[]> = { api: [], rest: [], bare: [] };
  const way = (key: Name, { requests, status }: Way) => {
    let isCold = true; // frequent code is compiled, as in a running service
    return async () => {
      const warmUp = isCold ? count : count / 8;
      isCold = false;
      const rows = await countRows?.();
      const { p50, perSecond: speed } = await load.run({ requests, clients, count, warmUp, status });
      const made = ((await countRows?.()) ?? 0) - (rows ?? 0);
      if (rows !== undefined && made !== count + warmUp)
        throw new Error(`${name} by ${key} made ${made} rows of ${count + warmUp}.`);
      await tidy?.();
      perSecond[key].push(speed);
      return p50;
    };
  };
  const both = { api: way("api", api), rest: way("rest", rest) };
  const said = (text: string) => progress(`${name}, ${clients} at once, ${text}`);
  const p50 = bare
    ? await measureInTurn({ ...both, bare: way("bare", bare) }, rounds, said)
    : { ...(await measureInTurn(both, rounds, said)), bare: [] };
  return { name, clients, p50, perSecond };
}

const rowName = ({ name, clients }: Measured) => `${name}, ${clients === 1 ? "one client" : `${clients} clients`}`;

function describe(measured: Measured[]): Table[] {
  const columns = ["API", "REST, the same statement", "REST, the bare row"];
  const cells = ({ api, rest, bare }: Record<Name, number[]>): (Spread | null)[] => [
    spreadOf(api),
    spreadOf(rest),
    bare.length === 0 ? null : spreadOf(bare),
  ];
  const rows = (pick: "p50" | "perSecond") => measured.map((one) => ({ name: rowName(one), cells: cells(one[pick]) }));
  return [
    { caption: "p50 of an answer", unit: "ms", columns, rows: rows("p50") },
    { caption: "answers", unit: "per second", columns, rows: rows("perSecond") },
  ];
}

function aimsOf(one: Measured): Aim[] {
  const { p50, perSecond, clients } = one;
  return [
    { name: `${rowName(one)}: p50 beside REST`, ratio: ratioOf(p50.api, p50.rest), atMost: 1.5 },
    ...(clients === 1
      ? []
      : [
          {
            name: `${rowName(one)}: answers per second beside REST`,
            ratio: ratioOf(perSecond.api, perSecond.rest),
            atLeast: 0.7,
          },
        ]),
  ];
}
