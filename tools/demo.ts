import { findStack } from "./demo/find-stack.ts";
import type { DemoOptions } from "./demo/make-shot.ts";
import { runDemo } from "./demo/run-demo.ts";
import { oneLine, parseOptions, readNumber, runMain, stopSignals } from "../command-line/run-main.ts";
import { showStages, type Stage, write } from "../command-line/show-stages.ts";
import { startStack } from "../local/stack/start-stack.ts";
import { readStackOptions, STACK_OPTIONS, type StackOptions } from "../local/stack/stack-settings.ts";

const HELP = `npm run demo -- [options]   a shot from project to video, as a new user would make it

  --shots N     a film of N shots (1 to 20), each starting on the last frame of the one before
  --cast        with --shots: two characters and a place that return in each shot
  --data DIR    the data whose stack is used (default .keyframe); when none runs on them, one is started for the demo
  --port N      the port of a stack that is started (default 54321; 0: any free one)
  --mcp         the shot by an agent, through the tools of keyframe-mcp, each step at the price that was quoted
  --frame       only a first frame: with KEYFRAME_REPLICATE_API_TOKEN the cheapest run on the real Replicate, a few cents
  --json        one JSON line last

With KEYFRAME_REPLICATE_API_TOKEN, or on a stack that was started with it, each step COSTS MONEY.`;

const SIMULATED_TIMEOUT_MS = 60_000;
const REAL_TIMEOUT_MS = 15 * 60_000;

/** The JSON line. */
type Outcome = { ok: boolean; url: string | null; ms: number; steps: Stage[]; error: string | null };

async function main(): Promise<number> {
  const {
    cast,
    frame,
    json,
    mcp,
    shots: text,
    ...given
  } = parseOptions({
    args: Deno.args,
    options: {
      ...STACK_OPTIONS,
      shots: { type: "string" },
      cast: { type: "boolean", default: false },
      frame: { type: "boolean", default: false },
      mcp: { type: "boolean", default: false },
      json: { type: "boolean", default: false },
    },
  }).values;
  const options = readStackOptions(given, (name) => Deno.env.get(name));
  const shots = text === undefined ? undefined : readNumber("shots", text, 1, 20);
  if (cast && shots === undefined) throw new Error("--cast is for a film: add --shots N.");
  const signal = stopSignals();
  const start = performance.now();
  const outcome: Outcome = { ok: false, url: null, ms: 0, steps: [], error: null };
  try {
    await perform(options, { onlyFrame: frame, byAgent: mcp, shots, withCast: cast }, outcome, signal);
    outcome.ok = true;
  } catch (error) {
    outcome.error = signal.aborted ? "It was stopped." : oneLine(error);
    console.error(`\nThe demo failed: ${outcome.error}`);
  }
  outcome.ms = Math.round(performance.now() - start);
  if (outcome.ok) write(`\nAll of it held, in ${(outcome.ms / 1000).toFixed(1)} s.\n`);
  if (json) console.log(JSON.stringify(outcome));
  return outcome.ok ? 0 : 1;
}

/** Fills in the outcome. Throws at the first failure, after stopping its own stack. */
async function perform(
  options: StackOptions,
  wanted: Pick<DemoOptions, "onlyFrame" | "byAgent" | "shots" | "withCast">,
  outcome: Outcome,
  signal: AbortSignal,
): Promise<void> {
  const running = await findStack(options, write, signal);
  if (!running) write("No stack runs on these data: starting one.\n");
  const display = showStages(write, Deno.stdout.isTerminal());
  const started = running ? null : await startStack({ ...options, signal, ...display }).finally(display.end);
  const stack = running ?? {
    url: started?.url ?? "",
    publishableKey: started?.keys.publishableKey ?? "",
    simulated: options.provider === undefined,
  };
  outcome.url = stack.url;
  try {
    const timeoutMs = stack.simulated ? SIMULATED_TIMEOUT_MS : REAL_TIMEOUT_MS;
    const { steps } = outcome;
    await runDemo({ ...stack, timeoutMs, signal, display, steps, ...wanted }).finally(display.end);
  } finally {
    await started?.stop();
  }
}

runMain(HELP, main);
