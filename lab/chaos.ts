import { removeData } from "../local/stack/data-folder.ts";
import { parseOptions, readNumber, runMain, stopSignals } from "../command-line/run-main.ts";
import { readWorkers } from "../local/stack/stack-settings.ts";
import { SCENARIO_NAMES } from "./chaos/scenarios.ts";
import { countBroken, describeResult } from "./chaos/report.ts";
import { runChaos } from "./chaos/run-chaos.ts";
import { compareVersions } from "./chaos/versions.ts";

const HELP = `npm run chaos -- [options]   puts load and faults on a throw-away stack, then checks that nothing was lost

  --minutes N   how long (default 5); settling and checking take a few more
  --seed S      repeats a plan: what users do, which faults happen and when
  --users N     how many users at once (default 16)
  --scenarios   only these isolation scenarios, without load and faults: all, or
                ${SCENARIO_NAMES.join(",")}
  --against     a commit: the scenarios run on a stack of that version and on one of this checkout, in turn
  --rounds N    how often with --against (default 2)
  --workers     functions, or npm run worker in place of the two functions: process by the Data API, database by a
                connection. The second process of a worker is then the function

  KEYFRAME_DATABASE_URL   a superuser's connection string of an empty Postgres 15 to 17 to use, with its real extensions.
                          The run fills it and does not kill its server's processes; the report says what it did instead.

Exits with 1 when an invariant is broken; the data are then kept, and the last lines say where. The invariants are in lab/chaos/invariants.`;

// postgres.js rejects some queries outside of any promise when Postgres is killed. The caller repeats those queries.
for (const event of ["unhandledrejection", "error"] as const) {
  globalThis.addEventListener(event, (problem) => {
    const error: unknown = problem instanceof ErrorEvent ? problem.error : problem.reason;
    const isDrivers = error instanceof Error && (error.stack ?? "").includes("node_modules/postgres/");
    if (isDrivers) problem.preventDefault();
  });
}

async function main(): Promise<number> {
  const { values } = parseOptions({
    args: Deno.args,
    options: {
      minutes: { type: "string", default: "5" },
      seed: { type: "string", default: String(Math.floor(Date.now() / 1000) % 1_000_000) },
      users: { type: "string", default: "16" },
      scenarios: { type: "string" },
      against: { type: "string" },
      rounds: { type: "string", default: "2" },
      workers: { type: "string" },
    },
  });
  const minutes = readNumber("minutes", values.minutes, 0.1, 600, false);
  const seed = readNumber("seed", values.seed, 0, 2 ** 31);
  const users = readNumber("users", values.users, 1, 200);
  const scenarios = values.scenarios === undefined ? undefined : readScenarios(values.scenarios);
  const workers = readWorkers("--workers", values.workers);
  const databaseUrl = Deno.env.get("KEYFRAME_DATABASE_URL") || undefined;
  const began = performance.now();
  const say = (line: string) => console.log(`${Math.round((performance.now() - began) / 1000)} s  ${line}`);
  const { against } = values;
  const signal = stopSignals();
  if (against !== undefined) {
    const rounds = readNumber("rounds", values.rounds, 1, 100);
    console.log(`\n${await compareVersions({ against, names: scenarios ?? SCENARIO_NAMES, rounds, say, signal })}`);
    return 0;
  }
  const dataDir = await Deno.makeTempDir({ prefix: "keyframe-chaos-" });
  say(`seed ${seed}, ${minutes} minutes, ${users} users, data in ${dataDir}`);
  const result = await runChaos({
    seed,
    users,
    scenarios,
    workers,
    dataDir,
    databaseUrl,
    say,
    durationMs: minutes * 60_000,
    settleSeconds: 120 + minutes * 30,
    signal,
  });
  console.log(`\n${describeResult(result)}\n`);
  const broken = countBroken(result);
  if (broken === 0) {
    await removeData(dataDir);
    console.log(`Nothing was lost (seed ${seed}).`);
    if (databaseUrl !== undefined)
      console.log("The database of KEYFRAME_DATABASE_URL still has the run's rows: drop it.");
    return 0;
  }
  console.log(
    `${broken} invariants are broken. Repeat with: npm run chaos -- --minutes ${minutes} --seed ${seed} --users ${users} --workers ${workers}`,
  );
  const open = databaseUrl === undefined ? "" : "with the same KEYFRAME_DATABASE_URL ";
  console.log(`Logs are in ${dataDir}/logs; ${open}npm start -- --data ${dataDir} opens the data.`);
  return 1;
}

function readScenarios(text: string): readonly string[] {
  if (text === "all") return SCENARIO_NAMES;
  const names = text.split(",");
  if (names.every((name) => SCENARIO_NAMES.includes(name))) return names;
  throw new Error(`--scenarios must be all, or some of ${SCENARIO_NAMES.join(",")}, not "${text}".`);
}

runMain(HELP, main);
