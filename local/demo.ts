import { findStack } from "./demo/find-stack.ts";
import { runDemo } from "./demo/run-demo.ts";
import { readStackSettings } from "./stack/stack-settings.ts";
import { startStack } from "./stack/start-stack.ts";

const HELP = `npm run demo -- [options]   a film from project to video, as a new user would make it

  --port N      where a stack already runs (default 54321); when none does, one is started for the demo
  --data DIR    where its data are (default .keyframe)
  --json        one JSON line last`;

const SIMULATED_PATIENCE_MS = 60_000;
const REAL_PATIENCE_MS = 15 * 60_000;

async function main(): Promise<number> {
  const settings = readStackSettings(Deno.args, (name) => Deno.env.get(name));
  if (settings.help) {
    console.log(HELP);
    return 0;
  }
  const say = (text: string) => Deno.stdout.writeSync(new TextEncoder().encode(text));
  const running = await findStack(settings.stack);
  if (!running) say("No stack runs here: starting one.\n");
  const started = running ? null : await startStack(settings.stack);
  const { url, publishableKey } = running ?? {
    url: started?.url ?? "",
    publishableKey: started?.keys.publishableKey ?? "",
  };
  const start = performance.now();
  try {
    const patienceMs = settings.stack.replicateApiToken === undefined ? SIMULATED_PATIENCE_MS : REAL_PATIENCE_MS;
    const steps = await runDemo({ url, publishableKey, patienceMs, write: say });
    for (const { name, ms, result } of steps) say(`  ${name.padEnd(14)}${String(ms).padStart(7)} ms  ${result}\n`);
    say(`\nAll of it held, in ${((performance.now() - start) / 1000).toFixed(1)} s.\n`);
    if (settings.json) console.log(JSON.stringify({ ok: true, url, steps }));
    return 0;
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    console.error(`\nThe demo failed: ${reason}`);
    if (settings.json) console.log(JSON.stringify({ ok: false, url, error: reason }));
    return 1;
  } finally {
    await started?.stop();
  }
}

main().then(
  (code) => Deno.exit(code),
  (error: unknown) => {
    console.error(error instanceof Error ? error.message : String(error));
    Deno.exit(1);
  },
);
