import { createKeyframeClient } from "../../../client/index.ts";
import { mustSucceed } from "../../../client/endings.ts";
import { pause } from "../../../shared/platform/retry.ts";
import type { BenchContext, Benchmark, Result } from "../benchmark.ts";
import { waitUntil } from "../measure.ts";
import type { BenchStack } from "../stack.ts";
import { makeUsers } from "../users.ts";

/** How long runs of the default models take, which decides how often their status is read and their callbacks come. */
const RUN_MS = { "first-frame": 15_000, "last-frame": 15_000, video: 80_000 };
/** After this all workers have ended. */
const QUIET_MS = 4_000;

export const shotBenchmark: Benchmark = { name: "shot", run: measureShot };

/** Makes one shot, as an app with the client and a webhook does, and counts the calls of functions. */
async function measureShot({ quick, openStack, progress }: BenchContext): Promise<Result> {
  const stack = await openStack();
  const { sql, simulator } = stack;
  const [user] = await makeUsers(stack, 1);
  if (!user || !simulator) throw new Error("A shot needs a user and the simulator.");
  const receiver = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => undefined }, () => new Response());
  let api = 0;
  const client = createKeyframeClient({
    url: stack.url,
    apikey: user.apikey,
    getToken: () => user.token,
    fetch: (url, init) => {
      api++;
      return fetch(url, init);
    },
  });
  try {
    await sql`
      insert into keyframe.webhook_endpoints (owner_id, url) values (${user.id}, ${`http://127.0.0.1:${receiver.addr.port}/`})`;
    await pause(QUIET_MS);
    const before = await countCalls(stack);
    const { projectId } = await client.projects.create({
      title: "Bench",
      textPrompt: "A harbour at dawn, one red boat",
    });
    for (const step of ["first-frame", "last-frame", "video"] as const) {
      progress(step);
      const delays = { start_ms: 0, run_ms: quick ? 0 : RUN_MS[step] };
      await fetch(`${simulator.url}/control/delays`, { method: "POST", body: JSON.stringify(delays) });
      // With onProgress, like an app that shows the progress, which reads more often.
      mustSucceed(await client.waitFor(await client.generate(step, { projectId }), { onProgress: () => undefined }));
    }
    const isSent = async () =>
      (await sql`select from keyframe.webhook_deliveries where status = 'pending' limit 1`).length === 0;
    await waitUntil(isSent, { what: "the events are delivered", everyMs: 100 });
    if (!quick) await pause(QUIET_MS);
    const after = await countCalls(stack);
    const [kicks, callbacks] = [after.kicks - before.kicks, after.callbacks - before.callbacks];
    const [row] = await sql<{ usd: number; deliveries: number }[]>`
      select (select sum(cost_micros) / 1e6 from keyframe_private.provider_submits where owner_id = ${user.id})::float8 as usd,
        (select count(*) from keyframe.webhook_deliveries where owner_id = ${user.id})::int as deliveries`;
    const { usd = Number.NaN, deliveries = Number.NaN } = row ?? {};
    return {
      aims: [],
      tables: [
        {
          caption: "one shot: two frames and a video",
          columns: ["calls of api", "kicks", "callbacks of the provider", "deliveries", "the provider's bill, $"],
          rows: [{ name: "Keyframe", cells: [api, kicks, callbacks, deliveries, usd] }],
        },
      ],
      figures: { api, kicks, callbacks, deliveries, usd },
    };
  } finally {
    await receiver.shutdown();
  }
}

/** Of functions since the stack was started: pg_net sends the kicks, the simulator the callbacks. */
async function countCalls({ sql, simulator }: BenchStack): Promise<{ kicks: number; callbacks: number }> {
  const [queue] = await sql<{ kicks: number }[]>`
    select case when is_called then last_value else 0 end::int as kicks from net.http_request_queue_id_seq`;
  const state: { callbacks: { sent: number } } = await (await fetch(`${simulator?.url}/control/state`)).json();
  return { kicks: queue?.kicks ?? Number.NaN, callbacks: state.callbacks.sent };
}
