import { createHash } from "node:crypto";
import { judge, type Verdict } from "../../../lab/chaos/invariants/invariants.ts";
import { writeLedger } from "../../../lab/chaos/invariants/ledger-tables.ts";
import type { ClonedDatabase } from "../database/clone-database.ts";
import { addWorld, outputPathOf, seedPrediction } from "../database/predictions.ts";
import { rolledBack } from "../database/rolled-back.ts";
import { addEndpoint } from "../database/webhooks.ts";

/** The identifier of an image that no start has used. */
export const UNUSED_UPLOAD = "00000000-0000-4000-8000-000000000001";
/** Two users asked for this at once, and no callback of theirs arrives. */
const PAIR = "A pair [[fault:callback_lost]]";

export type ChaosScene = {
  /** What each invariant finds when `statement` has been run without triggers, all of it taken back afterwards. */
  broken(statement?: string): Promise<Verdict[]>;
};

/**
 * A small run that went well, as rows: a prediction that succeeded and one that was cancelled, a steady endpoint that was
 * told of the project and of the end, an output and a reference in Storage, and all that users, receivers, provider and
 * disk know of it.
 */
export async function setChaosScene(db: ClonedDatabase): Promise<ChaosScene> {
  const { sql } = db;
  const world = await addWorld(db);
  const endpoint = await addEndpoint(sql, world.owner, { url: "http://127.0.0.1:1/hooks/steady-one?v=1" });
  await addEndpoint(sql, world.owner, { url: "http://127.0.0.1:1/hooks/changing-one?v=1", enabled: false });
  await sql`update keyframe.projects set title = 'title-1' where id = ${world.project}`;
  await sql`update keyframe.webhook_endpoints set created_at = now() - interval '1 minute'`;

  const input = { prompt: "prompt-1", referenceImagePaths: ["projects/photo.png"] };
  const { id, run } = await seedPrediction(sql, world, { status: "succeeded", input });
  await seedPrediction(sql, world, { status: "canceled", input: { prompt: "prompt-2" } });
  await sql`delete from keyframe.webhook_events`; // the project's, made before there was an endpoint
  const told = [
    { type: "project.created", prediction: null, data: { projectId: world.project } },
    { type: "generation.succeeded", prediction: id, data: { predictionId: id } },
  ];
  const arrivals: object[] = [];
  for (const { type, prediction, data } of told) {
    const [event] = await sql<{ id: string; body: string }[]>`
      insert into keyframe.webhook_events (type, owner_id, project_id, prediction_id, payload)
      values (${type}, ${world.owner}, ${world.project}, ${prediction}, ${sql.json({ type, data })})
      returning id, payload::text as body`;
    if (!event) throw new Error("There is no event.");
    await sql`
      with delivery as (
        insert into keyframe.webhook_deliveries (event_id, endpoint_id, owner_id, event_type, status, attempts, completed_at)
        values (${event.id}, ${endpoint}, ${world.owner}, ${type}, 'delivered', 1, now()) returning id)
      insert into keyframe.webhook_attempts (delivery_id, attempt, started_at, duration_ms, status_code)
      select id, 1, now(), 5, 204 from delivery`;
    const body_md5 = createHash("md5").update(event.body).digest("hex");
    arrivals.push({
      hook: "steady-one",
      event_id: event.id,
      type,
      body_md5,
      valid: 1,
      stale: 0,
      taken: 1,
      misbehaved: 0,
    });
  }
  await sql`
    insert into storage.objects (bucket_id, name, owner_id)
    values ('projects', 'photo.png', ${world.owner}), ('keyframe-outputs', ${outputPathOf(id, world)}, null)`;
  await sql`
    insert into keyframe_private.idempotency_keys (resource_id, owner_id, key, request_hash)
    values (gen_random_uuid(), ${world.owner}, 'key-1', repeat('a', 64))`;
  // A reference is named by the upload's own identifier.
  const [upload] = await sql<{ id: string }[]>`select resource_id as id from keyframe_private.idempotency_keys`;
  const photo = `${upload?.id}.png`;
  const unused = `${UNUSED_UPLOAD}.png`;
  await sql`insert into storage.objects (bucket_id, name, owner_id) values ('projects', ${unused}, ${world.owner})`;
  await sql`
    insert into keyframe_private.idempotency_keys (resource_id, owner_id, key, request_hash)
    values (${UNUSED_UPLOAD}, ${world.owner}, 'key-4', repeat('a', 64))`;
  await sql`
    insert into keyframe_private.webhook_hours (endpoint_id, hour, delivered, last_attempt_at)
    select d.endpoint_id, date_trunc('hour', a.started_at, 'UTC'), count(*), max(a.started_at)
    from keyframe.webhook_attempts a join keyframe.webhook_deliveries d on d.id = a.delivery_id group by 1, 2`;
  await sql`update storage.objects set name = ${photo} where name = 'photo.png'`;
  await sql`update keyframe_private.prediction_images set path = ${`projects/${photo}`} where prediction_id = ${id}`;
  await writeLedger(sql, {
    starts: [
      { key: "key-2", prompt: "prompt-1", project_id: world.project, prediction_id: id },
      { key: "key-3", prompt: "prompt-gone", project_id: crypto.randomUUID(), prediction_id: null },
      { key: "key-5", prompt: PAIR, project_id: crypto.randomUUID(), prediction_id: null },
      { key: "key-6", prompt: PAIR, project_id: crypto.randomUUID(), prediction_id: null },
    ],
    answers: [
      { key: "key-2", what: "prediction", id },
      { key: "key-2", what: "prediction", id },
      { key: "key-4", what: "reference", id: `projects/${unused}` },
    ],
    addresses: [{ stated: "2026-03-01T12:00:00Z", ends: "2026-03-01T12:00:00Z" }],
    deleted_projects: [],
    arrivals,
    forged: [],
    runs: [
      { id: run, status: "succeeded", prompt: "prompt-1", made_for: id, has_file: true, cancel_asked: false },
      {
        ...{ id: "run-pair", status: "succeeded", prompt: PAIR, made_for: crypto.randomUUID() },
        ...{ has_file: false, cancel_asked: false },
      },
    ],
    files: [
      { bucket: "keyframe-outputs", name: outputPathOf(id, world), bytes: 1024, sha256: "a".repeat(64) },
      { bucket: "projects", name: photo, bytes: 70, sha256: "b".repeat(64) },
      { bucket: "projects", name: unused, bytes: 70, sha256: "b".repeat(64) },
    ],
    slot_counts: [{ slots: 4 }],
    status_answers: ["queued", "processing", "processing", "succeeded"].map((status, n) => ({
      n,
      status,
      reader: world.owner,
      prediction_id: id,
      code: n === 2 ? 304 : 200,
    })),
    wrong_clock_callbacks: [{ what: "refused", detail: "unauthorized" }],
    refusals: [{ status: 503, retry_after: true }],
    probes: [
      { ms: 5, status: 200, retry_after: false },
      { ms: 9, status: 503, retry_after: true },
    ],
  });
  return {
    broken: async (statement) => {
      let found: Verdict[] = [];
      await rolledBack(sql, async (transaction) => {
        await transaction`set local session_replication_role = replica`;
        if (statement !== undefined) await transaction.unsafe(statement);
        found = (await judge(transaction)).filter(({ broken }) => broken.length > 0);
      });
      return found;
    },
  };
}
