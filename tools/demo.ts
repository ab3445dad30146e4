import { join } from "node:path";
import { findStack } from "./demo/find-stack.ts";
import type { DemoOptions } from "./demo/make-shot.ts";
import { runDemo } from "./demo/run-demo.ts";
import type { ShownFilm } from "./demo/show-film.ts";
import { oneLine, parseOptions, readNumber, runMain, stopSignals } from "../command-line/run-main.ts";
import { showStages, write } from "../command-line/show-stages.ts";
import { demoUserOf, loadStackKeys } from "../local/stack/stack-keys.ts";
import { startStack } from "../local/stack/start-stack.ts";
import { readStackOptions, STACK_OPTIONS, type StackOptions } from "../local/stack/stack-settings.ts";

const HELP = `npm run demo -- [options]   makes a shot, from project to video, as the demo user; ends with a film to watch

  --shots N     a film of N shots (1 to 20), each starting on the last frame of the one before
  --cast        with --shots: two characters and a place, used in every shot
  --data DIR    the data folder of the stack to use (default .keyframe); without a running stack, the demo starts one
  --port N      the port of the stack that the demo starts (default 54321; 0: any free port)
  --mcp         the shot is made by an agent of a new user, with the tools of keyframe-mcp, each step at its quoted price
  --frame       only a first frame: with KEYFRAME_REPLICATE_API_TOKEN the cheapest run on the real Replicate, a few cents

With KEYFRAME_REPLICATE_API_TOKEN, or on a stack that was started with it, each step COSTS MONEY.`;

const SIMULATED_TIMEOUT_MS = 60_000;
const REAL_TIMEOUT_MS = 15 * 60_000;

async function main(): Promise<number> {
  const {
    cast,
    frame,
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
    },
  }).values;
  const options = readStackOptions(given, (name) => Deno.env.get(name));
  const shots = text === undefined ? undefined : readNumber("shots", text, 1, 20);
  if (cast && shots === undefined) throw new Error("--cast is for a film: add --shots N.");
  const signal = stopSignals();
  const start = performance.now();
  try {
    const places = await perform(options, { onlyFrame: frame, byAgent: mcp, shots, withCast: cast }, signal);
    write(`\nEverything worked, in ${((performance.now() - start) / 1000).toFixed(1)} s.${places}\n`);
    return 0;
  } catch (error) {
    console.error(`\nThe demo failed: ${signal.aborted ? "It was stopped." : oneLine(error)}`);
    return 1;
  }
}

/** A link needs a stack on these data, at the same port. */
function describePlaces({ link, file }: ShownFilm, isOver: boolean, port: number): string {
  const places = [file ?? ""];
  if (!isOver) places.push(link);
  else if (port !== 0) places.push(`${link}   while npm start runs`);
  return ` Watch the film:\n\n${places.map((place) => place && `  ${place}\n`).join("")}`;
}

/** Returns where to watch the film, if there is one. Throws at the first failure, after stopping a stack of its own. */
async function perform(
  options: StackOptions,
  requested: Pick<DemoOptions, "onlyFrame" | "byAgent" | "shots" | "withCast">,
  signal: AbortSignal,
): Promise<string> {
  const running = await findStack(options, write, signal);
  if (!running) write("No stack runs on this data folder; starting one.\n");
  const display = showStages(write, Deno.stdout.isTerminal());
  const started = running ? null : await startStack({ ...options, signal, ...display }).finally(display.end);
  const stack = running ?? {
    url: started?.url ?? "",
    publishableKey: started?.keys.publishableKey ?? "",
    simulated: options.provider === undefined,
  };
  try {
    const timeoutMs = stack.simulated ? SIMULATED_TIMEOUT_MS : REAL_TIMEOUT_MS;
    // An agent's usage is compared with its quotes, so the agent works for a user who has no usage.
    const user = requested.byAgent ? undefined : demoUserOf(await loadStackKeys(options.dataDir));
    const file = join(options.dataDir, "demo.mp4");
    const film = await runDemo({ ...stack, timeoutMs, signal, display, user, file, ...requested }).finally(display.end);
    return film ? describePlaces(film, started !== null, options.port) : "";
  } finally {
    await started?.stop();
  }
}

runMain(HELP, main);
