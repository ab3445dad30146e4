import { oneLine } from "./stack/one-line.ts";
import { printWelcome } from "./stack/print-welcome.ts";
import { showStages } from "./stack/show-stages.ts";
import { readStackSettings } from "./stack/stack-settings.ts";
import { startStack } from "./stack/start-stack.ts";
import { stopSignals } from "./stack/stop-signals.ts";

const HELP = `npm start -- [options]   the whole of Keyframe on this machine

  --port N      the port clients use (default 54321; 0: any free one)
  --data DIR    where data, keys and logs are kept (default .keyframe)
  --reset       throw the data away first

  KEYFRAME_DATABASE_URL   a superuser's address of an empty Postgres 15 to 17, instead of the embedded one
  KEYFRAME_REPLICATE_API_TOKEN     the real Replicate instead of the simulator (it costs money), polled, inputs by its Files API;
                          with KEYFRAME_PUBLIC_URL and KEYFRAME_REPLICATE_WEBHOOK_SECRET it calls back instead`;

async function main(): Promise<void> {
  const { stack: options, flag: reset, help } = readStackSettings(Deno.args, (name) => Deno.env.get(name), "reset");
  if (help) return console.log(HELP);
  const signal = stopSignals();
  const start = performance.now();
  const display = showStages(write, Deno.stdout.isTerminal());
  try {
    const stack = await startStack({ ...options, dashboard: true, reset, signal, ...display });
    printWelcome(stack, options, performance.now() - start);
    await aborted(signal);
    write("\nStopping …\n");
    await stack.stop();
  } catch (error) {
    display.end();
    if (!signal.aborted) throw error;
    write("Stopped.\n");
  }
}

function write(text: string): void {
  try {
    Deno.stdout.writeSync(new TextEncoder().encode(text));
  } catch {
    // Nobody reads any more (a closed terminal, the end of a pipe); the stack still has to stop in order.
  }
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener("abort", () => resolve());
  });
}

main().then(
  () => Deno.exit(0),
  (error: unknown) => {
    console.error(oneLine(error));
    Deno.exit(1);
  },
);
