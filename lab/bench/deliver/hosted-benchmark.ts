import { fileURLToPath } from "node:url";
import { freePort } from "../../../local/network.ts";
import { functionArguments, HOSTED_DENO, hostedDenoMissing } from "../../../local/stack/function-arguments.ts";
import { sign } from "../../../shared/webhooks/signature.ts";
import type { BenchContext, Benchmark, Result } from "../benchmark.ts";
import { measureInTurn, ratioOf, spreadOf } from "../measure.ts";
import { CpuMeter } from "../memory/process-usage.ts";
import { startFunction } from "../processes.ts";
import type { BenchStack } from "../stack.ts";
import { runBurst } from "./burst.ts";
import { ENDPOINTS, openScene } from "./scene.ts";
import { keyframeWay } from "./ways.ts";

const FULL = { events: 4_000, rounds: 3 };
const QUICK = { events: 400, rounds: 1 };
/** What the hosted platform allows one request, waiting excluded. */
const ALLOWED_MS = 2_000;
/** The sweep would send one every five seconds. */
const KICK_EVERY_MS = 1_000;

const HOSTED_DELIVER = fileURLToPath(new URL("hosted-deliver.ts", import.meta.url));

export const hostedBenchmark: Benchmark = { name: "hosted", run: measureHosted };

async function measureHosted({ quick, openStack, progress }: BenchContext): Promise<Result> {
  if (hostedDenoMissing !== undefined) throw new Error(`${hostedDenoMissing}.`);
  const { events, rounds } = quick ? QUICK : FULL;
  const stack = await openStack();
  const scene = await openScene(stack.databaseUrl);
  // The other process of keyframe-deliver takes all work.
  stack.children.get("keyframe-deliver")?.kill("SIGSTOP");
  try {
    // A new process each time, as the platform starts one: what it compiles at first counts.
    const cost = (isHosted: boolean) => async () => {
      const deliver = await startDeliver(stack, isHosted);
      const kicks = setInterval(() => void deliver.kick().catch(() => undefined), KICK_EVERY_MS);
      try {
        const meter = new CpuMeter(scene.sql, [deliver.pid]);
        await meter.during(events, () => runBurst(scene, keyframeWay(scene), { events, endpoints: ENDPOINTS }));
        return meter.cost?.functions ?? Number.NaN;
      } finally {
        clearInterval(kicks);
        await deliver.close();
      }
    };
    const { hosted, local } = await measureInTurn({ hosted: cost(true), local: cost(false) }, rounds, progress);
    const row = (name: string, ms: number[]) => ({
      ...{ name, cells: [spreadOf(ms), spreadOf(ms.map((each) => ALLOWED_MS / each))] },
    });
    return {
      aims: [],
      tables: [
        {
          caption: "keyframe-deliver",
          columns: ["processor time for one delivery, ms", "deliveries in 2 s of processor time"],
          rows: [
            row("the hosted platform's Deno", hosted),
            row("the Deno of the other benchmarks", local),
            { name: "ratio", cells: [ratioOf(hosted, local), null] },
          ],
        },
      ],
    };
  } finally {
    stack.children.get("keyframe-deliver")?.kill("SIGCONT");
    await scene.close();
  }
}

/** One more keyframe-deliver with the rights of the stack's own. `kick` wakes it as Postgres does. */
async function startDeliver({ url, keys }: BenchStack, isHosted: boolean) {
  const port = freePort();
  const env = {
    SUPABASE_URL: url,
    SUPABASE_SECRET_KEYS: JSON.stringify({ default: keys.secretKey }),
    KEYFRAME_KICK_SECRET: keys.kickSecret,
    KEYFRAME_ALLOW_LOCAL_WEBHOOKS: "1",
  };
  const deliver = await startFunction({
    port,
    // The port, because the hosted platform's version does not know DENO_SERVE_ADDRESS.
    args: [...functionArguments("keyframe-deliver", port, "anywhere").slice(0, -1), HOSTED_DELIVER, String(port)],
    env,
    ...(isHosted ? { deno: HOSTED_DENO } : {}),
  });
  return {
    ...deliver,
    kick: async () => {
      const headers = sign(keys.kickSecret, `kick_${crypto.randomUUID()}`, new Date(), "{}");
      const response = await fetch(`http://127.0.0.1:${port}/keyframe-deliver`, {
        method: "POST",
        headers,
        body: "{}",
      });
      await response.body?.cancel();
      if (response.status !== 202) throw new Error(`keyframe-deliver answered ${response.status} to a kick.`);
    },
  };
}
