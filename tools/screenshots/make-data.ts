import type postgres from "postgres";
import type { KeyframeClient } from "../../client/index.ts";
import { onServer } from "../../local/postgres/on-server.ts";
import type { Stack } from "../../local/stack/start-stack.ts";
import { pause } from "../../shared/platform/retry.ts";
import { registerReceiver } from "../demo/expect-events.ts";
import { makeFilm } from "../demo/make-film.ts";
import { type DemoOptions, makeShot, type Timed } from "../demo/make-shot.ts";

const TESTS = 26;
const CHECK_EVERY_MS = 100;
const TIMEOUT_MS = 30_000;

/** Registers an endpoint at this address, and sends enough test events for its chart, spread over the last day. */
export async function makeEndpoint(keyframe: KeyframeClient, databaseUrl: string, url: string): Promise<string> {
  const { webhookId } = await keyframe.webhooks.create({ url, description: "Edit suite" });
  for (let sent = 0; sent < TESTS; sent++) await keyframe.webhooks.test(webhookId);
  const end = performance.now() + TIMEOUT_MS;
  while ((await keyframe.webhooks.deliveries(webhookId, { status: "pending" })).deliveries.length > 0) {
    if (performance.now() > end) throw new Error("The test events were not delivered in time.");
    await pause(CHECK_EVERY_MS);
  }
  await onServer(databaseUrl, spreadDeliveries);
  return webhookId;
}

/** The share of deliveries in each of the last 24 hours; the present one is last. */
const SHARES = [0, 0, 1, 0, 0, 0, 1, 2, 4, 6, 9, 8, 5, 7, 9, 10, 8, 6, 3, 2, 1, 2, 3, 2];

async function spreadDeliveries(sql: postgres.Sql): Promise<void> {
  await sql`
    with hours as (
      select ${SHARES.length} - hour as hours_ago, sum(share) over (order by hour)::numeric / sum(share) over () as upto
      from unnest(${SHARES}::int[]) with ordinality as shares (share, hour)
    ), placed as (
      select id, cume_dist() over (order by created_at) as rank from keyframe.webhook_deliveries
    ), moved as (
      select p.id, now() - make_interval(hours => h.hours_ago::int, secs => 10) as at
      from placed p
      cross join lateral (select hours_ago from hours where upto >= p.rank::numeric order by upto limit 1) h
    ), deliveries as (
      update keyframe.webhook_deliveries d
      set created_at = m.at, last_attempt_at = m.at + interval '1 second', completed_at = m.at + interval '1 second'
      from moved m
      where d.id = m.id
      returning d.id, m.at
    )
    update keyframe.webhook_attempts a
    set started_at = d.at + make_interval(secs => a.attempt)
    from deliveries d
    where a.delivery_id = d.id`;
}

/** Makes the film of `npm run demo -- --shots 3 --cast`, and the shot of `npm run demo` without a film. */
export async function makeDemoData(
  keyframe: KeyframeClient,
  at: Pick<DemoOptions, "url" | "publishableKey" | "signal">,
) {
  const receiver = await registerReceiver(keyframe, at.signal);
  const options = { ...at, timeoutMs: 60_000 };
  const timed: Timed = (_name, work) => work();
  try {
    const filmId = await makeFilm(keyframe, receiver, timed, { ...options, shots: 3, withCast: true });
    await storeEnds(keyframe, filmId);
    const projectId = await makeShot(keyframe, receiver, timed, options, { title: "The keeper" });
    return { filmId, projectId };
  } finally {
    await receiver.stop();
  }
}

/** Stores end images as an open dashboard does, which the site's demo cannot. The simulator's videos end on their last frames. */
async function storeEnds(keyframe: KeyframeClient, filmId: string): Promise<void> {
  for (const { takes } of (await keyframe.films.read(filmId)).shots) {
    const { video, "last-frame": last } = takes;
    if (!video || !last?.output) throw new Error("A shot of the film lacks its video or last frame.");
    const picture = await (await fetch(last.output.url)).blob();
    const { referenceImagePath } = await keyframe.uploadReferenceImage(picture);
    await keyframe.predictions.storeEndImage(video, referenceImagePath);
  }
}

/** Makes runs take long enough to show their progress. */
export async function slowDown(simulator: Stack["simulator"], runMs: number): Promise<void> {
  const body = JSON.stringify({ run_ms: runMs });
  const response = await fetch(`${simulator?.url}/control/delays`, { method: "POST", body });
  await response.body?.cancel();
  if (!response.ok) throw new Error(`The simulator answered ${response.status}.`);
}
