import { removeData } from "../local/stack/data-folder.ts";
import { parseOptions, runMain, stopSignals } from "../local/stack/command-line.ts";
import { countBroken, describeResult } from "./chaos/report.ts";
import { runChaos } from "./chaos/run-chaos.ts";

const HELP = `npm run chaos -- [options]   uses a throw-away stack while faults happen, then checks that nothing was lost

  --minutes N   how long (default 5); settling and checking take a few more
  --seed S      repeats a plan: what users do, which faults happen and when
  --users N     how many users at once (default 16)

  KEYFRAME_DATABASE_URL   a superuser's connection string of an empty Postgres 15 to 17 to use, with its real extensions.
                          The run fills it and does not kill its server's processes; the report says what it did instead.

Exit code 1 when an invariant is broken; the data are then kept, and the last lines say where. docs/chaos.md lists the invariants.`;

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
      help: { type: "boolean", short: "h", default: false },
    },
  });
  if (values.help) {
    console.log(HELP);
    return 0;
  }
  const minutes = readNumber("minutes", values.minutes, 0.1, 600);
  const seed = readNumber("seed", values.seed, 0, 2 ** 31);
  const users = readNumber("users", values.users, 1, 200);
  const databaseUrl = Deno.env.get("KEYFRAME_DATABASE_URL") || undefined;
  const began = performance.now();
  const say = (line: string) => console.log(`${Math.round((performance.now() - began) / 1000)} s  ${line}`);
  const dataDir = await Deno.makeTempDir({ prefix: "keyframe-chaos-" });
  say(`seed ${seed}, ${minutes} minutes, ${users} users, data in ${dataDir}`);
  const result = await runChaos({
    seed,
    users,
    dataDir,
    databaseUrl,
    say,
    durationMs: minutes * 60_000,
    settleSeconds: 120 + minutes * 30,
    signal: stopSignals(),
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
    `${broken} invariants are broken. Repeat with: npm run chaos -- --minutes ${minutes} --seed ${seed} --users ${users}`,
  );
  const open = databaseUrl === undefined ? "" : "with the same KEYFRAME_DATABASE_URL ";
  console.log(`Logs are in ${dataDir}/logs; ${open}npm start -- --data ${dataDir} opens the data.`);
  return 1;
}

function readNumber(name: string, text: string, least: number, most: number): number {
  const value = Number(text);
  const isRight =
    text.trim() !== "" && value >= least && value <= most && (name === "minutes" || Number.isInteger(value));
  if (!isRight) throw new Error(`--${name} must be a number from ${least} to ${most}, not "${text}".`);
  return value;
}

runMain(main);
