import postgres from "postgres";
import { startLoad } from "../api/load.ts";
import type { LoadRequest } from "../api/load.ts";
import { makeProjects, makeRunning, makeUsers } from "../api/make-users.ts";
import { keepGenerateStill } from "../api/keep-generate-still.ts";
import { readByApi, readByRest, selectByRest } from "../api/requests.ts";
import type { Benchmark } from "../benchmark.ts";
import { measureInTurn } from "../measure/in-turn.ts";
import { ratioOf, spreadOf } from "../measure/spread.ts";

const CLIENTS = 64;

export const pollBenchmark: Benchmark = {
  name: "poll",
  title: "Polling a prediction",
  work:
    `${CLIENTS} clients, users of their own in a process of their own, each asking for the status of a first frame that runs, again and ` +
    "again without a pause: with the ETag of the last answer (304) and without (200); and the same SQL function and the bare row by " +
    "REST. A time per answer is that of all clients together: a second, divided by the answers in it.",

  async run({ quick, stack: open, progress }) {
    const stack = await open();
    const rounds = quick ? 2 : 9;
    const count = quick ? 3 * CLIENTS : 20 * CLIENTS;
    const sql = postgres(stack.databaseUrl, { max: 2, onnotice: () => undefined });
    const load = startLoad();
    try {
      const users = await makeUsers(stack, sql, CLIENTS);
      const projects = await makeProjects(sql, users);
      return await keepGenerateStill(sql, async () => {
        const predictions = await makeRunning(sql, projects);
        const each = (make: (user: (typeof users)[number], at: number) => LoadRequest) => users.map(make);
        const reads = each((user, at) => readByApi(user, projects[at] ?? "", predictions[at] ?? ""));
        const tagged = await Promise.all(reads.map(withTag));
        const byRest = each((user, at) => readByRest(user, projects[at] ?? "", predictions[at] ?? ""));
        const rows = each((user, at) => selectByRest(user, predictions[at] ?? ""));

        const perAnswer: Record<Name, number[]> = { unchanged: [], full: [], rest: [], bare: [] };
        const way = (key: Name, requests: LoadRequest[], status: number) => async () => {
          const { p50, perSecond } = await load.run({ requests, clients: CLIENTS, count, warmUp: CLIENTS, status });
          perAnswer[key].push(1000 / perSecond);
          return p50;
        };
        const ways: Record<Name, () => Promise<number>> = {
          unchanged: way("unchanged", tagged, 304),
          full: way("full", reads, 200),
          rest: way("rest", byRest, 200),
          bare: way("bare", rows, 200),
        };
        const p50 = await measureInTurn(ways, rounds, progress);
        return {
          tables: [
            {
              caption: `${CLIENTS} clients`,
              unit: "ms",
              columns: ["time per answer", "p50 of an answer"],
              rows: NAMES.map(([key, name]) => ({ name, cells: [spreadOf(perAnswer[key]), spreadOf(p50[key])] })),
              plot: "bars" as const,
            },
          ],
          aims: [
            {
              name: "time per answer: 304 beside 200",
              ratio: ratioOf(perAnswer.unchanged, perAnswer.full),
              atMost: 1.1,
            },
            { name: "p50: 304 beside 200", ratio: ratioOf(p50.unchanged, p50.full), atMost: 1.1 },
          ],
        };
      });
    } finally {
      await load.close();
      await sql.end({ timeout: 1 });
    }
  },
};

type Name = "unchanged" | "full" | "rest" | "bare";
const NAMES: [Name, string][] = [
  ["unchanged", "API with ETag: 304"],
  ["full", "API without: 200"],
  ["rest", "REST, the same SQL function"],
  ["bare", "REST, the bare row"],
];

/** The same request with the ETag of its answer; its answer has no body then. */
async function withTag({ contains: _, ...request }: LoadRequest): Promise<LoadRequest> {
  const response = await fetch(request.url, { headers: request.headers });
  await response.body?.cancel();
  const tag = response.headers.get("etag");
  if (tag === null) throw new Error(`${request.url} answered ${response.status} without an ETag.`);
  return { ...request, headers: { ...request.headers, "if-none-match": tag } };
}
