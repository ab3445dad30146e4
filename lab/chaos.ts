import { readChaosArguments } from "./chaos/read-chaos-arguments.ts";
import { countBroken, describeResult } from "./chaos/report.ts";
import { runChaos } from "./chaos/run-chaos.ts";
import { oneLine, stopSignals } from "../local/stack/command-line.ts";
import { removeData } from "../local/stack/data-folder.ts";

const HELP = `npm run chaos -- [options]   uses a throw-away stack, does it harm, and looks whether anything was lost

  --minutes N   how long (default 5); coming to rest takes a few more
  --seed S      the same plan again: what users do, what breaks and when
  --users N     how many use it at once (default 16)

  KEYFRAME_DATABASE_URL   a superuser's address of an empty Postgres 15 to 17 to run on, with the extensions that are real there.
                          The run fills it, and never touches its server's processes: the report says what was done instead

It ends with 1 when a promise was broken; then the data are kept, and the last lines say where. docs/chaos.md says what is promised.`;

// The driver leaves some of its errors to nobody when Postgres is killed under it. What was being asked is asked again.
for (const event of ["unhandledrejection", "error"] as const) {
  globalThis.addEventListener(event, (problem) => {
    const error: unknown = problem instanceof ErrorEvent ? problem.error : problem.reason;
    const isDrivers = error instanceof Error && (error.stack ?? "").includes("node_modules/postgres/");
    if (isDrivers) problem.preventDefault();
  });
}

async function main(): Promise<number> {
  const { minutes, seed, users, help } = readChaosArguments(Deno.args, new Date());
  if (help) {
    console.log(HELP);
    return 0;
  }
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
    drainSeconds: 120 + minutes * 30,
    signal: stopSignals(),
  });
  console.log(`\n${describeResult(result)}\n`);
  const broken = countBroken(result);
  if (broken === 0) {
    await removeData(dataDir);
    console.log(`Nothing was lost (seed ${seed}).`);
    if (databaseUrl !== undefined) console.log("The database of KEYFRAME_DATABASE_URL keeps the run's rows: drop it.");
    return 0;
  }
  console.log(
    `${broken} promises were broken. Again: npm run chaos -- --minutes ${minutes} --seed ${seed} --users ${users}`,
  );
  const open = databaseUrl === undefined ? "" : "with the same KEYFRAME_DATABASE_URL ";
  console.log(`Logs are in ${dataDir}/logs; ${open}npm start -- --data ${dataDir} opens the data.`);
  return 1;
}

main().then(
  (code) => Deno.exit(code),
  (error: unknown) => {
    console.error(oneLine(error));
    Deno.exit(1);
  },
);
