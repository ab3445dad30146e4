import { printWelcome } from "./stack/print-welcome.ts";
import { resetData } from "./stack/reset-data.ts";
import { readStackSettings } from "./stack/stack-settings.ts";
import { startStack } from "./stack/start-stack.ts";
import { untilAskedToStop } from "./stack/until-asked-to-stop.ts";

const HELP = `npm start -- [options]   the whole of Keyframe on this machine

  --port N      the port clients use (default 54321; 0: any free one)
  --data DIR    where data, keys and logs are kept (default .keyframe)
  --reset       throw the data away first

  KEYFRAME_DATABASE_URL   a superuser's address of an empty Postgres 15 to 17, instead of the embedded one
  REPLICATE_API_TOKEN     the real Replicate instead of the simulator (it costs money)`;

async function main(): Promise<number> {
  const settings = readStackSettings(Deno.args, (name) => Deno.env.get(name));
  if (settings.help) {
    console.log(HELP);
    return 0;
  }
  const start = performance.now();
  const asked = untilAskedToStop();
  if (settings.reset) await resetData(settings.stack);
  const stack = await startStack({
    ...settings.stack,
    onStage: ({ name, ms }) => console.log(`  ${name.padEnd(32)}${String(ms).padStart(6)} ms`),
    onProblem: (line) => console.error(`  ! ${line}`),
  });
  printWelcome(stack, performance.now() - start);
  await asked;
  console.log("\nStopping …");
  await stack.stop();
  return 0;
}

main().then(
  (code) => Deno.exit(code),
  (error: unknown) => {
    console.error(error instanceof Error ? error.message : String(error));
    Deno.exit(1);
  },
);
