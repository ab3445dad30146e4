import { runMain } from "./command-line.ts";
import { createProvider } from "../supabase/functions/keyframe-generate/provider/provider.ts";
import { ask, describeImage, keepImage, maySpend, whatToDo } from "./check-replicate/terminal.ts";
import { makeImage } from "./check-replicate/make-image.ts";
import { type LiveCheckArguments, readCheckArguments, readDefaultRow } from "./check-replicate/read-check-arguments.ts";
import { oneLine, stopSignals } from "../local/stack/command-line.ts";

const HELP = `npm run check:replicate -- [options]   makes one image on the real Replicate, with this project's own code

  IT COSTS MONEY: one run of the default first-frame model, a few cents at most, at the expense of the token's account.

  --yes                do not ask
  --migrations         the model that this repository ships, instead of the environment's
  --database-url URL   the default model of this database (default: KEYFRAME_DATABASE_URL)

  KEYFRAME_REPLICATE_API_TOKEN      needed; without it nothing is checked, which it says, and the exit code is 0
  SUPABASE_URL with SUPABASE_SECRET_KEY (or SUPABASE_SECRET_KEYS)   the default model of this project
  KEYFRAME_REPLICATE_API_BASE_URL, KEYFRAME_REPLICATE_OUTPUT_HOSTS   as the function generate has them

  Ends with 0 when the image came and is whole, or when nothing was to be run, else with 1 and what to do.`;

const SKIPPED = `SKIPPED: nothing was checked. KEYFRAME_REPLICATE_API_TOKEN is not set: get one at https://replicate.com/account/api-tokens (a run costs a few cents at most).`;

async function main(): Promise<number> {
  const given = readCheckArguments(Deno.args, (name) => Deno.env.get(name));
  if (given.help) {
    console.log(HELP);
    return 0;
  }
  if (given.token === null) {
    console.error(SKIPPED);
    return 0;
  }
  return await check(given, given.token);
}

async function check({ yes, baseUrl, isAllowedOutput, rows }: LiveCheckArguments, token: string): Promise<number> {
  const signal = stopSignals();
  const terminal = { write: (text: string) => void Deno.stdout.writeSync(new TextEncoder().encode(text)), read };
  const isPermitted = maySpend(yes, {
    isAtTerminal: () => Deno.stdin.isTerminal(),
    agrees: (question) => ask(question, terminal, signal),
  });
  let runId: string | null = null;
  try {
    const row = await readDefaultRow(rows, signal);
    console.log(`This COSTS MONEY, a few cents at most: https://replicate.com/${row.model} states the price of a run.`);
    if (!(await isPermitted(row.model))) {
      console.log("Nothing was run.");
      return 0;
    }
    const began = performance.now();
    const seconds = () => ((performance.now() - began) / 1000).toFixed(1);
    const onStarted = ({ id }: { id: string }) => {
      runId = id;
      console.log(`Started    prediction ${id} of ${row.model} after ${seconds()} s: https://replicate.com/p/${id}`);
    };
    const provider = createProvider({ token, baseUrl, fetch, now: Date.now });
    const sleep = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));
    const steps = { provider, outputs: { isAllowed: isAllowedOutput, fetch }, sleep, now: Date.now, onStarted };
    const image = await makeImage(row, steps, signal);
    console.log(describeImage(image, { model: row.model, file: await keepImage(image), seconds: seconds() }));
    return 0;
  } catch (error) {
    console.error(oneLine(whatToDo(error, { stopped: signal.aborted, runId })));
    return 1;
  }
}

const read = (buffer: Uint8Array) => Deno.stdin.read(buffer);

runMain(main);
